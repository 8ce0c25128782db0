import { answers } from "./en/answers.ts";
import { backup, restore } from "./en/backup.ts";
import { check, command, init, progress, sync } from "./en/cli.ts";
import { common, counts } from "./en/common.ts";
import { config, questions } from "./en/config.ts";
import { daemon } from "./en/daemon.ts";
import { database } from "./en/database.ts";
import { feeds } from "./en/feeds.ts";
import { health, status } from "./en/health.ts";
import { help } from "./en/help.ts";
import { keys, kinds } from "./en/keys.ts";
import { mirror } from "./en/mirror.ts";
import { orders, remap, story } from "./en/orders.ts";
import { pass } from "./en/pass.ts";
import { platform } from "./en/platform.ts";
import { probe } from "./en/probe.ts";
import { quarantine } from "./en/quarantine.ts";
import { service } from "./en/service.ts";
import { statuses } from "./en/statuses.ts";
import { reconcile, updates } from "./en/updates.ts";
import { web } from "./en/web.ts";

/** All user-visible texts by area, in English. A file has the areas of one room. */
export const en = {
  answers,
  backup,
  check,
  command,
  common,
  config,
  counts,
  daemon,
  database,
  feeds,
  health,
  help,
  init,
  keys,
  kinds,
  mirror,
  orders,
  pass,
  platform,
  probe,
  progress,
  quarantine,
  questions,
  reconcile,
  remap,
  restore,
  service,
  status,
  statuses,
  story,
  sync,
  updates,
  web,
};
