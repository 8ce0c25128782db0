import { Html, html } from "./html.ts";

export interface Bar {
  /** For the table of values: a day, an hour. */
  label: string;
  /** Null: unknown. */
  value: number | null;
  /** The formatted value. */
  text: string;
  tone: "plain" | "now" | "bad";
}

export interface PlotText {
  /** Unique on the page. */
  id: string;
  title: string;
  /** One line that describes the chart. */
  description: string;
  /** Labels under the first and the last bar. */
  from: string;
  to: string;
  values: string;
  head: readonly [label: string, value: string];
  /** Shown instead of an empty chart. */
  none: string;
  /** Lower bound of the scale, so that small values alone do not look large. */
  scaleMin?: number;
}

const HEIGHT = 96;
const STEP = 20;
const GAP = 5;
/** Keeps a small non-zero value visible. */
const BAR_MIN = 2;

/**
 * A bar chart with a title, a description and a collapsible table of all values. Text is outside the SVG, which is
 * stretched.
 */
export function barPlot(
  bars: readonly Bar[],
  { id, title, description, from, to, values, head, none, scaleMin = 1 }: PlotText,
): Html {
  if (bars.every(({ value }) => value === null || value === 0)) {
    return html`<figure><figcaption><h2 id="${id}">${title}</h2><p>${none}</p></figcaption></figure>
`;
  }
  const width = bars.length * STEP;
  const most = Math.max(scaleMin, ...bars.map(({ value }) => value ?? 0));
  return html`<figure>
<figcaption><h2 id="${id}">${title}</h2><p>${description}</p></figcaption>
<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-labelledby="${id}-t ${id}-d">
<title id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>
${bars.map((bar, index) => drawBar(bar, index, most))}<path class="base" d="M0 ${HEIGHT}H${width}"/>
</svg>
<p class="ends"><span>${from}</span><span>${to}</span></p>
<details><summary>${values}</summary><table><thead><tr><th scope="col">${head[0]}</th><th scope="col">${head[1]}</th></tr></thead>
<tbody>${bars.map(({ label, text }) => html`<tr><th scope="row">${label}</th><td>${text}</td></tr>`)}</tbody></table></details>
</figure>
`;
}

function drawBar({ value, tone }: Bar, index: number, most: number): Html {
  if (value === null || value === 0) return new Html("");
  const height = Math.max(BAR_MIN, Math.round((value / most) * (HEIGHT - BAR_MIN)));
  return html`<rect class="${tone}" x="${index * STEP + GAP / 2}" y="${HEIGHT - height}" width="${STEP - GAP}" height="${height}" rx="1.5"/>
`;
}
