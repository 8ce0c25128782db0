import type { Store } from "../database/store.ts";
import { databaseBytes, loadWatermarks } from "../health/monitor.ts";
import type { Page } from "./answer-request.ts";
import type { LoopWatch } from "./event-loop.ts";
import { listMetrics } from "./list-metrics.ts";
import { METRICS_TYPE, renderMetrics } from "./metrics-text.ts";
import type { Reading } from "./reading.ts";
import type { RunCounter } from "./run-counter.ts";

export interface MetricSources {
  read: () => Reading;
  store: Store;
  counter: RunCounter;
  loop: LoopWatch;
  timezone: string;
  program: string;
}

export function metricsPage({ read, store, counter, loop, timezone, program }: MetricSources): Page {
  return () => {
    const { rss, heapUsed } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const metrics = listMetrics({
      reading: read(),
      counted: counter.count(),
      watermarks: loadWatermarks(store),
      timezone,
      databaseBytes: databaseBytes(store),
      longestWriteS: store.longestWriteMs / 1000,
      loop: loop.read(),
      process: {
        rssBytes: rss,
        heapBytes: heapUsed,
        cpuS: (user + system) / 1e6,
        startedAtS: Math.round(performance.timeOrigin) / 1000,
      },
      versions: { version: program, node: process.versions.node },
    });
    return { status: 200, type: METRICS_TYPE, body: renderMetrics(metrics) };
  };
}
