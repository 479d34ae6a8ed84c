#!/usr/bin/env bun
import { parseArgs } from "node:util";
import { type Command, type CommandOption, commands } from "./commands/index.ts";
import { print, printMessage } from "./commands/output.ts";
import { readConfig } from "./config/index.ts";
import { ServiceError } from "./errors.ts";

/** Exit statuses. */
const failed = 1;
const misused = 2;

/** The command that the arguments name, one word or two, and the arguments behind it. */
function findCommand(args: readonly string[]): { name: string; command: Command; rest: string[] } | undefined {
  for (const words of [2, 1]) {
    const name = args.slice(0, words).join(" ");
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (command !== undefined) return { name, command, rest: args.slice(words) };
  }
  return undefined;
}

function overview(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Usage: pds COMMAND [ARGUMENTS] [OPTIONS]\n\n${lines.join("\n")}\n\npds COMMAND --help tells more.`;
}

function helpOf(name: string, { usage, summary, options = {} }: Command): string {
  const all: Record<string, CommandOption> = { ...options, help: { type: "boolean", sentence: "Print this." } };
  const lines = Object.entries(all).flatMap(([option, { type, sentence }]) => {
    if (sentence === undefined) return [];
    const spelled = `--${option}${type === "string" ? " TEXT" : ""}`;
    return `  ${spelled.padEnd(16)}  ${sentence}`;
  });
  return `${`Usage: pds ${name} ${usage}`.trimEnd()}\n\n${summary}\n\n${lines.join("\n")}`;
}

function misuse(message: string): number {
  printMessage(`pds: ${message}`);
  return misused;
}

async function main(args: string[]): Promise<number> {
  const found = findCommand(args);
  if (found === undefined) {
    if (args.length === 0) {
      printMessage(overview());
      return misused;
    }
    if (args[0] === "--help" || args[0] === "-h" || args[0] === "help") {
      print(overview());
      return 0;
    }
    const similar = Object.keys(commands).filter((name) => name.startsWith(`${args[0]} `));
    const hint = similar.length > 0 ? `it is ${similar.map((name) => `pds ${name}`).join(" or ")}` : "see pds --help";
    return misuse(`there is no command ${JSON.stringify(args[0])}: ${hint}`);
  }
  const { name, command, rest } = found;
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(command, rest);
  } catch (error) {
    // The parser explains some mistakes on several lines.
    return misuse(`${name}: ${(error as Error).message.replaceAll("\n", " ")}`);
  }
  const { values, positionals } = parsed;
  if (values.help === true) {
    print(helpOf(name, command));
    return 0;
  }
  const [least, most] = command.positionals ?? [0, 0];
  if (positionals.length < least || positionals.length > most) {
    return misuse(`${name}: expected ${command.usage || "no arguments"}; see pds ${name} --help`);
  }
  try {
    return (await command.run(positionals, values)) ? 0 : failed;
  } catch (error) {
    tellFailure(error);
    return error instanceof ServiceError && error.code === "bad_request" ? misused : failed;
  }
}

/** One line for people; who looks for a fault in the program sets the log's level. */
function tellFailure(error: unknown): void {
  const { name, message, stack } = error instanceof Error ? error : new Error(`${error}`);
  if (error instanceof ServiceError) printMessage(`pds: ${message}`);
  else if (showsStacks()) printMessage(`pds: ${stack ?? message}`);
  else printMessage(`pds: ${name}: ${message.replace(/\s+/g, " ")} (LOG_LEVEL=debug shows where)`);
}

function showsStacks(): boolean {
  try {
    return ["trace", "debug"].includes(readConfig(process.env).logLevel);
  } catch {
    return false;
  }
}

/** Left to itself the runtime prints some of the program's source, once for each. */
function endByUncaught(error: unknown): void {
  tellFailure(error);
  process.exit(failed);
}

function parse({ options = {} }: Command, args: string[]) {
  const types = Object.fromEntries(Object.entries(options).map(([name, { type }]) => [name, { type }]));
  return parseArgs({
    args: joinDashedValues(options, args),
    options: { ...types, help: { type: "boolean", short: "h" } },
    allowPositionals: true,
  });
}

/**
 * Makes `--brand -x` what `--brand=-x` is: the parser refuses a separate value that begins with a dash. `-h` and everything with two
 * dashes stay options, so that a forgotten value is still noticed.
 */
function joinDashedValues(options: NonNullable<Command["options"]>, args: readonly string[]): string[] {
  const joined: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const [arg = "", value = ""] = args.slice(index, index + 2);
    if (arg === "--") return [...joined, ...args.slice(index)];
    const takesValue = arg.startsWith("--") && options[arg.slice(2)]?.type === "string";
    const isDashed = /^-[^-]/.test(value) && value !== "-h";
    joined.push(takesValue && isDashed ? `${arg}=${value}` : arg);
    if (takesValue && isDashed) index++;
  }
  return joined;
}

process.on("uncaughtException", endByUncaught);
process.on("unhandledRejection", endByUncaught);
main(process.argv.slice(2)).then(process.exit);
