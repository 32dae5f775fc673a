/** A segment as its name describes it: a listing is enough to know which segments follow a backup. */
export interface SegmentName {
  readonly name: string;
  readonly chain: string;
  /** The numbers of its first and last commit. */
  readonly first: number;
  readonly last: number;
}

const pattern = /^journal-([\da-f]{12})-(\d{15})-(\d{15})\.zst$/;

export function segmentName({ chain, first, last }: Omit<SegmentName, 'name'>): string {
  const [from, to] = [first, last].map((number) => String(number).padStart(15, '0'));
  return `journal-${chain}-${from}-${to}.zst`;
}

/** Undefined if the file is no segment. */
export function segmentOf(name: string): SegmentName | undefined {
  const [, chain, first, last] = pattern.exec(name) ?? [];
  return chain === undefined ? undefined : { name, chain, first: Number(first), last: Number(last) };
}
