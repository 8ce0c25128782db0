import * as z from "zod";
import { listen, outsideUrl } from "./addresses.ts";
import { duration, integer, key, oneOf, place, schedule, section, text, worded } from "./kinds.ts";

/** Everything that concerns neither the service nor the data: the ERP's silence, alerts, backups, the program itself. */

function within(standard: string | null) {
  return key(
    duration("1m", "365d").nullable().prefault(standard),
    "The table must be written at least once in this time; null: its silence is no trouble.",
  );
}

const command = worded(
  z
    .union([text(1000), z.array(text(1000)).min(1).max(50)])
    .transform((value) => (typeof value === "string" ? [value] : value)),
  "a program, or a list of a program and its arguments",
  "command",
);

export const database = section("Where everything is kept.", {
  path: key(place("a file").prefault("/var/lib/erp-bridge/bridge.db"), "The SQLite file, relative to this file."),
});

export const erp = section("When the ERP's silence is worth attention.", {
  read_within: key(duration("1m", "365d").prefault("24h"), "Waiting orders must be taken within this time."),
  write_within: section("How often the ERP writes its tables.", {
    stocks: within("26h"),
    prices: within(null),
    catalog: within(null),
    images: within(null),
  }),
});

export const reconcile = section("A look at stored orders for differences that no change has told of.", {
  schedule: key(schedule().prefault("29 4 * * *"), "When stored orders are compared with the service (cron, UTC)."),
  open: key(
    integer(0, 1_000_000).prefault(5_000),
    "At most so many orders that are still open are read each time; the rest follows the next time.",
  ),
  sample: key(integer(0, 1_000_000).prefault(500), "So many of the other orders are read each time, in turn."),
});

export const alerts = section("Who is told when something needs attention.", {
  command: key(
    command.nullable().prefault(null),
    "Program that is started, without a shell: its path, or a list of path and arguments; null: none.",
  ),
  webhook: key(outsideUrl().nullable().prefault(null), "Address that receives a POST; null: none."),
});

export const heartbeat = key(
  outsideUrl().nullable().prefault(null),
  "Address that is called only while everything is fresh, so that silence raises an alarm elsewhere; null: none.",
);

export const backup = section("Copies of the database.", {
  schedule: key(schedule().prefault("41 2 * * *"), "When a copy is made (cron, UTC)."),
  dir: key(
    place("a folder").prefault("/var/lib/erp-bridge/backups"),
    "Folder of the copies, relative to this file; unless set, backups beside the database.",
  ),
  keep: key(integer(1, 3650).prefault(14), "How many copies stay."),
  journal: key(
    place("a folder").nullable().prefault(null),
    "Folder, best on another disk, where each batch is also kept before its confirm, for restore; null: none.",
  ),
});

export const retention = section("How long history stays. Orders and what waits are never removed.", {
  runs: key(duration("1d", "10y").prefault("30d"), "Rows of runs."),
  events: key(duration("1d", "100y").prefault("2y"), "Rows of order_events."),
  batches: key(duration("30d", "100y").prefault("1y"), "Rows of batches that are confirmed."),
  status_requests: key(duration("30d", "100y").prefault("1y"), "Rows of status_requests that were sent."),
});

export const http = section("Health, metrics and the status page, for this machine alone.", {
  listen: key(
    listen().prefault("127.0.0.1:9469"),
    "Loopback address and port, or off; a taken port never stops orders and is tried again.",
  ),
});

export const log = section("What the program tells.", {
  level: key(
    oneOf(["debug", "info", "warn", "error"]).prefault("info"),
    "The least important messages that are written.",
  ),
});

export const language = key(
  oneOf(["en", "ru"]).prefault("en"),
  "Language of messages, the log, alerts and the status page; unless written, that of the locale (LC_ALL, LC_MESSAGES, LANG).",
);
