import type { TemporaryFolder } from "../base/temporary-folder.ts";

/** A file as its source describes it, before it is read. */
export interface SourceFile {
  /** Its full path or address. */
  readonly name: string;
  /** Differs when the content differs; empty if the source has no versions. */
  readonly version: string;
  /** Time of the last change in milliseconds, by the source's clock; undefined if unknown. */
  readonly changedAtMs: number | undefined;
}

/** An earlier version of a file. */
export type KnownVersion = Pick<SourceFile, "name" | "version">;

/** A place that holds feeds: a folder, a web server, or a bucket. */
export interface FeedSource {
  readonly name: string;
  /** Whether equal versions guarantee equal content. */
  readonly hasReliableVersions: boolean;
  /**
   * Whether to stop at the first of several accepted file names that exists: each look-up is a
   * request.
   */
  readonly stopsAtFirstMatch: boolean;
  /**
   * @param known lets the source skip content that has not changed
   * @returns undefined if the file does not exist
   * @throws ServiceError `invalid_input` if it is not a file, `unavailable` if the source does not
   * respond.
   */
  findFile(name: string, known?: KnownVersion): Promise<SourceFile | undefined>;
  /**
   * Makes this version of the file available on this machine.
   * @returns its path; undefined if the version is gone
   * @throws ServiceError `invalid_input` if it is too large, `unavailable` if the source does not
   * respond.
   */
  fetch(file: SourceFile, openFolder: () => Promise<TemporaryFolder>): Promise<string | undefined>;
  /** The same files, with their content as their version, if the source may have several versions of it. */
  readonly byContent?: FeedSource & {
    /** Says which files had several. */
    notes(): string[];
  };
}

/** The settings of access to a bucket. */
export interface BucketSettings {
  readonly allowedLinkLocal: readonly string[];
  /** Empty for Amazon's. */
  readonly s3Endpoint: string;
  readonly s3Region: string;
  readonly s3AccessKeyId: string;
  readonly s3SecretAccessKey: string;
}

/** The settings of access to sources. */
export interface SourceSettings extends BucketSettings {
  /** The header `Authorization` of requests to web servers; empty for none. */
  readonly feedAuthorization: string;
  /** Maximum size of each file, as stored and decompressed; 0 for no limit. */
  readonly maxFileMegabytes: number;
}
