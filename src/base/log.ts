import pino, { type DestinationStream, type LevelWithSilent, type Logger } from "pino";
import { hideCredentials } from "./credentials.ts";
import { isTerminal, writeToStderr } from "./terminal.ts";

export type Log = Logger;

/** Writes to standard error: readable lines to a terminal, JSON lines elsewhere. */
export async function createLog(level: LevelWithSilent): Promise<Log> {
  const options = { level, base: null, serializers: { err: (error: Error) => describeError(error, level) } };
  if (!isTerminal()) return pino(options, withoutCredentials({ write: writeToStderr }));
  const [{ default: pretty }, { Writable }] = await Promise.all([import("pino-pretty"), import("node:stream")]);
  const destination = new Writable({
    write: (line, _, done) => {
      writeToStderr(line);
      done();
    },
  });
  return pino(options, withoutCredentials(pretty({ destination, translateTime: "SYS:HH:MM:ss" })));
}

const withoutCredentials = (destination: DestinationStream): DestinationStream => ({
  write: (line) => destination.write(hideCredentials(line)),
});

/** Errors with a code, of the system, the store, or this service, are logged without a stack: they are not bugs. */
function describeError(error: Error, level: LevelWithSilent): unknown {
  const described = pino.stdSerializers.err(error);
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || level === "debug" || level === "trace") return described;
  // The message includes the causes.
  return { type: described.type, message: described.message, code };
}
