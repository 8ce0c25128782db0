import type { LoadedConfig } from "./config/load.ts";
import { compileFeed, FEED_NAMES } from "./domain/feed.ts";
import { compileOrderRules } from "./domain/order-rules.ts";
import { FollowUpdates } from "./jobs/follow-updates.ts";
import { HoldGate } from "./jobs/gate.ts";
import type { Job, JobContext } from "./jobs/job.ts";
import { PullOrders } from "./jobs/pull-orders.ts";
import { PushImports } from "./jobs/push-imports.ts";
import { ReadOrders } from "./jobs/read-orders.ts";
import { RunReporter } from "./jobs/report-run.ts";
import { type RunResult, runJob } from "./jobs/run-job.ts";
import { JobRunner } from "./scheduler/job-runner.ts";
import type { ScheduleEntry } from "./scheduler/scheduler.ts";

/** Builds every job that the configuration switches on, and says when each runs. */
export function buildJobs(
  context: JobContext,
  options: { loaded: LoadedConfig; onResult?: (job: string, result: RunResult) => void },
): ScheduleEntry[] {
  const { config, written } = options.loaded;
  const { orders, updates, service } = config;
  const gate = new HoldGate(context);
  const reporter = new RunReporter(context.log, context.client.hideSecrets);
  const runnerOf = (job: Job) =>
    new JobRunner({
      name: job.name,
      clock: context.clock,
      isStopping: context.isStopping,
      run: (signal) => runJob(job, context, gate, signal),
      onResult: (result) => {
        reporter.report(job.name, result);
        options.onResult?.(job.name, result);
      },
    });

  const rules = compileOrderRules({ ...orders, timezone: service.timezone, updates, written });
  const pull = runnerOf(new PullOrders(context, { rules, query: Object.entries(orders.query) }));
  const readOrders = new ReadOrders(context, rules);
  const follow = { since: updates.since, timezone: service.timezone, overlapMs: updates.overlap };
  const followJob = new FollowUpdates(context, { rules, follow, sweepOverlapMs: updates.sweep.overlap }, readOrders);
  const followRunner = runnerOf(followJob);
  const entries: ScheduleEntry[] = [
    { pattern: orders.schedule, runner: pull },
    { pattern: updates.schedule, runner: followRunner },
    { pattern: updates.sweep.schedule, runner: followRunner, before: async () => followJob.requestSweep() },
  ];
  for (const name of FEED_NAMES) {
    const feed = config.imports[name];
    if (feed.path === null) continue;
    const feedRules = compileFeed(name, { ...feed, path: feed.path });
    const job = new PushImports(context, { rules: feedRules, timeoutMs: service.timeouts.import });
    const runner = runnerOf(job);
    entries.push({ pattern: feed.schedule, runner });
    entries.push({
      pattern: feed.compare,
      runner,
      before: (signal) => job.requestCompare("the nightly comparison", signal),
    });
  }
  return entries;
}
