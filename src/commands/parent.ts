import type { Config } from "../config/index.ts";

/**
 * The first line of standard input is the settings that the parent process sent, if any; its end
 * means that the parent has exited. Not every system signals that a parent was killed.
 */
export function readParent() {
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
