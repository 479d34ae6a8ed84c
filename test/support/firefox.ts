import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cleanUp } from "./clean-up.ts";
import { killOnExit } from "./kill-on-exit.ts";
import { temporaryFolder } from "./pds.ts";

/** The command of Firefox, which the tests do not install; undefined where there is none. */
export const firefox = ["firefox-esr", "firefox"].find((name) => Bun.which(name) !== null);

/** A page in a real Firefox. Playwright drives only builds of its own, so this uses WebDriver BiDi. */
export interface FirefoxPage {
  /** Uncaught errors, and errors on the console, so far. */
  readonly faults: readonly string[];
  goto(url: string): Promise<void>;
  reload(): Promise<void>;
  back(): Promise<void>;
  resize(width: number, height: number): Promise<void>;
  /** Evaluates an expression, and waits if it is a promise. */
  evaluate<T>(expression: string): Promise<T>;
  /** Presses keys one after the other, as a person does. */
  press(...keys: readonly string[]): Promise<void>;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly level: string; readonly text: string };
  readonly result?: unknown;
  readonly error?: string;
  readonly message?: string;
}

type Send = <T>(method: string, parameters: object) => Promise<T>;

/** Only this machine, and nothing that a new profile shows or loads by itself. */
const preferences = {
  "network.proxy.type": 1,
  "network.proxy.http": "127.0.0.1",
  "network.proxy.http_port": 9,
  "network.proxy.ssl": "127.0.0.1",
  "network.proxy.ssl_port": 9,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.page": 0,
  "datareporting.policy.dataSubmissionEnabled": false,
};

/** Starts Firefox with a new profile until the end of the test file. */
export async function openFirefox(): Promise<FirefoxPage> {
  if (firefox === undefined) throw new Error("Firefox is not installed");
  const profile = await temporaryFolder();
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
  await writeFile(join(profile, "user.js"), lines.join("\n"));
  const command = [firefox, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"];
  const child = Bun.spawn(command, {
    env: { PATH: process.env.PATH, HOME: profile },
    stdio: ["ignore", "ignore", "pipe"],
  });
  killOnExit(child, "TERM");
  cleanUp(async () => {
    child.kill("SIGKILL");
    await child.exited;
  });
  const faults: string[] = [];
  const send = await connect(await findAddress(child.stderr), faults);
  await send("session.new", { capabilities: {} });
  await send("session.subscribe", { events: ["log.entryAdded"] });
  const { context } = await send<{ context: string }>("browsingContext.create", { type: "tab" });
  const wait = "complete";
  return {
    faults,
    goto: async (url) => void (await send("browsingContext.navigate", { context, url, wait })),
    reload: async () => void (await send("browsingContext.reload", { context, wait })),
    back: async () => void (await send("browsingContext.traverseHistory", { context, delta: -1 })),
    resize: async (width, height) =>
      void (await send("browsingContext.setViewport", { context, viewport: { width, height } })),
    evaluate: async <T>(expression: string) => {
      type Answer = { type: string; result?: { value?: string }; exceptionDetails?: { text: string } };
      const { result, exceptionDetails } = await send<Answer>("script.evaluate", {
        expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value))`,
        target: { context },
        awaitPromise: true,
      });
      if (exceptionDetails !== undefined) throw new Error(`${expression}: ${exceptionDetails.text}`);
      return (result?.value === undefined ? undefined : JSON.parse(result.value)) as T;
    },
    press: async (...keys) => {
      const actions = keys.flatMap((value) => [
        { type: "keyDown", value },
        { type: "keyUp", value },
      ]);
      await send("input.performActions", { context, actions: [{ type: "key", id: "keyboard", actions }] });
    },
  };
}

/** Where it listens, as it says when it has started. */
async function findAddress(output: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const read = async () => {
    let said = "";
    // To the end, so that it can go on writing.
    for await (const text of output.pipeThrough(new TextDecoderStream())) {
      said += text;
      const address = said.match(/WebDriver BiDi listening on (ws:\S+)/)?.[1];
      if (address !== undefined) resolve(address);
    }
    reject(new Error(`Firefox exited: ${said}`));
  };
  void read();
  return await promise;
}

async function connect(address: string, faults: string[]): Promise<Send> {
  const socket = new WebSocket(`${address}/session`);
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  socket.onmessage = ({ data }) => {
    const { id, params, result, error, message } = JSON.parse(`${data}`) as Message;
    if (id === undefined) {
      if (params?.level === "error") faults.push(params.text);
      return;
    }
    if (error === undefined) waiting.get(id)?.resolve(result);
    else waiting.get(id)?.reject(new Error(`${error}: ${message}`));
    waiting.delete(id);
  };
  let last = 0;
  return <T>(method: string, params: object) => {
    const id = ++last;
    const answer = Promise.withResolvers<unknown>();
    waiting.set(id, answer);
    socket.send(JSON.stringify({ id, method, params }));
    return answer.promise as Promise<T>;
  };
}
