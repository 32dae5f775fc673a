import type { Spec } from 'vega';
import { fonts, gridColour, padding, quietAxis, quietColour, textColour, titleOf } from './plot-style.ts';
import type { RatioPlot } from './ratios.ts';

const width = 560;
const rowHeight = 44;
/** Vega shortens what is longer. */
const labelPixelsMax = 400;
/** Each series has a shape as well, for those who do not see the colours. */
const colours = ['#c2410c', '#15803d', '#9d174d', '#a16207', '#8a8f98'];
const shapes = ['circle', 'square', 'triangle-up', 'diamond', 'cross'];
/** Without an own height within its row, equal ratios would cover each other. */
const rowPadding = 0.3;

export function ratioSpec({ title, subtitle, rows, series, points }: RatioPlot): Spec {
  const x = (field: string) => ({ scale: 'x', field });
  const y = {
    scale: 'row',
    field: 'row',
    offset: { scale: 'series', field: 'series', band: 0.5 },
  };
  const colour = { scale: 'colour', field: 'series' };
  return {
    $schema: 'https://vega.github.io/schema/vega/v6.json',
    description: `${title}: ${subtitle}`,
    width,
    height: rows.length * rowHeight,
    padding,
    background: 'white',
    config: { ...fonts, legend: { labelFont: fonts.text.font } },
    title: titleOf({ title, subtitle }),
    data: [{ name: 'points', values: [...points] }],
    scales: [
      {
        name: 'x',
        type: 'log',
        // The line at 1 is always in the picture.
        domain: [
          Math.min(0.5, ...points.map(({ min }) => min)),
          Math.max(2, ...points.map(({ max }) => max)),
        ],
        range: 'width',
        nice: true,
      },
      { name: 'row', type: 'band', domain: [...rows], range: 'height', padding: rowPadding },
      {
        name: 'series',
        type: 'band',
        domain: [...series],
        range: [0, rowHeight * (1 - rowPadding)],
      },
      { name: 'colour', type: 'ordinal', domain: [...series], range: colours },
      { name: 'shape', type: 'ordinal', domain: [...series], range: shapes },
    ],
    axes: [
      {
        scale: 'x',
        orient: 'bottom',
        grid: true,
        gridColor: gridColour,
        ...quietAxis,
        format: '~g',
        values: factors,
      },
      {
        scale: 'row',
        orient: 'left',
        ...quietAxis,
        labelColor: textColour,
        labelLimit: labelPixelsMax,
        domain: false,
        ticks: false,
      },
    ],
    legends: [
      { fill: 'colour', shape: 'shape', orient: 'bottom', direction: 'horizontal', labelColor: textColour },
    ],
    marks: [
      {
        type: 'rule',
        encode: {
          enter: {
            x: { scale: 'x', value: 1 },
            y: { value: 0 },
            y2: { signal: 'height' },
            stroke: { value: quietColour },
            strokeWidth: { value: 1.5 },
          },
        },
      },
      {
        type: 'rule',
        from: { data: 'points' },
        encode: {
          enter: {
            x: x('min'),
            x2: x('max'),
            y,
            stroke: colour,
            strokeOpacity: { value: 0.35 },
            strokeWidth: { value: 4 },
          },
        },
      },
      {
        type: 'symbol',
        from: { data: 'points' },
        encode: {
          enter: {
            x: x('median'),
            y,
            fill: colour,
            shape: { scale: 'shape', field: 'series' },
            size: { value: 48 },
          },
        },
      },
    ],
  };
}

/** 1, 3 and 10 of every power of ten that a chart may need. */
const factors = Array.from({ length: 12 }, (_, power) => power - 4).flatMap((power) => [
  10 ** power,
  3 * 10 ** power,
]);
