import { type CommandWords, optionsWithValues, type Word } from './words.ts';

/**
 * A completion script for bash 3.2 or later. It starts no program and evaluates nothing of the command line. Readline replaces
 * only what is behind the last break character, so the part before a colon or an equals sign is cut from the words.
 */
export function bashCompletion(commands: readonly CommandWords[]): string {
  const { listed, free } = optionsWithValues(commands);
  return `# bash completion for counterfoil
_counterfoil() {
  local line=\${COMP_LINE:0:COMP_POINT} at='' option='' words='' word
  local current=\${line##*[[:space:]]}
  local -a before
  read -ra before <<<"\${line%"$current"}"
  for word in "\${before[@]}"; do
    case "$at $word" in
      ${patternOf(commands.map(({ path }) => path).filter(Boolean))}) at+=" $word" ;;
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
    ${patternOf(free)}) ;;
    *)
      case "$at" in
${commands.map(wordsByPath).join('')}\
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

function wordsByPath({ path, subcommands, options, values }: CommandWords): string {
  const first = wordList([...subcommands, ...values]);
  const second = wordList(options);
  const choice =
    first === ''
      ? `words='${second}'`
      : `if [[ $current == -* ]]; then words='${second}'; else words='${first}'; fi`;
  return `        '${path}') ${choice} ;;\n`;
}

function wordList(words: readonly Word[]): string {
  return words.map(({ word }) => word).join(' ');
}

function patternOf(places: readonly string[]): string {
  return places.map((place) => `'${place}'`).join(' | ');
}
