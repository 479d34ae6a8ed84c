import type { TemporaryFolder } from "../base/temporary-folder.ts";

export interface SourceFile {
  readonly name: string;
  /** Changes with the content; empty if the source has no versions. */
  readonly version: string;
  /** In milliseconds, by the source's clock; undefined if unknown. */
  readonly changedAtMs: number | undefined;
}

export type KnownVersion = Pick<SourceFile, "name" | "version">;

export interface FeedSource {
  readonly name: string;
  /** Whether equal versions guarantee equal content. */
  readonly hasReliableVersions: boolean;
  /** Whether to stop at the first existing file name, because each look-up is a request. */
  readonly stopsAtFirstMatch: boolean;
  /**
   * @param known lets the source skip unchanged content
   * @returns undefined if the file does not exist
   * @throws ServiceError `invalid_input` if it is not a file, `unavailable` if there is no response
   */
  findFile(name: string, known?: KnownVersion): Promise<SourceFile | undefined>;
  /**
   * Makes this version available on this machine.
   * @returns its path; undefined if the version is gone
   * @throws ServiceError `invalid_input` if it is too large, `unavailable` if there is no response
   */
  fetch(file: SourceFile, openFolder: () => Promise<TemporaryFolder>): Promise<string | undefined>;
  /** The files versioned by content, if servers may have several versions of one file. */
  readonly byContent?: FeedSource & {
    notes(): string[];
  };
}

export interface SourceSettings {
  readonly allowedLinkLocal: readonly string[];
  /** Empty for Amazon's. */
  readonly s3Endpoint: string;
  readonly s3Region: string;
  readonly s3AccessKeyId: string;
  readonly s3SecretAccessKey: string;
  /** `Authorization` header of requests to web servers; empty for none. */
  readonly feedAuthorization: string;
  /** Maximum size of each file, as stored and decompressed; 0 for no limit. */
  readonly maxFileMegabytes: number;
}
