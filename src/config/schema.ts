import * as z from "zod";
import { m } from "../messages/messages.ts";
import { baseUrl, listen, outsideUrl, proxy } from "./addresses.ts";
import { imports } from "./imports.ts";
import {
  bytes,
  decimal,
  duration,
  integer,
  key,
  oneOf,
  place,
  schedule,
  section,
  text,
  worded,
  timezone as zone,
} from "./kinds.ts";
import { mirror } from "./mirror.ts";
import { orders, statuses, updates } from "./orders.ts";

/** Printable ASCII, because it travels in a header; no colon, because Basic authentication ends the id there. */
const CLIENT_ID = /^[!-9;-~]([ -9;-~]*[!-9;-~])?$/;

const clientId = worded(z.string().max(200).regex(CLIENT_ID), m.kinds.clientId, "text");

const service = section(m.keys.service, {
  base_url: key(baseUrl(), m.keys.serviceBaseUrl),
  client_id: key(clientId, m.keys.serviceClientId),
  client_secret: key(worded(z.string().max(4000), m.kinds.text, "secret").optional(), m.keys.serviceClientSecret),
  client_secret_file: key(place(m.kinds.file).optional(), m.keys.serviceClientSecretFile),
  timezone: key(
    zone().prefault("UTC"),
    m.keys.serviceTimezone,
    "The form of the service's times is not shown: if they name no zone, change an order and compare its updated_at with the clock.",
  ),
  requests_per_second: key(
    decimal(0.1, 10_000).prefault(5),
    m.keys.serviceRequestsPerSecond,
    "Limits are not shown: ask the service, or watch for answers 429 in status and lower it.",
  ),
  timeouts: section(m.keys.serviceTimeouts, {
    connect: key(duration("10ms", "5m").prefault("5s"), m.keys.serviceTimeoutsConnect),
    headers: key(duration("10ms", "10m").prefault("15s"), m.keys.serviceTimeoutsHeaders),
    total: key(duration("10ms", "1h").prefault("60s"), m.keys.serviceTimeoutsTotal),
    import: key(duration("10ms", "2h").prefault("120s"), m.keys.serviceTimeoutsImport),
  }),
  proxy: key(proxy().prefault(null), m.keys.serviceProxy),
  ca_file: key(place(m.kinds.file).nullable().prefault(null), m.keys.serviceCaFile),
  answer_bytes_max: key(
    bytes("1KB", "500MB").prefault("256MB"),
    m.keys.serviceAnswerBytesMax,
    "Size limits are not shown: raise it if status names an answer that is too large.",
  ),
  answer_records_max: key(integer(1_000, 2_000_000).prefault(200_000), m.keys.serviceAnswerRecordsMax),
  answer_values_max: key(integer(10_000, 200_000_000).prefault(32_000_000), m.keys.serviceAnswerValuesMax),
});

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

const database = section(m.keys.database, {
  path: key(place(m.kinds.file).prefault("/var/lib/erp-bridge/bridge.db"), m.keys.databasePath),
});

const erp = section(m.keys.erp, {
  read_within: key(duration("1m", "365d").prefault("24h"), m.keys.erpReadWithin),
  write_within: section(m.keys.erpWriteWithin, {
    stocks: within("26h"),
    prices: within(null),
    catalog: within(null),
    images: within(null),
  }),
});

const reconcile = section(m.keys.reconcile, {
  schedule: key(schedule().prefault("29 4 * * *"), m.keys.reconcileSchedule),
  open: key(integer(0, 1_000_000).prefault(5_000), m.keys.reconcileOpen),
  sample: key(integer(0, 1_000_000).prefault(500), m.keys.reconcileSample),
});

const alerts = section(m.keys.alerts, {
  command: key(command.nullable().prefault(null), m.keys.alertsCommand),
  webhook: key(outsideUrl().nullable().prefault(null), m.keys.alertsWebhook),
});

const heartbeat = key(outsideUrl().nullable().prefault(null), m.keys.heartbeat);

const backup = section(m.keys.backup, {
  schedule: key(schedule().prefault("41 2 * * *"), m.keys.backupSchedule),
  dir: key(place(m.kinds.folder).prefault("/var/lib/erp-bridge/backups"), m.keys.backupDir),
  keep: key(integer(1, 3650).prefault(14), m.keys.backupKeep),
  journal: key(place(m.kinds.folder).nullable().prefault(null), m.keys.backupJournal),
});

const retention = section(m.keys.retention, {
  runs: key(duration("1d", "10y").prefault("30d"), m.keys.retentionRuns),
  events: key(duration("1d", "100y").prefault("2y"), m.keys.retentionEvents),
  batches: key(duration("30d", "100y").prefault("1y"), m.keys.retentionBatches),
  status_requests: key(duration("30d", "100y").prefault("1y"), m.keys.retentionStatusRequests),
});

const http = section(m.keys.http, { listen: key(listen().prefault("127.0.0.1:9469"), m.keys.httpListen) });

const log = section(m.keys.log, {
  level: key(oneOf(["debug", "info", "warn", "error"]).prefault("info"), m.keys.logLevel),
});

const timezone = key(zone().nullable().prefault(null), m.keys.timezone);

const language = key(oneOf(["en", "ru"]).prefault("en"), m.keys.language);

/**
 * The whole file: every key with its default, limits and meaning. The messages, the reference and the example are made
 * from it.
 */
export const configSchema = z.strictObject({
  service,
  database,
  orders,
  updates,
  statuses,
  imports,
  reconcile,
  erp,
  alerts,
  heartbeat,
  backup,
  retention,
  mirror,
  http,
  log,
  timezone,
  language,
});

type Parsed = z.output<typeof configSchema>;

/**
 * The effective configuration, with the file's key names: durations in milliseconds, sizes in bytes, paths absolute,
 * the secret resolved.
 */
export type Config = Omit<Parsed, "service" | "mirror"> & {
  mirror: Omit<Parsed["mirror"], "url" | "url_file"> & {
    /** Null where there is no mirror, or this process may not read its address. */
    url: string | null;
    /** The file that the address was read from; null where it is inline. */
    url_file: string | null;
  };
  service: Omit<Parsed["service"], "client_secret" | "client_secret_file"> & {
    client_secret: string;
    /** The file that the secret was read from; null where it is inline. */
    client_secret_file: string | null;
  };
};
