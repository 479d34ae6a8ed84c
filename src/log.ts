import pino, { type Logger } from "pino";
import type { LogLevel } from "./config.ts";
import { isTerminal } from "./terminal.ts";

export type Log = Logger;

/** Writes to standard error: JSON lines, or lines for people when that is a terminal. */
export async function createLog(level: LogLevel): Promise<Log> {
  const fd = 2;
  if (!isTerminal()) return pino({ level, base: null }, pino.destination({ fd, sync: true }));
  const { default: pretty } = await import("pino-pretty");
  return pino({ level, base: null }, pretty({ destination: fd, sync: true, translateTime: "SYS:HH:MM:ss" }));
}
