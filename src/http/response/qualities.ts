/** The quality of each entry of a header such as `Accept` or `Accept-Encoding`, by its name in lower case (RFC 9110, 12.4.2). */
export function qualitiesOf(header: string): ReadonlyMap<string, number> {
  const qualities = header
    .toLowerCase()
    .split(',')
    .map((entry): [string, number] => {
      const [name = '', ...parameters] = entry.split(';').map((piece) => piece.trim());
      const quality = parameters.find((parameter) => parameter.startsWith('q='));
      return [name, quality === undefined ? 1 : Number(quality.slice(2)) || 0];
    });
  return new Map(qualities);
}
