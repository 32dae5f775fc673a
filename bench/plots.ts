import { writeFileSync } from 'node:fs';
import type { Spec } from 'vega';
import type { Curve } from './curve.ts';
import { type Spread, spreadOf } from './measure.ts';
import { fonts, gridColour, otherColours, ourColour, padding, quietAxis, titleOf } from './plot-style.ts';
import { ratioSpec } from './ratio-plot.ts';
import type { RatioPlot } from './ratios.ts';

const width = 600;
const height = 300;
/** The height of a line of text. */
const labelPixels = 15;
/** Writes each curve as an SVG into the folder. @returns the files' names */
export async function writePlots(curves: readonly Curve[], folder: URL): Promise<string[]> {
  const specs = curves.map((curve) => ({ file: curve.file, spec: specOf(curve) }));
  return draw(specs, folder);
}

/** The same for charts of ratios. */
export async function writeRatioPlots(plots: readonly RatioPlot[], folder: URL): Promise<void> {
  await draw(
    plots.map((plot) => ({ file: plot.file, spec: ratioSpec(plot) })),
    folder,
  );
}

interface Drawing {
  readonly file: string;
  readonly spec: Spec;
}

async function draw(drawings: readonly Drawing[], folder: URL): Promise<string[]> {
  if (drawings.length === 0) return [];
  // Loaded here, because it is slow to load and only drawing needs it.
  const { parse, View } = await import('vega');
  const names: string[] = [];
  for (const { file, spec } of drawings) {
    const view = new View(parse(spec), { renderer: 'none' });
    const name = `${file}.svg`;
    writeFileSync(new URL(name, folder), `${await view.toSVG()}\n`);
    view.finalize();
    names.push(name);
  }
  return names;
}

function specOf({ title, subtitle, scale, series }: Curve): Spec {
  // Drawn in this order, so that our line is on top.
  const points = series
    .toReversed()
    .flatMap(({ name, points: all }) =>
      all.map(({ items, figures }) => ({ series: name, items, ...spreadOf(figures) })),
    );
  const sizes = [...new Set(points.map(({ items }) => items))].sort((one, other) => one - other);
  const ends = labelledEnds(points);
  const place = { x: { scale: 'x', field: 'items' }, y: { scale: 'y', field: 'median' } };
  const colour = { scale: 'colour', field: 'series' };
  return {
    $schema: 'https://vega.github.io/schema/vega/v6.json',
    description: `${title}: ${subtitle}`,
    width,
    height,
    padding,
    background: 'white',
    config: fonts,
    title: titleOf({ title, subtitle }),
    data: [
      { name: 'points', values: points },
      { name: 'ends', values: ends },
    ],
    scales: [
      { name: 'x', type: 'log', domain: [sizes[0] ?? 1, sizes.at(-1) ?? 10], range: 'width' },
      { name: 'y', ...yScales[scale], domain: { data: 'points', fields: ['min', 'max'] }, range: 'height' },
      {
        name: 'colour',
        type: 'ordinal',
        domain: series.map(({ name }) => name),
        range: [ourColour, ...otherColours],
      },
    ],
    axes: [
      {
        scale: 'x',
        orient: 'bottom',
        title: 'items in the table',
        values: sizes,
        format: ',.0f',
        ...quietAxis,
      },
      {
        scale: 'y',
        orient: 'left',
        grid: true,
        gridColor: gridColour,
        ...quietAxis,
        domain: false,
        ticks: false,
        format: ',.0f',
        ...(scale === 'log' ? { values: powersOfTen } : { tickCount: 5 }),
      },
    ],
    marks: [
      {
        type: 'rule',
        from: { data: 'points' },
        encode: {
          enter: {
            x: place.x,
            y: { scale: 'y', field: 'min' },
            y2: { scale: 'y', field: 'max' },
            stroke: colour,
            strokeOpacity: { value: 0.35 },
            strokeWidth: { value: 5 },
          },
        },
      },
      {
        type: 'group',
        from: { facet: { name: 'line', data: 'points', groupby: 'series' } },
        marks: [
          {
            type: 'line',
            from: { data: 'line' },
            encode: { enter: { ...place, stroke: colour, strokeWidth: { value: 2 } } },
          },
        ],
      },
      {
        type: 'symbol',
        from: { data: 'points' },
        encode: { enter: { ...place, fill: colour, size: { value: 36 } } },
      },
      {
        type: 'text',
        from: { data: 'ends' },
        encode: {
          enter: {
            ...place,
            dx: { value: 10 },
            dy: { field: 'shift' },
            baseline: { value: 'middle' },
            text: { field: 'series' },
            fill: colour,
            fontSize: { value: 12 },
            fontWeight: { value: 'bold' },
          },
        },
      },
    ],
  };
}

type Drawn = { readonly series: string; readonly items: number } & Spread;

/** The end of each line, where its name is shown. The names are shifted vertically, so that they do not overlap. */
function labelledEnds(points: readonly Drawn[]): (Drawn & { readonly shift: number })[] {
  const names = [...new Set(points.map(({ series }) => series))];
  const ends = names.flatMap((name) => points.findLast(({ series }) => series === name) ?? []);
  return ends
    .sort((one, other) => other.median - one.median)
    .map((end, place) => ({ ...end, shift: (place - (ends.length - 1) / 2) * labelPixels }));
}

const yScales = {
  log: { type: 'log', nice: true },
  linear: { type: 'linear', nice: true, zero: true },
} as const;
const powersOfTen = Array.from({ length: 9 }, (_, power) => 10 ** power);
