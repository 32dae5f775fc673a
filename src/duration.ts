const unitsMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of `30m`, `24h` or `90d`; undefined for anything else. */
export function durationOf(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * unitsMs[unit as keyof typeof unitsMs];
}
