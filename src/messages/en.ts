import { answers } from "./en/answers.ts";
import { backup } from "./en/backup.ts";
import { check } from "./en/check.ts";
import { command } from "./en/command.ts";
import { common } from "./en/common.ts";
import { config } from "./en/config.ts";
import { counts } from "./en/counts.ts";
import { daemon } from "./en/daemon.ts";
import { database } from "./en/database.ts";
import { feeds } from "./en/feeds.ts";
import { health } from "./en/health.ts";
import { help } from "./en/help.ts";
import { init } from "./en/init.ts";
import { keys } from "./en/keys.ts";
import { kinds } from "./en/kinds.ts";
import { mirror } from "./en/mirror.ts";
import { orders } from "./en/orders.ts";
import { pass } from "./en/pass.ts";
import { platform } from "./en/platform.ts";
import { probe } from "./en/probe.ts";
import { progress } from "./en/progress.ts";
import { quarantine } from "./en/quarantine.ts";
import { questions } from "./en/questions.ts";
import { reconcile } from "./en/reconcile.ts";
import { remap } from "./en/remap.ts";
import { restore } from "./en/restore.ts";
import { service } from "./en/service.ts";
import { status } from "./en/status.ts";
import { statuses } from "./en/statuses.ts";
import { story } from "./en/story.ts";
import { sync } from "./en/sync.ts";
import { updates } from "./en/updates.ts";
import { web } from "./en/web.ts";

/** Every text that a person reads, by area, in English. */
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
