import type { en } from "./en.ts";
import { common } from "./ru/common.ts";
import { config } from "./ru/config.ts";
import { daemon } from "./ru/daemon.ts";

/** The same in Russian: a text that is missing, or that English does not have, is an error of the compiler. */
export const ru = { common, config, daemon } satisfies typeof en;
