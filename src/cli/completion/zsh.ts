import { type CommandWords, optionsWithValues, type Word } from './words.ts';

/** A completion script for zsh 5 or later, to be sourced or put into a folder of `fpath` as `_counterfoil`. */
export function zshCompletion(commands: readonly CommandWords[]): string {
  const { listed, free } = optionsWithValues(commands);
  return `#compdef counterfoil
# zsh completion for counterfoil
_counterfoil() {
  local at='' word option=\${words[CURRENT-1]}
  local -a candidates
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      (${patternOf(commands.map(({ path }) => path).filter(Boolean))}) at+=" $word" ;;
    esac
  done
  if [[ \${words[CURRENT]} == --*=* ]]; then
    option=\${words[CURRENT]%%=*}
    compset -P '*='
  fi
  case "$at $option" in
${listed.map(({ place, values }) => `    ('${place}') candidates=(${values.map((value) => quoted(value.replaceAll(':', '\\:'))).join(' ')}) ;;\n`).join('')}\
    (${patternOf(free)}) return ;;
    (*)
      case "$at" in
${commands.map(candidatesByPath).join('')}\
      esac
      ;;
  esac
  _describe counterfoil candidates
}
if [[ \${funcstack[1]} == _counterfoil ]]; then _counterfoil; else compdef _counterfoil counterfoil; fi
`;
}

function candidatesByPath({ path, subcommands, options, values }: CommandWords): string {
  const first = candidateList([...subcommands, ...values]);
  const second = candidateList(options);
  const choice =
    first === ''
      ? `candidates=(${second})`
      : `if [[ $PREFIX == -* ]]; then candidates=(${second}); else candidates=(${first}); fi`;
  return `        ('${path}') ${choice} ;;\n`;
}

/** A colon separates a word from its description. */
function candidateList(words: readonly Word[]): string {
  return words
    .map(({ word, description }) => quoted(description === '' ? word : `${word}:${description}`))
    .join(' ');
}

function patternOf(places: readonly string[]): string {
  return places.map((place) => `'${place}'`).join('|');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
