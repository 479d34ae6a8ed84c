import type { FeedRequest, KnownFiles } from "../../feed/delivery.ts";
import { dataFileNames } from "../../feed/file.ts";
import { type ListName, listNames } from "../lists.ts";
import type { PersonalizationOptions } from "../options.ts";

/** Stored facts that identify an imported feed in the next import. */
export interface FeedState {
  readonly files: KnownFiles<ListName>;
  /** Reading options: with other options, the same files are a different feed. */
  readonly format: string;
}

/** The options that determine how files are read. */
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
