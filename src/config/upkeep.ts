import * as z from "zod";
import { m } from "../messages/messages.ts";
import { listen, outsideUrl } from "./addresses.ts";
import { duration, integer, key, oneOf, place, schedule, section, text, worded, timezone as zone } from "./kinds.ts";

/** Everything that concerns neither the service nor the data: the ERP's silence, alerts, backups, the program itself. */

function within(standard: string | null) {
  return key(duration("1m", "365d").nullable().prefault(standard), m.keys.erpWriteWithinStocks);
}

const command = worded(
  z
    .union([text(1000), z.array(text(1000)).min(1).max(50)])
    .transform((value) => (typeof value === "string" ? [value] : value)),
  m.kinds.command,
  "command",
);

export const database = section(m.keys.database, {
  path: key(place(m.kinds.file).prefault("/var/lib/erp-bridge/bridge.db"), m.keys.databasePath),
});

export const erp = section(m.keys.erp, {
  read_within: key(duration("1m", "365d").prefault("24h"), m.keys.erpReadWithin),
  write_within: section(m.keys.erpWriteWithin, {
    stocks: within("26h"),
    prices: within(null),
    catalog: within(null),
    images: within(null),
  }),
});

export const reconcile = section(m.keys.reconcile, {
  schedule: key(schedule().prefault("29 4 * * *"), m.keys.reconcileSchedule),
  open: key(integer(0, 1_000_000).prefault(5_000), m.keys.reconcileOpen),
  sample: key(integer(0, 1_000_000).prefault(500), m.keys.reconcileSample),
});

export const alerts = section(m.keys.alerts, {
  command: key(command.nullable().prefault(null), m.keys.alertsCommand),
  webhook: key(outsideUrl().nullable().prefault(null), m.keys.alertsWebhook),
});

export const heartbeat = key(outsideUrl().nullable().prefault(null), m.keys.heartbeat);

export const backup = section(m.keys.backup, {
  schedule: key(schedule().prefault("41 2 * * *"), m.keys.backupSchedule),
  dir: key(place(m.kinds.folder).prefault("/var/lib/erp-bridge/backups"), m.keys.backupDir),
  keep: key(integer(1, 3650).prefault(14), m.keys.backupKeep),
  journal: key(place(m.kinds.folder).nullable().prefault(null), m.keys.backupJournal),
});

export const retention = section(m.keys.retention, {
  runs: key(duration("1d", "10y").prefault("30d"), m.keys.retentionRuns),
  events: key(duration("1d", "100y").prefault("2y"), m.keys.retentionEvents),
  batches: key(duration("30d", "100y").prefault("1y"), m.keys.retentionBatches),
  status_requests: key(duration("30d", "100y").prefault("1y"), m.keys.retentionStatusRequests),
});

export const http = section(m.keys.http, {
  listen: key(listen().prefault("127.0.0.1:9469"), m.keys.httpListen),
});

export const log = section(m.keys.log, {
  level: key(oneOf(["debug", "info", "warn", "error"]).prefault("info"), m.keys.logLevel),
});

export const timezone = key(zone().nullable().prefault(null), m.keys.timezone);

export const language = key(oneOf(["en", "ru"]).prefault("en"), m.keys.language);
