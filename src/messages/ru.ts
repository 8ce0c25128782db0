import type { en } from "./en.ts";
import { answers } from "./ru/answers.ts";
import { backup } from "./ru/backup.ts";
import { check } from "./ru/check.ts";
import { command } from "./ru/command.ts";
import { common } from "./ru/common.ts";
import { config } from "./ru/config.ts";
import { counts } from "./ru/counts.ts";
import { daemon } from "./ru/daemon.ts";
import { database } from "./ru/database.ts";
import { feeds } from "./ru/feeds.ts";
import { health } from "./ru/health.ts";
import { help } from "./ru/help.ts";
import { init } from "./ru/init.ts";
import { keys } from "./ru/keys.ts";
import { kinds } from "./ru/kinds.ts";
import { mirror } from "./ru/mirror.ts";
import { orders } from "./ru/orders.ts";
import { pass } from "./ru/pass.ts";
import { platform } from "./ru/platform.ts";
import { probe } from "./ru/probe.ts";
import { progress } from "./ru/progress.ts";
import { quarantine } from "./ru/quarantine.ts";
import { questions } from "./ru/questions.ts";
import { reconcile } from "./ru/reconcile.ts";
import { remap } from "./ru/remap.ts";
import { restore } from "./ru/restore.ts";
import { service } from "./ru/service.ts";
import { status } from "./ru/status.ts";
import { statuses } from "./ru/statuses.ts";
import { story } from "./ru/story.ts";
import { sync } from "./ru/sync.ts";
import { updates } from "./ru/updates.ts";
import { web } from "./ru/web.ts";

/** The same in Russian: a text that is missing, or that English does not have, is an error of the compiler. */
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
