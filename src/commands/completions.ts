import { ServiceError } from "../base/errors.ts";
import type { Command } from "./command.ts";
import { print } from "./output.ts";

type Commands = Readonly<Record<string, Command>>;

export function printCompletions(shell: string, commands: Commands): boolean {
  const write = Object.hasOwn(shells, shell) ? shells[shell] : undefined;
  if (write === undefined) {
    throw new ServiceError("bad_request", `completions: expected one of ${Object.keys(shells).join(", ")}`);
  }
  print(write(commands));
  return true;
}

/** The options that the help shows. */
const optionsOf = ({ options = {} }: Command) =>
  Object.entries(options).flatMap(([option, { value, sentence }]) =>
    sentence === undefined ? [] : [{ option, value, sentence }],
  );

/** The first words of commands, each once, and the second words after each. */
function toWords(commands: Commands): Map<string, string[]> {
  const words = new Map<string, string[]>();
  for (const name of Object.keys(commands)) {
    const [first = "", second] = name.split(" ");
    words.set(first, [...(words.get(first) ?? []), ...(second === undefined ? [] : [second])]);
  }
  return words;
}

function toBash(commands: Commands): string {
  const cases = Object.entries(commands).map(
    ([name, command]) =>
      `    "${name}") words="${[...optionsOf(command).map(({ option }) => `--${option}`), "--help"].join(" ")}" ;;`,
  );
  const seconds = [...toWords(commands)].filter(([, second]) => second.length > 0);
  return `# bash completion for pds: pds completions bash > /etc/bash_completion.d/pds
_pds() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="" command="\${COMP_WORDS[1]}"
  COMPREPLY=()
  case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
    ${seconds.flatMap(([first, all]) => all.map((second) => `"${first} ${second}"`)).join("|")}) command="\${COMP_WORDS[1]} \${COMP_WORDS[2]}" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${[...toWords(commands).keys()].join(" ")} --help --version" -- "$current"))
    return
  fi
  if [ "$COMP_CWORD" -eq 2 ] && [[ "$current" != -* ]]; then
    case "\${COMP_WORDS[1]}" in
${seconds.map(([first, all]) => `      ${first}) COMPREPLY=($(compgen -W "${all.join(" ")}" -- "$current")); return ;;`).join("\n")}
    esac
  fi
  case "$command" in
${cases.join("\n")}
  esac
  if [[ "$current" == -* ]]; then COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    # A line for each file: its name may have spaces.
    local file
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _pds pds`;
}

const inSingleQuotes = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function toZsh(commands: Commands): string {
  const cases = Object.entries(commands).map(([name, command]) => {
    const specifications = optionsOf(command).map(({ option, value, sentence }) => {
      const text = sentence.replaceAll(/[[\]:]/g, "\\$&");
      return inSingleQuotes(`--${option}[${text}]${value === undefined ? "" : `:${value}:_files`}`);
    });
    return `    "${name}") _arguments ${[...specifications, "'--help[Print this help.]'", "'*:file:_files'"].join(" ")} ;;`;
  });
  const seconds = [...toWords(commands)].filter(([, second]) => second.length > 0);
  return `#compdef pds
# zsh completion for pds: pds completions zsh > "\${fpath[1]}/_pds"
_pds() {
  local -a firsts seconds
  firsts=(${[...toWords(commands).keys()].join(" ")})
  if (( CURRENT == 2 )); then compadd -- $firsts --help --version; return; fi
  local command="$words[2]"
  seconds=()
  case "$words[2]" in
${seconds.map(([first, all]) => `    ${first}) seconds=(${all.join(" ")}) ;;`).join("\n")}
  esac
  if (( CURRENT == 3 && $#seconds )) && [[ "$words[3]" != -* ]]; then compadd -- $seconds; return; fi
  if (( $#seconds )) && (( \${seconds[(Ie)$words[3]]} )); then command="$words[2] $words[3]"; fi
  case "$command" in
${cases.join("\n")}
  esac
}
_pds "$@"`;
}

function toFish(commands: Commands): string {
  const lines = [
    "# fish completion for pds: pds completions fish > ~/.config/fish/completions/pds.fish",
    "complete -c pds -l help -d 'Print help.'",
  ];
  for (const [first, seconds] of toWords(commands)) {
    lines.push(`complete -c pds -n __fish_use_subcommand -f -a ${first}`);
    const isOpen = `__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${seconds.join(" ")}`;
    for (const second of seconds) lines.push(`complete -c pds -n "${isOpen}" -f -a ${second}`);
  }
  for (const [name, command] of Object.entries(commands)) {
    const condition = name
      .split(" ")
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join("; and ");
    for (const { option, value, sentence } of optionsOf(command)) {
      lines.push(
        `complete -c pds -n "${condition}" -l ${option} ${value === undefined ? "" : "-r "}-d ${inSingleQuotes(sentence)}`,
      );
    }
  }
  return lines.join("\n");
}

const shells: Readonly<Record<string, (commands: Commands) => string>> = { bash: toBash, zsh: toZsh, fish: toFish };
