import { afterAll } from "bun:test";

/** Of concurrent tests, in which Bun refuses `afterAll`. */
const atEnd: (() => unknown)[] = [];

afterAll(async () => {
  for (const undo of atEnd.splice(0)) await undo();
});

/** Runs a function after the test, the group, or the file that calls this; for a concurrent test, after the file. */
export function cleanUp(undo: () => unknown): void {
  try {
    afterAll(async () => {
      await undo();
    });
  } catch {
    atEnd.push(undo);
  }
}
