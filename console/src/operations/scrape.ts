/** The result of one scrape of `/metrics` (Prometheus text format). */
export interface Sample {
  /** Seconds since 1970. */
  readonly at: number;
  /** The sums of all series of a family, by its name. */
  readonly sums: ReadonlyMap<string, number>;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{.*\})? (\S+)/;

export function sampleOf(text: string, at: number): Sample {
  const sums = new Map<string, number>();
  for (const each of text.split('\n')) {
    const [, name, value] = line.exec(each) ?? [];
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return { at, sums };
}

/** A line of a plot. */
export interface Measure {
  readonly id: 'requests' | 'errors' | 'charges' | 'cpu' | 'memory' | 'delay';
  readonly of: (now: Sample, before: Sample) => number;
}

/** A counter as a rate per second. The counter begins at 0 again when the service restarts. */
const rateOf =
  (...names: readonly string[]): Measure['of'] =>
  (now, before) =>
    names.reduce((sum, name) => sum + Math.max(0, value(now, name) - value(before, name)), 0) /
    (now.at - before.at);

export const measures: readonly Measure[] = [
  { id: 'requests', of: rateOf('counterfoil_http_requests_total') },
  { id: 'errors', of: rateOf('counterfoil_http_errors_total') },
  { id: 'charges', of: rateOf('counterfoil_charges_total') },
  { id: 'cpu', of: rateOf('process_cpu_user_seconds_total', 'process_cpu_system_seconds_total') },
  { id: 'memory', of: (now) => value(now, 'process_resident_memory_bytes') / 1e6 },
  { id: 'delay', of: (now) => value(now, 'counterfoil_event_loop_delay_p99_seconds') * 1_000 },
];

function value({ sums }: Sample, name: string): number {
  return sums.get(name) ?? 0;
}
