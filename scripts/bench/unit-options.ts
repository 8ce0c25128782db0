/* Node's options with which systemd starts the daemon: what is measured is what a shop runs. */
import { readFileSync } from "node:fs";

const unit = readFileSync(new URL("../../systemd/erp-bridge.service", import.meta.url), "utf8");
const [, options] = /^ExecStart=\S+ \S+\/node ((?:--\S+ )+)/m.exec(unit) ?? [];
if (options === undefined) throw new Error("the unit's ExecStart has no options of Node's");

export const UNIT_OPTIONS: readonly string[] = options.trim().split(" ");
