import type { LogLevel } from "./config/settings.ts";
import { hideCredentials } from "./credentials.ts";
import { isTerminal, writeToStderr } from "./terminal.ts";

/** Numbers of the levels in the lines, as tools that read logs know them. */
const severities: Readonly<Record<LogLevel, number>> = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
  silent: Number.POSITIVE_INFINITY,
};

/** A message, perhaps after fields of its line. An error is in the field `err`. */
type Event = [fields: Readonly<Record<string, unknown>>, message: string] | [message: string];

/** Writes events as lines of JSON, without the credentials in URLs. */
export class Log {
  /** Lower levels are not written. */
  level: LogLevel;
  readonly #write: (line: string) => void;

  constructor(level: LogLevel, write: (line: string) => void) {
    this.level = level;
    this.#write = write;
  }

  debug(...event: Event): void {
    this.#add("debug", event);
  }

  info(...event: Event): void {
    this.#add("info", event);
  }

  warn(...event: Event): void {
    this.#add("warn", event);
  }

  error(...event: Event): void {
    this.#add("error", event);
  }

  #add(level: LogLevel, event: Event): void {
    if (severities[level] < severities[this.level]) return;
    const [fields, msg] = event.length === 2 ? event : [{}, event[0]];
    const toJson = (_: string, value: unknown) => {
      if (value instanceof Error) return describeError(value, this.level);
      return typeof value === "bigint" ? `${value}` : value;
    };
    const line = JSON.stringify({ level: severities[level], time: Date.now(), ...fields, msg }, toJson);
    this.#write(hideCredentials(`${line}\n`));
  }
}

/** Writes to standard error: readable lines on a terminal, JSON lines elsewhere. */
export async function createLog(level: LogLevel): Promise<Log> {
  if (!isTerminal()) return new Log(level, writeToStderr);
  const { prettyFactory } = await import("pino-pretty");
  const toText = prettyFactory({ translateTime: "SYS:HH:MM:ss" });
  return new Log(level, (line) => writeToStderr(toText(line)));
}

/**
 * Leaves out the stack of an error of the system or the store, which is not a fault of the program.
 */
function describeError(error: Error, level: LogLevel): Readonly<Record<string, unknown>> {
  const { code } = error as NodeJS.ErrnoException;
  const causes = listCauses(error);
  const message = causes.map((each) => each.message).join(": ");
  const described = { type: error.name, message, code };
  if (code !== undefined && level !== "debug" && level !== "trace") return described;
  return { ...described, stack: causes.map((each) => each.stack).join("\ncaused by: ") };
}

/** The error, its cause, the cause of that, and so on. */
function listCauses(error: Error): readonly Error[] {
  const causes = [error];
  for (let cause = error.cause; cause instanceof Error && !causes.includes(cause); cause = cause.cause) {
    causes.push(cause);
  }
  return causes;
}
