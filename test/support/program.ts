import { cleanUp } from "./clean-up.ts";
import { killOnExit } from "./kill-on-exit.ts";
import { until } from "./until.ts";

/** A program that a test kills and starts again. It ends after the test file. */
export class Program {
  readonly #command: readonly string[];
  readonly #isUp: () => Promise<boolean>;
  #child: Bun.Subprocess | undefined;

  /** @param command starts it in the foreground */
  constructor(command: readonly string[], isUp: () => Promise<boolean>) {
    this.#command = command;
    this.#isUp = isUp;
    cleanUp(() => this.kill("SIGKILL"));
  }

  async start(): Promise<this> {
    const child = Bun.spawn([...this.#command], { stdio: ["ignore", "ignore", "ignore"] });
    killOnExit(child, "TERM");
    this.#child = child;
    await until(`${this.#command[0]} is up`, async () => {
      if (child.exitCode !== null) throw new Error(`${this.#command.join(" ")} exited with ${child.exitCode}`);
      return await this.#isUp();
    });
    return this;
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    this.#child?.kill(signal);
    await this.#child?.exited;
  }
}

/** Whether a URL answers with 200 soon. */
export const answers = (url: string) =>
  fetch(url, { signal: AbortSignal.timeout(1000) }).then(
    ({ ok }) => ok,
    () => false,
  );
