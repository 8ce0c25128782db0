import { parseTimestamp } from "../answers/timestamp.ts";
import { FEED_NAMES } from "../config/feed-names.ts";
import type { FlowFacts } from "../health/facts.ts";
import type { WatermarkRow } from "../health/monitor.ts";
import type { LoopDelay } from "./event-loop.ts";
import type { Metric, Sample } from "./metrics-text.ts";
import type { Reading } from "./reading.ts";
import type { Counted } from "./run-counter.ts";

export interface MetricFacts {
  reading: Reading;
  counted: Counted;
  watermarks: readonly WatermarkRow[];
  /** Time zone of the service's times without one. */
  timezone: string;
  databaseBytes: number;
  longestWriteS: number;
  loop: LoopDelay;
  process: { rssBytes: number; heapBytes: number; cpuS: number; startedAtS: number };
  versions: { version: string; node: string };
}

/** All metrics. Times are Unix seconds, so that an age is `time() - …` in any query. */
export function listMetrics(facts: MetricFacts): Metric[] {
  return [
    ...programMetrics(facts),
    ...healthMetrics(facts.reading),
    ...flowMetrics(facts.reading),
    ...orderMetrics(facts),
    ...feedMetrics(facts.reading),
    ...runMetrics(facts.counted),
    ...storageMetrics(facts),
  ];
}

function programMetrics({ loop, process, versions }: MetricFacts): Metric[] {
  return [
    gauge("erp_bridge_build_info", "Version of the program and of Node, always 1.", [{ value: 1, labels: versions }]),
    one("process_start_time_seconds", "When the process started, Unix time.", process.startedAtS),
    one("process_resident_memory_bytes", "Memory that the process holds.", process.rssBytes),
    counter("process_cpu_seconds_total", "Processor time, user and system.", [{ value: process.cpuS }]),
    one("nodejs_heap_size_used_bytes", "Memory in use by JavaScript objects.", process.heapBytes),
    one("nodejs_eventloop_lag_max_seconds", "The latest that the event loop was in the last two minutes.", loop.maxS),
    one("nodejs_eventloop_lag_p99_seconds", "How late it was at most in 99 of 100 cases, same time.", loop.p99S),
  ];
}

function healthMetrics({ facts, conditions, problems, tookS }: Reading): Metric[] {
  return [
    one("erp_bridge_healthy", "1 while every flow is fresh, as /health says.", problems.length === 0 ? 1 : 0),
    gauge(
      "erp_bridge_condition",
      "1 for everything that is worth attention, as the status says.",
      conditions.map(({ code, subject }) => ({ value: 1, labels: { code, subject } })),
    ),
    gauge(
      "erp_bridge_trouble",
      "1 while the daemon itself has met something: an error code of the database or the disk, or a failed reload.",
      facts.met === undefined ? [] : [{ value: 1, labels: { of: facts.met.of, reason: facts.met.code } }],
    ),
    gauge(
      "erp_bridge_hold",
      "1 for every area or feed that waits for a person or a probe.",
      facts.holds.map(({ area, reason }) => ({ value: 1, labels: { area, reason } })),
    ),
    gauge(
      "erp_bridge_hold_since_timestamp_seconds",
      "When the hold began, Unix time.",
      facts.holds.flatMap(({ area, reason, since }) => timeSample(since, { area, reason })),
    ),
    gauge(
      "erp_bridge_clock_offset_seconds",
      "How far this machine's clock is ahead of the service's; absent while it is less than five minutes.",
      (facts.notices ?? []).flatMap(({ offsetS }) => (offsetS === undefined ? [] : [{ value: offsetS }])),
    ),
    one("erp_bridge_look_seconds", "How long the last look at the database for health and metrics took.", tookS),
  ];
}

function flowMetrics({ facts }: Reading): Metric[] {
  const enabled = facts.flows.filter((flow) => flow.enabled);
  const own = enabled.filter(({ flow }) => flow !== "erp");
  const each = (flows: readonly FlowFacts[], value: (flow: FlowFacts) => number): Sample[] =>
    flows.map((flow) => ({ value: value(flow), labels: { flow: flow.flow } }));
  const times = (flows: readonly FlowFacts[], time: (flow: FlowFacts) => string | null): Sample[] =>
    flows.flatMap((flow) => timeSample(time(flow), { flow: flow.flow }));
  return [
    gauge(
      "erp_bridge_last_success_timestamp_seconds",
      "When the flow last succeeded, Unix time; absent where it never has.",
      times(own, ({ lastSuccessAt }) => lastSuccessAt),
    ),
    gauge(
      "erp_bridge_last_run_timestamp_seconds",
      "When the flow last ended a pass, Unix time.",
      times(own, ({ lastRunAt }) => lastRunAt),
    ),
    gauge(
      "erp_bridge_stale_after_seconds",
      "A longer silence of the flow than this is worth attention.",
      each(own, ({ staleAfterS }) => staleAfterS),
    ),
    gauge(
      "erp_bridge_failing",
      "1 while the flow's last passes have failed.",
      each(own, ({ failingSince }) => (failingSince === null ? 0 : 1)),
    ),
    gauge(
      "erp_bridge_waiting",
      "What waits in the flow: confirms, reads, requests, rows; for erp orders to be taken.",
      each(enabled, ({ waiting }) => waiting),
    ),
    gauge(
      "erp_bridge_waiting_since_timestamp_seconds",
      "When the oldest of it began to wait, Unix time; absent where nothing waits.",
      times(enabled, ({ waitingSince }) => waitingSince),
    ),
    gauge(
      "erp_bridge_quarantined",
      "Records in quarantine; for erp orders that the ERP has blocked.",
      each(enabled, ({ quarantined }) => quarantined),
    ),
    gauge(
      "erp_bridge_refused_rows",
      "Rows of a feed that the service refused and that are tried again; those in quarantine are not among them.",
      each(
        own.filter(({ flow }) => FEED_NAMES.some((name) => name === flow)),
        ({ refused }) => refused,
      ),
    ),
  ];
}

function orderMetrics({ reading, watermarks, timezone }: MetricFacts): Metric[] {
  const { facts, nowMs } = reading;
  const stored = facts.flows.find(({ flow }) => flow === "orders")?.waiting ?? 0;
  const erp = facts.flows.find(({ flow }) => flow === "erp");
  const positions = watermarks.flatMap(({ stream, value }) => {
    const timestamp = parseTimestamp(value, timezone);
    return timestamp === undefined
      ? []
      : [{ value: Number(timestamp.instantNs / 1_000_000n) / 1000, labels: { stream } }];
  });
  return [
    one("erp_bridge_orders", "Orders stored.", facts.orders),
    one("erp_bridge_orders_pending", "Orders that the ERP has not taken.", erp?.waiting ?? 0),
    one("erp_bridge_orders_pending_age_seconds", "Age of the oldest, 0 where none is.", ageS(erp?.waitingSince, nowMs)),
    gauge(
      "erp_bridge_last_order_timestamp_seconds",
      "When the last batch of orders was received, Unix time.",
      timeSample(facts.lastOrderAt),
    ),
    gauge("erp_bridge_batches", "Batches by state: stored waits for its confirm.", [
      { value: stored, labels: { state: "stored" } },
      { value: facts.unread, labels: { state: "unread" } },
      { value: facts.refusedBatches, labels: { state: "refused" } },
    ]),
    one("erp_bridge_status_requests_refused", "Status requests that the service refused.", facts.refusedRequests),
    gauge(
      "erp_bridge_watermark_timestamp_seconds",
      "The saved position for changes, as a time of the service's own.",
      positions,
    ),
    gauge(
      "erp_bridge_watermark_moved_timestamp_seconds",
      "When the position last moved, Unix time.",
      watermarks.flatMap(({ stream, updatedAt }) => timeSample(updatedAt, { stream })),
    ),
  ];
}

/** A feed that was never sent has nothing on the site, and no age. */
function feedMetrics({ facts, nowMs }: Reading): Metric[] {
  const feeds = facts.flows.filter(({ flow, enabled }) => enabled && FEED_NAMES.some((name) => name === flow));
  return [
    gauge(
      "erp_bridge_site_age_seconds",
      "Age of what the site shows of the feed: since the last pass or, while something waits or is refused, its oldest change.",
      feeds.flatMap(({ flow, asOf }) => (asOf === null ? [] : [{ value: ageS(asOf, nowMs), labels: { feed: flow } }])),
    ),
    gauge(
      "erp_bridge_erp_last_write_timestamp_seconds",
      "When the ERP was last seen to write the feed's table, Unix time.",
      (facts.erpWrites ?? []).flatMap(({ feed, since }) => timeSample(since, { feed })),
    ),
  ];
}

function runMetrics({ runs, items }: Counted): Metric[] {
  return [
    counter(
      "erp_bridge_runs_total",
      "Passes since the start, by outcome.",
      runs.map(({ job, outcome, count }) => ({ value: count, labels: { flow: job, outcome } })),
    ),
    counter(
      "erp_bridge_items_total",
      "What passes did since the start: created, confirmed, sent, requests and so on.",
      items.map(({ job, what, sum }) => ({ value: sum, labels: { flow: job, what } })),
    ),
  ];
}

function storageMetrics({ reading, databaseBytes, longestWriteS }: MetricFacts): Metric[] {
  const { walBytes, disk } = reading.facts;
  return [
    one("erp_bridge_database_size_bytes", "Size of the database.", databaseBytes),
    one("erp_bridge_wal_size_bytes", "Size of the write-ahead log beside it.", walBytes),
    gauge("erp_bridge_disk_free_bytes", "Free on the database's disk.", disk ? [{ value: disk.free }] : []),
    one("erp_bridge_longest_write_seconds", "The longest that the bridge held the write lock.", longestWriteS),
  ];
}

function gauge(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name, help, type: "gauge", samples };
}

function counter(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name, help, type: "counter", samples };
}

function one(name: string, help: string, value: number): Metric {
  return gauge(name, help, [{ value }]);
}

function timeSample(at: string | null, labels: Readonly<Record<string, string>> = {}): Sample[] {
  const ms = at === null ? Number.NaN : Date.parse(at);
  return Number.isNaN(ms) ? [] : [{ value: ms / 1000, labels }];
}

function ageS(since: string | null | undefined, nowMs: number): number {
  return since == null ? 0 : Math.max(0, Math.round((nowMs - Date.parse(since)) / 1000));
}
