import { check } from "./en/check.ts";
import { common } from "./en/common.ts";
import { config } from "./en/config.ts";
import { daemon } from "./en/daemon.ts";
import { help } from "./en/help.ts";
import { init } from "./en/init.ts";
import { keys } from "./en/keys.ts";
import { kinds } from "./en/kinds.ts";
import { probe } from "./en/probe.ts";
import { progress } from "./en/progress.ts";
import { questions } from "./en/questions.ts";
import { restore } from "./en/restore.ts";
import { web } from "./en/web.ts";

/** Every text that a person reads, by area, in English. */
export const en = { check, common, config, daemon, help, init, keys, kinds, probe, progress, questions, restore, web };
