import os from "node:os";
import path from "node:path";
import type { LoadedConfig } from "../config/load.ts";
import { databaseBytes } from "../health/monitor.ts";
import type { JobContext } from "../pass/job.ts";
import { TtlCache } from "../platform/ttl-cache.ts";
import { VERSION } from "../platform/version.ts";
import { type Page, RequestAnswerer } from "../web/answer-request.ts";
import { ChartLoader } from "../web/charts.ts";
import { LoopWatch } from "../web/event-loop.ts";
import { healthPage } from "../web/health-page.ts";
import { metricsPage } from "../web/metrics-page.ts";
import { takeReading } from "../web/reading.ts";
import { RunCounter } from "../web/run-counter.ts";
import { statusPage } from "../web/status-page.ts";
import { WebServer } from "../web/web-server.ts";

/** The charts show days and hours, so they need no quicker update. */
const CHARTS_REST_MS = 30_000;

/** Health, metrics and the status page; undefined where they are switched off. */
export function buildWeb(
  { store, client, clock, log }: JobContext,
  { config, file }: LoadedConfig,
): WebServer | undefined {
  const { listen } = config.http;
  if (listen === null) return undefined;
  const startedAtMs = clock.nowMs();
  const limits = { erpReadWithinMs: config.erp.read_within };
  const reading = new TtlCache(clock, () => takeReading(store, { nowMs: clock.nowMs(), startedAtMs }, limits));
  const loader = new ChartLoader(store);
  const charts = new TtlCache(clock, () => loader.load(clock.nowMs()), { restMinMs: CHARTS_REST_MS });
  const read = () => reading.get();
  const loop = new LoopWatch();
  const pages = new Map<string, Page>([
    [
      "/",
      statusPage({
        read,
        charts: () => charts.get(),
        language: config.language,
        instance: instanceOf(file),
        serviceHost: new URL(config.service.base_url).host,
        program: VERSION,
        databaseBytes: () => databaseBytes(store),
      }),
    ],
    ["/health", healthPage(read, { program: VERSION, troubles: store.troubles })],
    [
      "/metrics",
      metricsPage({
        read,
        store,
        counter: new RunCounter(store),
        loop,
        timezone: config.service.timezone,
        program: VERSION,
      }),
    ],
  ]);
  const answerer = new RequestAnswerer(pages, listen.host, { log, hideSecrets: client.hideSecrets });
  return new WebServer({ listen, store, clock, log, loop, answer: (request, port) => answerer.answer(request, port) });
}

/** The host, with the configuration's name where it is not the default. */
function instanceOf(file: string): string {
  const name = path.basename(file, path.extname(file));
  return name === "config" ? os.hostname() : `${name} @ ${os.hostname()}`;
}
