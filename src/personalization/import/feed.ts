import type { FeedRequest, KnownFiles } from "../../feed/delivery.ts";
import { dataFileNames } from "../../feed/file.ts";
import type { SourceSettings } from "../../feed/source.ts";
import { type ListName, listNames } from "../lists.ts";
import type { PersonalizationOptions } from "../options.ts";

export type FeedOptions = PersonalizationOptions & Pick<SourceSettings, "maxFileMegabytes">;

/** Stored to recognize an imported feed. */
export interface FeedState {
  readonly files: KnownFiles<ListName>;
  /** With other reading options, the same files are a different feed. */
  readonly format: string;
}

export function formatOf({ encoding, separator, aliases }: PersonalizationOptions): string {
  return JSON.stringify({ encoding, separator, aliases });
}

export function toFeedRequest({
  source,
  files,
  marker,
  settle_seconds,
}: PersonalizationOptions): FeedRequest<ListName> {
  const fileNames = {} as Record<ListName, readonly string[]>;
  for (const list of listNames) {
    const configured = files[list];
    fileNames[list] = configured === undefined ? dataFileNames(list) : [configured];
  }
  return { source, fileNames, marker, settleSeconds: settle_seconds };
}
