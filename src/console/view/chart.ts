import { scaleBand, scaleLinear } from 'd3-scale';
import { html } from 'hono/html';
import type { Day } from '../../domain/usage.ts';
import { addDays } from '../../lib/add-days.ts';
import type { Html } from '../page.ts';

/** One day of a chart. What is null is not drawn. */
export interface ChartDay {
  day: Day;
  bar: number | null;
}

export interface Chart {
  /** What it shows, for those who hear the page. The numbers stand in a table beneath it. */
  title: string;
  from: Day;
  to: Day;
  days: readonly ChartDay[];
  /** What the bars are. */
  legend: string;
  /** A number with its unit. */
  say(value: number): string;
}

const [width, height] = [720, 220];
/** Room for the numbers and for the days below. */
const [left, top, bottom] = [80, 12, 26];

/**
 * A chart by day, drawn on the server. The colours are of the stylesheet: the policy of the pages lets no style stand in
 * them.
 */
export function chartOf({ title, from, to, days, legend, say }: Chart): Html {
  const all = fillDays(days, from, to);
  const highest = Math.max(0, ...all.map(({ bar }) => bar ?? 0));
  const x = scaleBand<string>()
    .domain(all.map(({ day }) => day))
    .range([left, width])
    .padding(0.2);
  const y = scaleLinear()
    .domain([0, highest || 1])
    .nice(3)
    .range([height - bottom, top]);
  const middleOf = (day: Day) => (x(day) ?? 0) + x.bandwidth() / 2;
  return html`<figure class="chart">
    <svg role="img" viewBox="0 0 ${width} ${height}">
      <title>${title}</title>
      ${y.ticks(3).map(
        (value) =>
          html`<line class="grid" x1="${left}" x2="${width}" y1="${round(y(value))}" y2="${round(y(value))}" /><text
              x="${left - 8}"
              y="${round(y(value)) + 4}"
              text-anchor="end"
              >${say(value)}</text
            >`,
      )}
      ${all.map(
        ({ day, bar }) =>
          bar !== null &&
          html`<rect
            class="bar"
            x="${round(x(day) ?? 0)}"
            y="${round(y(bar))}"
            width="${round(x.bandwidth())}"
            height="${round(height - bottom - y(bar))}"
            ><title>${day}: ${say(bar)}</title></rect
          >`,
      )}
      ${namedDays(all).map(
        (day) =>
          html`<text class="day" x="${round(middleOf(day))}" y="${height - 6}" text-anchor="${anchorOf(day, all)}"
            >${day.slice(5)}</text
          >`,
      )}
    </svg>
    <figcaption><span class="key bar">${legend}</span></figcaption>
  </figure>`;
}

/** Each day of the span once, so that days without anything are gaps. */
function fillDays(days: readonly ChartDay[], from: Day, to: Day): ChartDay[] {
  const known = new Map(days.map((one) => [one.day, one]));
  const all: ChartDay[] = [];
  for (let day = from; day <= to; day = addDays(day, 1)) all.push(known.get(day) ?? { day, bar: null });
  return all;
}

/** The first, the last, and some between, as many as can be read on a narrow screen. */
function namedDays(all: readonly ChartDay[]): Day[] {
  const last = all.length - 1;
  const steps = Math.min(3, last);
  const at = Array.from({ length: steps + 1 }, (_, step) => Math.round((last * step) / Math.max(steps, 1)));
  return at.flatMap((index) => all[index]?.day ?? []);
}

function anchorOf(day: Day, all: readonly ChartDay[]): 'start' | 'middle' | 'end' {
  if (day === all[0]?.day) return 'start';
  return day === all.at(-1)?.day ? 'end' : 'middle';
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
