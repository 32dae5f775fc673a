import type { Command } from 'commander';
import { describe } from './command.ts';
import {
  type CommandWords,
  completionWords,
  type OptionWords,
  optionsWithValues,
  type Word,
} from './completion-words.ts';

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** @param wholeProgram the tree with every command loaded */
export function defineCompletion(command: Command, wholeProgram: () => Promise<Command>): void {
  describe(command, {
    description:
      'Print a completion script for a shell. It completes the commands, options and values of counterfoil, and starts no program.',
    examples: [
      'completion bash > ~/.counterfoil.bash',
      'completion fish > ~/.config/fish/completions/counterfoil.fish',
    ],
    json: 'none',
  })
    .addArgument(command.createArgument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .action(async (shell: keyof typeof scripts) => {
      process.stdout.write(scripts[shell](completionWords(await wholeProgram())));
    });
}

/**
 * A completion script for bash 3.2 or later. It starts no program and evaluates nothing of the command line. Readline replaces
 * only what is behind the last break character, so the part before a colon or an equals sign is cut from the words.
 */
function bashCompletion(commands: readonly CommandWords[]): string {
  const { listed, free } = optionsWithValues(commands);
  return `# bash completion for counterfoil
_counterfoil() {
  local line=\${COMP_LINE:0:COMP_POINT} at='' option='' words='' word
  local current=\${line##*[[:space:]]}
  local -a before
  read -ra before <<<"\${line%"$current"}"
  for word in "\${before[@]}"; do
    case "$at $word" in
      (${casePattern(subcommandPaths(commands))}) at+=" $word" ;;
    esac
    option=$word
  done
  local value=$current kept=''
  if [[ $current == --*=* ]]; then
    option=\${current%%=*} value=\${current#*=}
    [[ $COMP_WORDBREAKS == *=* ]] || kept="$option="
  fi
  case "$at $option" in
${listed.map(({ place, values }) => `    '${place}') words='${values.join(' ')}' ;;\n`).join('')}\
    (${casePattern(free)}) ;;
    *)
      case "$at" in
${commands.map((each) => wordsByPath(each, '$current', bashWords)).join('')}\
      esac
      ;;
  esac
  local cut=''
  [[ $value == *:* && $COMP_WORDBREAKS == *:* ]] && cut=\${value%"\${value##*:}"}
  local IFS=' '
  COMPREPLY=()
  for word in $words; do
    [[ $word == "$value"* ]] && COMPREPLY+=("$kept\${word#"$cut"}")
  done
}
complete -F _counterfoil counterfoil
`;
}

/** A case of a bash or zsh script: options where a word begins with a hyphen, otherwise what may stand there. */
function wordsByPath(
  { path, subcommands, options, values }: CommandWords,
  current: string,
  assignment: (words: readonly Word[]) => string,
): string {
  const others = [...subcommands, ...values];
  const choice =
    others.length === 0
      ? assignment(options)
      : `if [[ ${current} == -* ]]; then ${assignment(options)}; else ${assignment(others)}; fi`;
  return `        ('${path}') ${choice} ;;
`;
}

function bashWords(words: readonly Word[]): string {
  return `words='${words.map(({ word }) => word).join(' ')}'`;
}

/** A pattern of a bash or zsh script. */
function casePattern(places: readonly string[]): string {
  return places.map((place) => `'${place}'`).join('|');
}

/** A completion script for zsh 5 or later, to be sourced or put into a folder of `fpath` as `_counterfoil`. */
function zshCompletion(commands: readonly CommandWords[]): string {
  const { listed, free } = optionsWithValues(commands);
  return `#compdef counterfoil
# zsh completion for counterfoil
_counterfoil() {
  local at='' word option=\${words[CURRENT-1]}
  local -a candidates
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      (${casePattern(subcommandPaths(commands))}) at+=" $word" ;;
    esac
  done
  if [[ \${words[CURRENT]} == --*=* ]]; then
    option=\${words[CURRENT]%%=*}
    compset -P '*='
  fi
  case "$at $option" in
${listed.map(({ place, values }) => `    ('${place}') candidates=(${values.map((value) => zshQuoted(value.replaceAll(':', '\\:'))).join(' ')}) ;;\n`).join('')}\
    (${casePattern(free)}) return ;;
    (*)
      case "$at" in
${commands.map((each) => wordsByPath(each, '$PREFIX', zshCandidates)).join('')}\
      esac
      ;;
  esac
  _describe counterfoil candidates
}
if [[ \${funcstack[1]} == _counterfoil ]]; then _counterfoil; else compdef _counterfoil counterfoil; fi
`;
}

/** A colon separates a word from its description. */
function zshCandidates(words: readonly Word[]): string {
  const listed = words.map(({ word, description }) =>
    zshQuoted(description === '' ? word : `${word}:${description}`),
  );
  return `candidates=(${listed.join(' ')})`;
}

function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A completion script for fish 3 or later. */
function fishCompletion(commands: readonly CommandWords[]): string {
  return `# fish completion for counterfoil
function __counterfoil_is_at
    set -l at ''
    for word in (commandline -opc)
        switch "$at $word"
            case ${subcommandPaths(commands).map(fishQuoted).join(' ')}
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c counterfoil -f
${commands.flatMap(fishLines).join('\n')}
`;
}

function fishLines({ path, subcommands, options, values }: CommandWords): string[] {
  const begin = `complete -c counterfoil -n ${fishQuoted(`__counterfoil_is_at ${fishQuoted(path)}`)}`;
  return [
    ...[...subcommands, ...values].map(
      (word) => `${begin} -a ${fishQuoted(word.word)}${fishDescription(word)}`,
    ),
    ...options.map((option) => `${begin} ${fishFlags(option)}${fishDescription(option)}`),
  ];
}

function fishFlags({ word, takesValue, values }: OptionWords): string {
  const long = `-l ${word.slice(2)}`;
  if (!takesValue) return long;
  return values.length === 0 ? `${long} -x` : `${long} -x -a ${fishQuoted(values.join(' '))}`;
}

function fishDescription({ description }: Word): string {
  return description === '' ? '' : ` -d ${fishQuoted(description)}`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function subcommandPaths(commands: readonly CommandWords[]): readonly string[] {
  return commands.map(({ path }) => path).filter(Boolean);
}
