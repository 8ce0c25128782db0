import { accountOf } from "../account.ts";
import type { LoadedConfig } from "../config/load.ts";
import { openDatabase } from "../daemon.ts";
import { BridgeError, EXIT } from "../domain/errors.ts";
import { FEED_NAMES } from "../domain/feed.ts";
import type { JobName } from "../domain/job-names.ts";
import { jsonLine } from "../platform/terminal.ts";
import { clearPullMark } from "../store/batches.ts";
import { deleteHoldsOf, loadHoldsOf } from "../store/holds.ts";
import { saveMeta } from "../store/meta.ts";
import type { Store } from "../store/store.ts";
import { askDaemon } from "./ask-daemon.ts";
import { type Command, load, requireDatabase } from "./command.ts";

/** What can be resumed, and the jobs that then have work. `account` accepts another address or client id. */
const AREAS: Record<string, readonly JobName[]> = {
  orders: ["orders", "updates"],
  updates: ["updates"],
  statuses: ["statuses"],
  imports: FEED_NAMES,
  ...Object.fromEntries(FEED_NAMES.map((name) => [name, [name]])),
  account: [],
};

/** Lifts a hold after its cause was put right. */
export const resume: Command<{ area: string }> = (call, { area }) => {
  const loaded = load(call);
  const jobs = AREAS[area];
  if (jobs === undefined || !Object.hasOwn(AREAS, area)) {
    throw new BridgeError("usage", `There is nothing called ${area} to resume.`, {
      hint: `Known: ${Object.keys(AREAS).join(", ")}`,
    });
  }
  requireDatabase(loaded);
  const store = openDatabase(loaded, "command");
  try {
    const lifted = store.write(() => lift(store, area, loaded));
    const enabled = jobs.filter(
      (job) => !(job in loaded.config.imports) || loaded.config.imports[job as "stocks"].path !== null,
    );
    const asked =
      lifted.length > 0 &&
      askDaemon(
        store,
        enabled.filter((job) => job !== "statuses"),
      );
    if (call.json) call.terminal.out(jsonLine({ area, lifted, asked }));
    else if (lifted.length === 0) call.terminal.out(`${area}: nothing was held.`);
    else call.terminal.out(`${area}: goes on (${lifted.join(", ")})${asked ? "; the daemon tries now." : "."}`);
    return EXIT.ok;
  } finally {
    store.close();
  }
};

/** The reasons that were lifted. */
function lift(store: Store, area: string, { config }: LoadedConfig): string[] {
  if (area === "account") {
    saveMeta(store, "account", accountOf(config));
    return ["account"];
  }
  const reasons = loadHoldsOf(store, area).map(({ reason }) => reason);
  deleteHoldsOf(store, area);
  // Somebody has looked: the batch whose answer was lost is given up, and confirms may go on.
  if (reasons.includes("hand-out lost")) clearPullMark(store);
  return reasons;
}
