#!/usr/bin/env bun
import packageJson from "../package.json" with { type: "json" };
import { ServiceError } from "./base/errors.ts";
import { failed, otherSchema } from "./base/program.ts";
import { NoReaderError, print, printMessage } from "./commands/output.ts";
import { readConfig } from "./config/index.ts";

/** Exit status of wrong usage, or of an invalid setting. */
const misused = 2;
/** As if the signal SIGPIPE had ended the process. */
const unread = 141;

/**
 * Finds the command to run, or the exit status if there is none. The service and `--version` start
 * without the parser of arguments, which takes 4 MB of memory and some milliseconds.
 */
async function toCall(args: string[]) {
  const [word] = args.length === 1 ? args : [];
  if (word === "serve") return async () => (await import("./commands/serve.ts")).serve();
  if (word === "--version") {
    print(packageJson.version);
    return 0;
  }
  const { parseArguments } = await import("./commands/program.ts");
  return parseArguments(args, misused);
}

/** @returns the exit status */
async function main(args: string[]): Promise<number> {
  try {
    const call = await toCall(args);
    if (typeof call === "number") return call;
    const result = await call();
    if (typeof result === "number") return result;
    return result ? 0 : (stoppedStatus() ?? failed);
  } catch (error) {
    if (error instanceof NoReaderError) return unread;
    reportFailure(error);
    const stopped = stoppedStatus();
    if (stopped !== undefined) return stopped;
    const { isOtherSchema } = await import("./database/index.ts");
    if (isOtherSchema(error)) return otherSchema;
    return error instanceof ServiceError && isMisuse(error) ? misused : failed;
  }
}

/** Set by a signal. */
const stoppedStatus = () => (process.exitCode === undefined ? undefined : Number(process.exitCode));

const isMisuse = ({ code }: ServiceError) => code === "bad_request" || code === "invalid_setting";

/** Prints an error on one line. The log levels `debug` and `trace` add the stack. */
function reportFailure(error: unknown): void {
  const { name, message, stack } = error instanceof Error ? error : new Error(`${error}`);
  if (error instanceof ServiceError) printMessage(`pds: ${message}`);
  else if (showsStacks()) printMessage(`pds: ${stack ?? message}`);
  else printMessage(`pds: ${name}: ${message.replace(/\s+/g, " ")} (LOG_LEVEL=debug prints the stack)`);
}

function showsStacks(): boolean {
  try {
    return ["trace", "debug"].includes(readConfig(process.env).logLevel);
  } catch {
    return false;
  }
}

/** Replaces the runtime's own report, which quotes source code. */
function exitOnUncaught(error: unknown): void {
  reportFailure(error);
  process.exit(failed);
}

process.on("uncaughtException", exitOnUncaught);
process.on("unhandledRejection", exitOnUncaught);
main(process.argv.slice(2)).then(process.exit);
