import { readdirSync, readFileSync, statSync } from "node:fs";

/** What one look at the daemon finds. What only the process itself knows is undefined until it has said so. */
export interface Sample {
  atMs: number;
  /** After a collection: before one it goes up and down by a hundred megabytes with the bodies that were read. */
  rssMb: number | undefined;
  heapMb: number | undefined;
  openFiles: number;
  walMb: number;
  timers: number | undefined;
  handles: number | undefined;
}

export type Measure = Exclude<keyof Sample, "atMs">;

/**
 * How much each may grow from the first third of the time to the last, whatever the time: breathing, not a leak. The
 * log is written over once all of it is in the database, so it may be as large as it ever was.
 */
export const GROWTH_MAX: Record<Measure, number> = {
  rssMb: 48,
  heapMb: 24,
  openFiles: 5,
  walMb: 16,
  timers: 10,
  handles: 10,
};

export interface Trend {
  measure: Measure;
  first: number;
  last: number;
  /** By least squares over all samples but those of the warm-up. */
  slopePerHour: number;
  isSteady: boolean;
}

const MB = 1024 * 1024;
const COLLECT_EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;
/** V8 compiles, caches fill: this part of the time is no trend. */
const WARM_UP = 0.2;

/** Loaded into the daemon with --import, beside the program: writes down now and then what cannot be seen from outside. */
export const watcherText = (file: string) => `
import { renameSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
setInterval(() => {
  collect();
  const resources = process.getActiveResourcesInfo();
  const timers = resources.filter((name) => name === "Timeout").length;
  const { heapUsed, rss } = process.memoryUsage();
  const seen = { rssBytes: rss, heapBytes: heapUsed, timers, handles: resources.length - timers };
  writeFileSync(${JSON.stringify(`${file}.new`)}, JSON.stringify(seen));
  renameSync(${JSON.stringify(`${file}.new`)}, ${JSON.stringify(file)});
}, ${COLLECT_EVERY_MS}).unref();
`;

/** Throws where the process is gone. */
export function takeSample(pid: number, paths: { database: string; watched: string }, atMs: number): Sample {
  const watched = readWatched(paths.watched);
  return {
    atMs,
    rssMb: watched === undefined ? undefined : watched.rssBytes / MB,
    heapMb: watched === undefined ? undefined : watched.heapBytes / MB,
    openFiles: readdirSync(`/proc/${pid}/fd`).length,
    walMb: (statSync(`${paths.database}-wal`, { throwIfNoEntry: false })?.size ?? 0) / MB,
    timers: watched?.timers,
    handles: watched?.handles,
  };
}

/** What `watcherText` writes down. */
interface Watched {
  rssBytes: number;
  heapBytes: number;
  timers: number;
  handles: number;
}

function readWatched(file: string): Watched | undefined {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
  return JSON.parse(readFileSync(file, "utf8")) as Watched;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Least squares, in units an hour. */
export function slopePerHour(points: readonly { atMs: number; value: number }[]): number {
  const n = points.length;
  const meanAt = points.reduce((sum, { atMs }) => sum + atMs, 0) / n;
  const mean = points.reduce((sum, { value }) => sum + value, 0) / n;
  const spread = points.reduce((sum, { atMs }) => sum + (atMs - meanAt) ** 2, 0);
  if (!(spread > 0)) return 0;
  return (points.reduce((sum, { atMs, value }) => sum + (atMs - meanAt) * (value - mean), 0) / spread) * HOUR_MS;
}

/** Undefined where there are too few samples to say anything. */
export function trendOf(samples: readonly Sample[], measure: Measure): Trend | undefined {
  const settled = samples.slice(Math.floor(samples.length * WARM_UP));
  const points = settled.flatMap((sample) => {
    const value = sample[measure];
    return value === undefined ? [] : [{ atMs: sample.atMs, value }];
  });
  if (points.length < 6) return undefined;
  const third = Math.floor(points.length / 3);
  const first = median(points.slice(0, third).map(({ value }) => value));
  const last = median(points.slice(-third).map(({ value }) => value));
  return { measure, first, last, slopePerHour: slopePerHour(points), isSteady: last - first <= GROWTH_MAX[measure] };
}
