import type { CommandWords, OptionWords, Word } from './words.ts';

/** A completion script for fish 3 or later. */
export function fishCompletion(commands: readonly CommandWords[]): string {
  const paths = commands.map(({ path }) => path).filter(Boolean);
  return `# fish completion for counterfoil
function __counterfoil_is_at
    set -l at ''
    for word in (commandline -opc)
        switch "$at $word"
            case ${paths.map(quoted).join(' ')}
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c counterfoil -f
${commands.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ path, subcommands, options, values }: CommandWords): string[] {
  const begin = `complete -c counterfoil -n ${quoted(`__counterfoil_is_at ${quoted(path)}`)}`;
  return [
    ...[...subcommands, ...values].map((word) => `${begin} -a ${quoted(word.word)}${described(word)}`),
    ...options.map((option) => `${begin} ${flagsOf(option)}${described(option)}`),
  ];
}

function flagsOf({ word, takesValue, values }: OptionWords): string {
  const long = `-l ${word.slice(2)}`;
  if (!takesValue) return long;
  return values.length === 0 ? `${long} -x` : `${long} -x -a ${quoted(values.join(' '))}`;
}

function described({ description }: Word): string {
  return description === '' ? '' : ` -d ${quoted(description)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
