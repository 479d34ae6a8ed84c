import pino, { type DestinationStream, type Logger } from "pino";
import type { LogLevel } from "./config/settings.ts";
import { hideCredentials } from "./credentials.ts";
import { isTerminal } from "./terminal.ts";

export type Log = Logger;

/**
 * Writes to standard error: readable lines on a terminal, JSON lines elsewhere. Credentials in URLs
 * are removed from every line.
 */
export async function createLog(level: LogLevel): Promise<Log> {
  const fd = 2;
  const options = { level, base: null, serializers: { err: (error: Error) => describeError(error, level) } };
  if (!isTerminal()) return pino(options, withoutCredentials(pino.destination({ fd, sync: true })));
  const { default: pretty } = await import("pino-pretty");
  return pino(options, withoutCredentials(pretty({ destination: fd, sync: true, translateTime: "SYS:HH:MM:ss" })));
}

const withoutCredentials = (destination: DestinationStream): DestinationStream => ({
  write: (line) => destination.write(hideCredentials(line)),
});

/**
 * Leaves out the stack of an error of the system or the store, which is not a fault of the program.
 */
function describeError(error: Error, level: LogLevel): unknown {
  const described = pino.stdSerializers.err(error);
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || level === "debug" || level === "trace") return described;
  // The message includes the causes.
  return { type: described.type, message: described.message, code };
}
