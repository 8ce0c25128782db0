import { common } from "./en/common.ts";
import { config } from "./en/config.ts";
import { daemon } from "./en/daemon.ts";

/** Every text that a person reads, by area, in English. */
export const en = { common, config, daemon };
