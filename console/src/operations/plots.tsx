import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { metricsMs, samplesMax } from '../limits.ts';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { type Measure, measures, type Sample, sampleOf } from './scrape.ts';

const key = ['metrics'];

/** Small plots of the metrics since the view was opened. */
export default function Plots() {
  const { calls } = useConnection();
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => {
      const sample = sampleOf(await calls.text('/metrics', signal), Date.now() / 1_000);
      return [...(queries.getQueryData<readonly Sample[]>(key) ?? []), sample].slice(-samplesMax);
    },
    refetchInterval: metricsMs,
  });
  return (
    <>
      <h2>{texts.operations.metrics}</h2>
      {error !== null && <Problem error={error} again={() => void refetch()} />}
      <div class="plots">
        {measures.map((measure) => (
          <Plot key={measure.id} measure={measure} samples={data ?? []} />
        ))}
      </div>
    </>
  );
}

function Plot({ measure, samples }: { readonly measure: Measure; readonly samples: readonly Sample[] }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | undefined>(undefined);
  const points = samples.slice(1).map((sample, index) => ({
    at: sample.at,
    value: measure.of(sample, samples[index] as Sample),
  }));
  const latest = points.at(-1)?.value;
  useEffect(() => {
    const { accent, soft } = colors();
    const axis = { stroke: soft, grid: { stroke: soft, width: 0.2 }, size: 45 };
    plot.current = new UPlot(
      {
        width: plotPx.width,
        height: plotPx.height,
        legend: { show: false },
        cursor: { show: false },
        series: [{}, { stroke: accent, width: 2, spanGaps: true }],
        axes: [{ ...axis, size: 30 }, axis],
        scales: {
          // The axis covers at least a minute. Around a single point, uPlot would cover years.
          x: { range: ({ data: [times] }, low) => [low, Math.max(times.at(-1) ?? low, low + 60)] },
          y: { range: (_, low, high) => [Math.min(0, low), Math.max(1, high)] },
        },
      },
      [[], []],
      place.current as HTMLDivElement,
    );
    return () => plot.current?.destroy();
  }, []);
  useEffect(() => {
    plot.current?.setData([points.map(({ at }) => at), points.map(({ value }) => value)]);
  });
  const { label, unit } = texts.operations.measures[measure.id];
  return (
    <figure>
      <figcaption>
        {label}:{' '}
        {latest === undefined
          ? '–'
          : `${latest.toLocaleString(undefined, { maximumFractionDigits: 2 })} ${unit}`}
      </figcaption>
      <div ref={place} aria-hidden="true" />
    </figure>
  );
}

const plotPx = { width: 320, height: 140 };

/** The colors of the page as values, because a canvas cannot use custom properties. */
function colors() {
  const style = getComputedStyle(document.documentElement);
  const probe = document.createElement('span');
  document.body.append(probe);
  const colorOf = (name: string) => {
    probe.style.color = style.getPropertyValue(name);
    return getComputedStyle(probe).color;
  };
  const found = { accent: colorOf('--accent'), soft: colorOf('--soft') };
  probe.remove();
  return found;
}
