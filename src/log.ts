import pino, { type DestinationStream, type Logger } from "pino";
import type { LogLevel } from "./config/settings.ts";
import { hideCredentials } from "./credentials.ts";
import { isTerminal } from "./terminal.ts";

export type Log = Logger;

/**
 * Writes to standard error: JSON lines, or lines for people when that is a terminal. No line holds the credentials of an address,
 * whoever writes it.
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

/** The stack of what the system or the store reported tells nothing: they are about the machine, not the program. */
function describeError(error: Error, level: LogLevel): unknown {
  const described = pino.stdSerializers.err(error);
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || level === "debug" || level === "trace") return described;
  // The message names the causes too.
  return { type: described.type, message: described.message, code };
}
