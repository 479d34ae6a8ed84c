import type { Config } from "../config/index.ts";

/** The process that started this one, and holds the other end of its standard input. */
export interface Parent {
  /** Its settings; undefined if it sent none. */
  readonly config: Promise<Config | undefined>;
  /** Settles when it has exited. */
  readonly exit: Promise<void>;
}

/**
 * Reads standard input: the first line is the settings, and its end is that of the parent process.
 * No signal reports on every system that the parent was killed.
 */
export function readParent(): Parent {
  const line = Promise.withResolvers<string>();
  const read = async () => {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of Bun.stdin.stream()) {
      text += decoder.decode(chunk, { stream: true });
      const end = text.indexOf("\n");
      if (end >= 0) line.resolve(text.slice(0, end));
    }
    line.resolve("");
  };
  const config = line.promise.then((text) => (text === "" ? undefined : (JSON.parse(text) as Config)));
  return { config, exit: read() };
}
