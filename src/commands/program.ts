import { Argument, Command, CommanderError, InvalidArgumentError, Option } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { findSimilar } from "../base/suggest.ts";
import type { CommandOption, Command as Definition } from "./command.ts";
import { commands, groups } from "./index.ts";
import { print, printMessage } from "./output.ts";

type Call = () => ReturnType<Definition["run"]>;

/**
 * @returns the command's call, or the exit status after help, the version, or a message about
 *   misuse
 */
export function parseArguments(args: readonly string[], misused: number): Call | number {
  let call: Call | undefined;
  const program = new Command("pds")
    .usage("<command>")
    .description("Serves personalization, job history, and product details, and runs the jobs that keep them current.")
    .version(packageJson.version, "--version", "Print the version.")
    .helpOption("-h, --help", "Print this help.")
    .helpCommand(false)
    .configureHelp({ minWidthToWrap: 20 })
    // Options after a command are those of the command, also after "--".
    .enablePositionalOptions()
    .exitOverride()
    .addHelpText("beforeAll", ({ error, command }) => {
      if (error) return "pds: no command given; choose one of these\n";
      requireKnown(command);
      return "";
    });
  report(program, "pds");
  for (const [name, definition] of Object.entries(commands)) {
    const words = name.split(" ");
    const last = words.pop() ?? "";
    const command = words.reduce(groupOf, program).command(last).description(definition.summary).helpCommand(false);
    report(command, `pds ${name}`);
    for (const syntax of definition.arguments ?? []) command.addArgument(new Argument(syntax));
    for (const [option, details] of Object.entries(definition.options ?? {})) {
      command.addOption(toOption(option, details, args));
    }
    command.action(() => {
      call = () => definition.run(command.args, command.opts());
    });
  }
  const help = program.command("help").description("Print the help of a command.");
  report(help, "pds help");
  help.addArgument(new Argument("[command...]")).action((names: string[]) => names.reduce(findCommand, program).help());
  try {
    program.parse(args, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : misused;
    throw error;
  }
  return call ?? misused;
}

/**
 * With `--help`, the parser prints the help even if the word before it is not a command.
 * @throws CommanderError after a message about misuse
 */
function requireKnown(group: Command): void {
  const [name] = group.args;
  if (group.commands.length > 0 && name !== undefined && !name.startsWith("-")) findCommand(group, name);
}

/** @throws CommanderError after a message about misuse */
function findCommand(parent: Command, name: string): Command {
  const found = parent.commands.find((command) => command.name() === name);
  if (found !== undefined) return found;
  const valid = parent.commands.map((command) => command.name());
  const similar = findSimilar(name, valid);
  const all = valid.length === 0 ? "" : `; the commands are ${valid.join(", ")}`;
  return parent.error(`unknown command '${name}'${similar === undefined ? all : ` (Did you mean ${similar}?)`}`);
}

function groupOf(parent: Command, name: string): Command {
  const existing = parent.commands.find((command) => command.name() === name);
  if (existing !== undefined) return existing;
  const group = parent
    .command(name)
    .usage("<command>")
    .description(groups[name] ?? "")
    .helpCommand(false);
  report(group, `pds ${name}`);
  return group;
}

/** One line, with a hint where to read more. */
function report(command: Command, name: string): void {
  command.configureOutput({
    writeOut: (text) => print(text.trimEnd()),
    writeErr: (text) => printMessage(text.trimEnd()),
    outputError: (text) =>
      printMessage(
        `pds: ${text
          .trim()
          .replace(/^error: /, "")
          .replaceAll(/\.?\n/g, " ")
          .replace(/\.$/, "")}; see ${name} --help`,
      ),
  });
}

function toOption(name: string, { value: placeholder, sentence }: CommandOption, args: readonly string[]): Option {
  const option = new Option(placeholder === undefined ? `--${name}` : `--${name} <${placeholder}>`, sentence);
  option.hideHelp(sentence === undefined);
  if (placeholder === undefined) return option;
  // Values may begin with a dash, but a forgotten value should be noticed.
  return option.argParser((value) => {
    if (!/^--|^-h$/.test(value) || args.includes(`--${name}=${value}`)) return value;
    throw new InvalidArgumentError(`A value that looks like an option needs an equals sign: --${name}=${value}`);
  });
}
