import { alerts } from "./russian/alerts.ts";
import { commands } from "./russian/commands.ts";
import { composed } from "./russian/composed.ts";
import { config } from "./russian/config.ts";
import { faults } from "./russian/faults.ts";
import { images } from "./russian/images.ts";
import { jobs } from "./russian/jobs.ts";
import { meanings } from "./russian/meanings.ts";
import { probe } from "./russian/probe.ts";
import { progress } from "./russian/progress.ts";
import { service } from "./russian/service.ts";

/** Every message that a source of the program holds. */
export const RUSSIAN_MESSAGES = {
  alerts,
  commands,
  config,
  faults,
  images,
  jobs,
  meanings,
  probe,
  progress,
  service,
};

/** What comes together only while the program runs. */
export const RUSSIAN_PARTS = { composed };

export const RUSSIAN = [...Object.values(RUSSIAN_MESSAGES), ...Object.values(RUSSIAN_PARTS)];
