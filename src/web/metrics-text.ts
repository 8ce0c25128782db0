/** Prometheus text format 0.0.4, which every scraper reads. */

export interface Sample {
  value: number;
  labels?: Readonly<Record<string, string>>;
}

export interface Metric {
  name: string;
  help: string;
  type: "gauge" | "counter";
  samples: readonly Sample[];
}

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** Leaves out metrics without samples: an absent series means "unknown", a zero means "none". */
export function renderMetrics(metrics: readonly Metric[]): string {
  return metrics
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, help, type, samples }) => {
      if (!METRIC_NAME.test(name)) throw new TypeError(`${name} is no name for a metric`);
      const lines = samples.map((sample) => `${name}${labelText(sample.labels ?? {})} ${numberText(sample.value)}\n`);
      return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
    })
    .join("");
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    if (!LABEL_NAME.test(name)) throw new TypeError(`${name} is no name for a label`);
    return `${name}="${escapeValue(value)}"`;
  });
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeValue(text: string): string {
  return escapeHelp(text.toWellFormed()).replaceAll('"', '\\"');
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  return String(value);
}
