import { expect, test } from "bun:test";
import { sendLine } from "../../src/jobs/supervisor.ts";

// An unhandled rejection would end a service whose run was killed.
test.each([20, 200_000])(
  "a line of %i characters to a process that was killed is lost without an error",
  async (length) => {
    const failures: unknown[] = [];
    const note = (error: unknown) => failures.push(error);
    process.on("unhandledRejection", note);
    for (let time = 0; time < 5; time++) {
      const child = Bun.spawn(["sleep", "60"], { stdin: "pipe", stdout: "ignore" });
      child.kill("SIGKILL");
      sendLine(child.stdin, "x".repeat(length));
      await child.exited;
      await new Promise(setImmediate);
    }
    process.off("unhandledRejection", note);
    expect(failures).toEqual([]);
  },
);
