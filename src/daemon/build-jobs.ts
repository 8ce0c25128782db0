import { BackUp } from "../backup/back-up.ts";
import { BatchJournal } from "../backup/batch-journal.ts";
import { readDiskSpace } from "../backup/space-rule.ts";
import { type ReadSpace, WatchDisk } from "../backup/watch-disk.ts";
import { FEED_NAMES, type FeedName } from "../config/feed-names.ts";
import type { LoadedConfig } from "../config/load.ts";
import { showConfig } from "../config/show.ts";
import { LateOrders } from "../confirm/late-orders.ts";
import { compileFeed, type FeedRules, linkFeeds } from "../feeds/feed.ts";
import { PushImports } from "../feeds/push-imports.ts";
import { m } from "../messages/messages.ts";
import type { RunMirror } from "../mirror/run-mirror.ts";
import { compileOrderRules, type OrderRules } from "../orders/order-rules.ts";
import { PullOrders } from "../orders/pull-orders.ts";
import type { Job, JobContext } from "../pass/job.ts";
import { isWell } from "../pass/runs.ts";
import { Reconcile } from "../reconcile/reconcile.ts";
import { compileStatusRules } from "../statuses/plan-status.ts";
import { SendStatuses } from "../statuses/send-statuses.ts";
import { StatusSettler } from "../statuses/settle-status.ts";
import { FollowUpdates } from "../updates/follow-updates.ts";
import { OrderReader } from "../updates/reads/read-order.ts";
import { ReadOrders } from "../updates/reads/read-orders.ts";
import { accountOf, ownerOf } from "./account.ts";
import { HoldGate } from "./gate.ts";
import { JobRunner } from "./job-runner.ts";
import { PruneHistory } from "./prune-history.ts";
import { RunReporter } from "./report-run.ts";
import { type RunResult, runJob } from "./run-job.ts";
import type { ScheduleEntry } from "./scheduler.ts";

/** A start runs a missed reconcile once it is late by a quarter of its interval. */
const RECONCILE_LATE = 1.25;

/** How long statuses wait for a pass over changes that runs: it may show that an order is cancelled. */
const AFTER_MS = 10_000;

/** When old history is removed: after the nightly backups and comparisons. */
const PRUNE_SCHEDULE = "23 4 * * *";

/** Builds every job that the configuration switches on, with its schedule. */
export function buildJobs(
  context: JobContext,
  options: {
    loaded: LoadedConfig;
    onResult?: (job: string, result: RunResult) => void;
    readSpace?: ReadSpace;
    pagesMax?: number;
    /** Replaces the configured one, in tests. */
    journal?: BatchJournal;
    mirror?: RunMirror | undefined;
  },
): ScheduleEntry[] {
  const { config } = options.loaded;
  const { orders, updates, statuses, service } = config;
  const gate = new HoldGate(context);
  const reporter = new RunReporter(context.log, context.client.hideSecrets);
  const report = options.onResult ?? ((job: string, result: RunResult) => reporter.report(job, result));
  const runnerOf = (job: Job, after?: JobRunner) =>
    new JobRunner({
      name: job.name,
      clock: context.clock,
      isStopping: context.isStopping,
      isHeld: () => gate.isHeld(job.areas),
      run: (signal) => runJob(job, context, gate, signal),
      before: async (signal) => await after?.whenIdle({ longestMs: AFTER_MS, signal }),
      onResult: (result) => report(job.name, result),
    });

  const rules = orderRulesOf(options.loaded);
  const journal =
    options.journal ??
    (config.backup.journal === null
      ? undefined
      : new BatchJournal(
          config.backup.journal,
          context.clock,
          ownerOf(context.store, options.loaded),
          context.isStopping,
        ));
  const follow = { since: updates.since, timezone: service.timezone, overlapMs: updates.overlap };
  const late = new LateOrders(context, follow);
  const pull = new PullOrders(context, {
    rules,
    query: Object.entries(orders.query),
    late,
    journal,
    disk: new WatchDisk(context, options.readSpace ?? readDiskSpace),
  });
  const readOrders = new ReadOrders(context, rules, follow);
  const bounds = options.pagesMax === undefined ? {} : { pagesMax: options.pagesMax };
  const followJob = new FollowUpdates(
    context,
    { rules, follow, late, wideOverlapMs: updates.sweep.overlap, ...bounds },
    readOrders,
  );
  const followRunner = runnerOf(followJob);
  const entries: ScheduleEntry[] = [
    {
      pattern: orders.schedule,
      runner: runnerOf(pull),
      endWithBacklog: () => pull.endWithBacklog(),
      atEnd: () => pull.end(),
    },
    { pattern: updates.schedule, runner: followRunner },
    { pattern: updates.sweep.schedule, runner: followRunner, before: (signal) => followJob.requestWide(signal) },
  ];
  if (statuses.path !== null) {
    const statusRules = compileStatusRules({ ...statuses, path: statuses.path, cancelled: rules.plan.cancelled });
    const options = { rules: statusRules, quietMs: service.timeouts.headers, timezone: service.timezone };
    const reader = new OrderReader(context, rules);
    const settler = new StatusSettler(context, options, reader);
    entries.push({
      pattern: statuses.schedule,
      runner: runnerOf(new SendStatuses(context, settler, reader), followRunner),
    });
  }
  const feeds: PushImports[] = [];
  for (const [name, feedRules] of feedRulesOf(options.loaded)) {
    const feed = config.imports[name];
    const job = new PushImports(context, { rules: feedRules, timeoutMs: service.timeouts.import, earlier: [...feeds] });
    feeds.push(job);
    const runner = runnerOf(job);
    entries.push({ pattern: feed.schedule, runner, limitTo: (key) => job.limitTo(key) });
    entries.push({
      pattern: feed.compare,
      runner,
      before: (signal) => job.requestCompare(m.daemon.nightlyComparison, signal),
    });
  }
  const reconcile = new Reconcile(context, { ...config.reconcile, rules, gapMs: 1000 / service.requests_per_second });
  entries.push({
    pattern: config.reconcile.schedule,
    runner: runnerOf(reconcile),
    atStart: (intervalMs) => hasFailed(context, reconcile) || reconcile.isDue(intervalMs * RECONCILE_LATE),
  });
  if (options.mirror !== undefined) {
    const { mirror } = options;
    const runner = runnerOf(mirror);
    entries.push({ pattern: config.mirror.schedule, runner });
    entries.push({ pattern: config.mirror.compare, runner, before: async () => mirror.requestCompare() });
  }
  entries.push(...upkeepEntries(context, options.loaded, { runnerOf, journal, readSpace: options.readSpace }));
  return entries;
}

/** Scheduled jobs that send no requests. */
function upkeepEntries(
  context: JobContext,
  loaded: LoadedConfig,
  parts: { runnerOf: (job: Job) => JobRunner; journal: BatchJournal | undefined; readSpace: ReadSpace | undefined },
): ScheduleEntry[] {
  const { backup, retention } = loaded.config;
  const { runnerOf, journal, readSpace } = parts;
  const copies = {
    folder: backup.dir,
    keep: backup.keep,
    configText: () => showConfig(loaded),
    owner: ownerOf(context.store, loaded),
    journal,
    readSpace,
  };
  const backUp = new BackUp(context, copies);
  const pruneHistory = new PruneHistory(context, {
    runsMs: retention.runs,
    eventsMs: retention.events,
    batchesMs: retention.batches,
    requestsMs: retention.status_requests,
    zone: loaded.config.service.timezone,
  });
  return [
    {
      pattern: backup.schedule,
      runner: runnerOf(backUp),
      atStart: (intervalMs) => hasFailed(context, backUp) || backUp.isLate(intervalMs),
    },
    { pattern: PRUNE_SCHEDULE, runner: runnerOf(pruneHistory) },
  ];
}

/** A pass that failed, or that a hold stopped, is repeated at a start: its next time may be a day away. */
function hasFailed({ store }: JobContext, { name }: Job): boolean {
  return !isWell(store, name);
}

/** How orders are read under this configuration. */
export function orderRulesOf({ config, written }: LoadedConfig): OrderRules {
  const { orders, updates, service } = config;
  const account = accountOf({ service });
  const { timezone, timeouts } = service;
  return compileOrderRules({ ...orders, account, timezone, requestMs: timeouts.total, updates, written });
}

/** The feeds that are switched on, in the order in which a backlog is sent. */
export function feedRulesOf({ config }: LoadedConfig): Map<FeedName, FeedRules> {
  const feeds = FEED_NAMES.flatMap((name) => {
    const feed = config.imports[name];
    return feed.path === null ? [] : [compileFeed(name, { ...feed, path: feed.path })];
  });
  return new Map(linkFeeds(feeds).map((rules) => [rules.name, rules]));
}
