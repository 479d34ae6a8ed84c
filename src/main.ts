#!/usr/bin/env bun
import { parseArgs } from "node:util";
import packageJson from "../package.json" with { type: "json" };
import { ServiceError } from "./base/errors.ts";
import { otherSchema } from "./base/program.ts";
import { findSimilar } from "./base/suggest.ts";
import type { Command, CommandOption } from "./commands/command.ts";
import { interrupted, stoppedBy } from "./commands/common.ts";
import { commands } from "./commands/index.ts";
import { print, printMessage } from "./commands/output.ts";
import { readConfig } from "./config/index.ts";

/** Exit statuses. */
const failed = 1;
const misused = 2;

/**
 * Finds the command that the first one or two arguments name, and returns the other arguments with
 * it.
 */
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
  return `Usage: pds COMMAND [ARGUMENTS] [OPTIONS]\n\n${lines.join("\n")}\n\nRun pds COMMAND --help for details.`;
}

function helpOf(name: string, { usage, summary, options = {} }: Command): string {
  const all: Record<string, CommandOption> = { ...options, help: { type: "boolean", sentence: "Print this help." } };
  const lines = Object.entries(all).flatMap(([option, { type, placeholder = "TEXT", sentence }]) => {
    if (sentence === undefined) return [];
    const syntax = `--${option}${type === "string" ? ` ${placeholder}` : ""}`;
    return `  ${syntax.padEnd(16)}  ${sentence}`;
  });
  return `${`Usage: pds ${name} ${usage}`.trimEnd()}\n\n${summary}\n\n${lines.join("\n")}`;
}

function reportMisuse(message: string): number {
  printMessage(`pds: ${message}`);
  return misused;
}

/** @returns the exit status */
async function main(args: string[]): Promise<number> {
  const found = findCommand(args);
  if (found === undefined) return handleUnknown(args);
  const { name, command, rest } = found;
  const end = rest.indexOf("--");
  if (rest.slice(0, end < 0 ? rest.length : end).includes("--help")) {
    print(helpOf(name, command));
    return 0;
  }
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(command, rest);
  } catch (error) {
    return reportMisuse(`${name}: ${describeParseError(error as Error, command)}`);
  }
  const { values, positionals } = parsed;
  if (values.help === true) {
    print(helpOf(name, command));
    return 0;
  }
  const [min, max] = command.positionals ?? [0, 0];
  if (positionals.length < min || positionals.length > max) {
    return reportMisuse(`${name}: expected ${command.usage || "no arguments"}; see pds ${name} --help`);
  }
  try {
    const result = await command.run(positionals, values);
    if (typeof result === "number") return result;
    return result ? 0 : failureStatus();
  } catch (error) {
    reportFailure(error);
    if (stoppedBy !== undefined) return failureStatus();
    const { isOtherSchema } = await import("./database/index.ts");
    if (isOtherSchema(error)) return otherSchema;
    return error instanceof ServiceError && isMisuse(error) ? misused : failed;
  }
}

const failureStatus = () => (stoppedBy === "SIGINT" ? interrupted : failed);

const isMisuse = ({ code }: ServiceError) => code === "bad_request" || code === "invalid_setting";

/** Prints the overview, or what may have been meant. */
function handleUnknown(args: readonly string[]): number {
  const [word, next = ""] = args;
  if (word === undefined) {
    printMessage(overview());
    return misused;
  }
  const names = Object.keys(commands);
  const longer = names.filter((name) => name.startsWith(`${word} `));
  if (word === "-h" || word === "help" || word === "--help" || (longer.length > 0 && args.includes("--help"))) {
    print(overview());
    return 0;
  }
  if (word === "--version") {
    print(packageJson.version);
    return 0;
  }
  const similar = findSimilar([word, next].join(" "), names) ?? findSimilar(word, names);
  const meant = longer.length > 0 ? longer : similar === undefined ? [] : [similar];
  const hint = meant.length > 0 ? `did you mean ${meant.map((name) => `pds ${name}`).join(" or ")}?` : "see pds --help";
  return reportMisuse(`unknown command ${JSON.stringify(word)}; ${hint}`);
}

function describeParseError({ message }: Error, { options = {} }: Command): string {
  const [, unknown] = message.match(/^Unknown option '--([^']*)'/) ?? [];
  if (unknown === undefined) return message.replaceAll("\n", " ");
  const documented = Object.keys(options).filter((name) => options[name]?.sentence !== undefined);
  const similar = findSimilar(unknown, [...documented, "help"]);
  return `unknown option --${unknown}; ${similar === undefined ? "see --help" : `did you mean --${similar}?`}`;
}

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

function parse({ options = {} }: Command, args: string[]) {
  const types = Object.fromEntries(Object.entries(options).map(([name, { type }]) => [name, { type }]));
  return parseArgs({
    args: joinDashedValues(options, args),
    options: { ...types, help: { type: "boolean", short: "h" } },
    allowPositionals: true,
  });
}

/**
 * Turns `--brand -x` into `--brand=-x`, because the parser rejects a separate value that begins
 * with a dash. `-h` and everything with two dashes remain options, so that a forgotten value is
 * still noticed.
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

process.on("uncaughtException", exitOnUncaught);
process.on("unhandledRejection", exitOnUncaught);
main(process.argv.slice(2)).then(process.exit);
