import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { PersonalizationOptions } from "../config/index.ts";
import { ServiceError } from "../errors.ts";
import { saveStream, type TemporaryFolder } from "../temporary-folder.ts";
import type { Credentials, FeedState, FoundFile, Origin } from "./delivery.ts";
import { type ListName, listNames, missing, namesOf } from "./lists.ts";

const maxTries = 4;
/** Before the second try, twice that before the third, and so on. */
const pauseMs = 500;
/** An answer or a download that brings nothing for so long is given up. */
const stallMs = 30_000;

/** Files below an `https://` address. Requests are conditional: what is unchanged is not sent. */
export function webOrigin(
  options: PersonalizationOptions,
  { feedAuthorization }: Credentials,
  previous: FeedState | undefined,
  signal: AbortSignal,
): Origin {
  const base = options.source.endsWith("/") ? options.source : `${options.source}/`;
  const common: Record<string, string> = {
    // The file as it lies there: what is packed is unpacked here.
    "Accept-Encoding": "identity",
    "User-Agent": "product-data-service",
    ...(feedAuthorization !== "" && { Authorization: feedAuthorization }),
  };

  /** Asks until there is an answer that another try would not better. */
  const ask = async <T>(url: string, headers: Record<string, string>, take: (response: Response) => Promise<T>) => {
    for (let attempt = 1; ; attempt++) {
      const stall = new AbortController();
      const timer = setTimeout(() => stall.abort(new Error(`nothing for ${stallMs / 1000} s`)), stallMs);
      let response: Response | undefined;
      try {
        response = await fetch(url, {
          headers: { ...common, ...headers },
          signal: AbortSignal.any([signal, stall.signal]),
          decompress: false,
        });
        timer.refresh();
        if (response.status < 500 && response.status !== 429) return await take(watched(response, timer));
        throw new Error(`${response.status} ${response.statusText}`);
      } catch (cause) {
        signal.throwIfAborted();
        if (cause instanceof ServiceError) throw cause;
        const reason = ((stall.signal.reason as Error | undefined) ?? (cause as Error)).message;
        if (attempt === maxTries) throw new ServiceError("unavailable", `${url}: ${reason}`, { cause });
        await sleep(pauseMs * 2 ** (attempt - 1), undefined, { signal });
      } finally {
        clearTimeout(timer);
        if (response?.bodyUsed === false) await response.body?.cancel();
      }
    }
  };

  /** @param known what was imported before: told so, the server need not send it again */
  const look = (name: string, known?: Pick<FoundFile, "name" | "version">): Promise<FoundFile | undefined> => {
    const url = `${base}${encodeURIComponent(name)}`;
    // Of another address it says nothing here: a time would make an older file look unchanged.
    const version = known?.name === url ? known.version : "";
    return ask(url, conditionsOf(version), async (response) => {
      const found = { name: url, ...timesOf(response) };
      if (response.status === 304) return { ...found, version };
      if (response.status === 404 || response.status === 410) return undefined;
      if (response.ok) return { ...found, version: versionOf(response) };
      throw new ServiceError("unavailable", `${url}: ${response.status} ${response.statusText}`);
    });
  };

  const findFile = async (list: ListName): Promise<FoundFile> => {
    for (const name of namesOf(list, options)) {
      const found = await look(name, previous?.files[list]);
      if (found !== undefined) return found;
    }
    throw new ServiceError("invalid_input", `${base}: ${missing(list, options)}`);
  };

  return {
    name: base,
    versionsTell: true,
    find: async (marker) => {
      const files = {} as Record<ListName, FoundFile>;
      for (const list of listNames) files[list] = await findFile(list);
      return { files, marker: marker === undefined ? undefined : await look(marker) };
    },
    fetch: ({ name, version }, openFolder) =>
      ask(name, {}, async (response) => {
        if (!response.ok) throw new ServiceError("unavailable", `${name}: ${response.status} ${response.statusText}`);
        if (versionOf(response) !== version) return undefined;
        return await download(response, name, await openFolder());
      }),
  };
}

async function download(response: Response, name: string, { path: folder }: TemporaryFolder): Promise<string> {
  const path = join(folder, new URL(name).pathname.split("/").at(-1) ?? "");
  const bytes = await saveStream(response.body ?? new ReadableStream(), path);
  const promised = response.headers.get("Content-Length");
  if (promised !== null && bytes !== Number(promised)) throw new Error(`${bytes} of ${promised} bytes came`);
  return path;
}

/** The response, with a timer that starts again at each piece of its body. */
function watched(response: Response, timer: NodeJS.Timeout): Response {
  const body = response.body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        timer.refresh();
        controller.enqueue(chunk);
      },
    }),
  );
  return new Response(body ?? null, response);
}

/** An entity tag, or else the time of the last change. */
function versionOf({ headers }: Response): string {
  return headers.get("ETag") ?? headers.get("Last-Modified") ?? "";
}

function conditionsOf(version: string): Record<string, string> {
  if (version === "") return {};
  return { [/^(W\/)?"/.test(version) ? "If-None-Match" : "If-Modified-Since"]: version };
}

function timesOf({ headers }: Response): Pick<FoundFile, "changedAtMs" | "ageMs"> {
  const [changed, now] = ["Last-Modified", "Date"].map((name) => Date.parse(headers.get(name) ?? ""));
  if (changed === undefined || Number.isNaN(changed)) return { changedAtMs: undefined, ageMs: undefined };
  return { changedAtMs: changed, ageMs: (now === undefined || Number.isNaN(now) ? Date.now() : now) - changed };
}
