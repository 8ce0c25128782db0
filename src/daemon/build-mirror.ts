import { randomUUID } from "node:crypto";
import os from "node:os";
import type { LoadedConfig } from "../config/load.ts";
import { mirrorRouteOf } from "../config/route.ts";
import { loadMeta } from "../database/meta.ts";
import { refuseFenced } from "../mirror/claim/fenced.ts";
import { Down } from "../mirror/down/down.ts";
import { loadMirrorState } from "../mirror/mirror-state.ts";
import { type MirrorOptions, RunMirror, SILENT_MIN_S } from "../mirror/run-mirror.ts";
import { Up } from "../mirror/up/up.ts";
import type { JobContext } from "../pass/job.ts";
import { machineZone } from "../platform/clock.ts";
import { VERSION } from "../platform/version.ts";
import { accountMark } from "./account.ts";
import { CronTimes } from "./cron-times.ts";

/** Identifies this process in the mirror; stays the same over reloads. */
const WRITER = randomUUID();

const NOWHERE = { host: "", port: 0, user: "", password: undefined, database: "", tls: true };

/**
 * The mirror's job; undefined where none is configured. `sentence`: the shop's present status.
 * @throws Fenced
 */
export function buildMirror(
  context: JobContext,
  { config, mirrorTrouble }: LoadedConfig,
  { sentence, onFenced }: Pick<MirrorOptions, "sentence" | "onFenced">,
): RunMirror | undefined {
  const { shop } = config.mirror;
  const isUnread = mirrorTrouble !== undefined && shop !== null;
  const route = isUnread ? { target: NOWHERE, shop, authorities: [], trouble: mirrorTrouble } : mirrorRouteOf(config);
  if (route === undefined) return undefined;
  const fenced = refuseFenced(context.store, route.shop);
  const { mirror, timezone } = config;
  const intervalMs = new CronTimes(mirror.schedule, timezone ?? machineZone()).longestIntervalMs();
  return new RunMirror(context, {
    link: { ...route, schema: mirror.schema, timeoutMs: mirror.timeout },
    self: {
      shop: route.shop,
      databaseId: loadMeta(context.store, "database") ?? "",
      writer: WRITER,
      host: os.hostname(),
      version: VERSION,
      account: accountMark(config),
    },
    // Up before down: a block by the ERP must not hide a revision that PostgreSQL does not have yet.
    parts: [new Up(config.statuses.map, config.imports.stocks.available), new Down()],
    sentence,
    silentAfterS: Math.max(SILENT_MIN_S, Math.ceil((3 * intervalMs) / 1000)),
    takeoverNo: Number(loadMirrorState(context.store, "takeover_no") ?? 0),
    fenced,
    onFenced,
  });
}
