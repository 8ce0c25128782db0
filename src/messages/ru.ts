import type { en } from "./en.ts";
import { answers } from "./ru/answers.ts";
import { backup, restore } from "./ru/backup.ts";
import { check, command, init, progress, sync } from "./ru/cli.ts";
import { common, counts } from "./ru/common.ts";
import { config, questions } from "./ru/config.ts";
import { daemon } from "./ru/daemon.ts";
import { database } from "./ru/database.ts";
import { feeds } from "./ru/feeds.ts";
import { health, status } from "./ru/health.ts";
import { help } from "./ru/help.ts";
import { keys, kinds } from "./ru/keys.ts";
import { mirror } from "./ru/mirror.ts";
import { orders, remap, story } from "./ru/orders.ts";
import { pass } from "./ru/pass.ts";
import { platform } from "./ru/platform.ts";
import { probe } from "./ru/probe.ts";
import { quarantine } from "./ru/quarantine.ts";
import { service } from "./ru/service.ts";
import { statuses } from "./ru/statuses.ts";
import { reconcile, updates } from "./ru/updates.ts";
import { web } from "./ru/web.ts";

/** All texts in Russian. The compiler reports texts that are missing here or in English. */
export const ru = {
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
} satisfies typeof en;
