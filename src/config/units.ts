/** Durations and sizes in the file: a whole number and its unit, without a space. */

const MS_BY_UNIT = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, y: 31_536_000_000 } as const;
const BYTES_BY_UNIT = {
  B: 1,
  KB: 1000,
  KiB: 1024,
  MB: 1_000_000,
  MiB: 1_048_576,
  GB: 1_000_000_000,
  GiB: 1_073_741_824,
} as const;

export const DURATION = /^(\d{1,9})(ms|s|m|h|d|y)$/;
export const BYTES = /^(\d{1,9})(B|KB|KiB|MB|MiB|GB|GiB)$/;

/** `10m` in milliseconds; null for anything else. A year is 365 days. */
export function parseDuration(text: string): number | null {
  return parseUnits(text, DURATION, MS_BY_UNIT);
}

/** `256MB` in bytes (MB is a million, MiB 1,048,576); null for anything else. */
export function parseBytes(text: string): number | null {
  return parseUnits(text, BYTES, BYTES_BY_UNIT);
}

/** The shortest exact notation: 90,000 is `90s`, 86,400,000 is `1d`. */
export function formatDuration(ms: number): string {
  return ms === 0 ? "0s" : formatUnits(ms, MS_BY_UNIT);
}

export function formatBytes(bytes: number): string {
  return formatUnits(bytes, BYTES_BY_UNIT);
}

function parseUnits(text: string, form: RegExp, sizes: Readonly<Record<string, number>>): number | null {
  const [, count, unit] = form.exec(text) ?? [];
  const size = sizes[unit ?? ""];
  return count === undefined || size === undefined ? null : Number(count) * size;
}

function formatUnits(value: number, sizes: Readonly<Record<string, number>>): string {
  const candidates = Object.entries(sizes)
    .filter(([, size]) => value % size === 0)
    .map(([unit, size]) => `${value / size}${unit}`);
  return candidates.reduce((best, text) => (text.length <= best.length ? text : best), `${value}${"x".repeat(9)}`);
}
