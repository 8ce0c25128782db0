import { FEED_NAMES } from "../config/feed-names.ts";
import type { LoadedConfig } from "../config/load.ts";
import { accountOf } from "../daemon/account.ts";
import { saveMeta } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { FEED_IDS } from "../feeds/feed.ts";
import { clearSetAside } from "../feeds/feed-outbox.ts";
import { clearPullMark } from "../orders/batch-rows.ts";
import { acceptSigns, forgetSigns } from "../orders/watch-list.ts";
import { acceptForms, forgetForms } from "../pass/answer-form-rows.ts";
import { deleteHold, loadHoldsOf } from "../pass/hold-rows.ts";
import { AREA_FLOWS, type JobName } from "../pass/job-names.ts";
import { openDatabase } from "../pass/open-database.ts";
import { EXIT } from "../platform/errors.ts";
import { dismissObservations } from "../probe/observations.ts";
import { ENDPOINT } from "../service/answer-form.ts";
import type { Area } from "../service/service-error.ts";
import { askDaemon } from "./ask-daemon.ts";
import { type Command, load, requireDatabase, unknownWord } from "./command.ts";
import { jsonLine } from "./terminal.ts";

/**
 * What can be resumed, and the jobs that then have work. `account` accepts another address or client id; `observations`
 * are what `status` says was noticed about the service, and are read.
 */
const AREAS: Record<string, readonly JobName[]> = {
  orders: ["orders", "updates", "statuses"],
  updates: ["updates"],
  statuses: ["statuses"],
  reconcile: ["reconcile"],
  imports: FEED_NAMES,
  ...Object.fromEntries(FEED_NAMES.map((name) => [name, [name]])),
  account: [],
  observations: [],
};

/** Lifts a hold after its cause was put right. */
const ROWS_PER_STATEMENT = 1_000;

export const resume: Command<{ area: string }> = (call, { area }) => {
  const jobs = Object.hasOwn(AREAS, area) ? AREAS[area] : undefined;
  if (jobs === undefined) throw unknownWord("area or feed", area, Object.keys(AREAS));
  const loaded = load(call);
  requireDatabase(loaded);
  const store = openDatabase(loaded, "command");
  try {
    const lifted = store.write(() => lift(store, area, loaded));
    const enabled = jobs.filter((job) => isOn(job, loaded));
    const asked = lifted.length > 0 && askDaemon(store, enabled);
    if (call.json) call.terminal.out(jsonLine({ area, lifted, asked }));
    else if (lifted.length === 0 && loadHoldsOf(store, area).length > 0)
      call.terminal.out(`${area}: the guard waits for approval: erp-bridge approve ${area}`);
    else if (lifted.length === 0) call.terminal.out(`${area}: nothing was held.`);
    else if (area === "observations") call.terminal.out(`observations: not shown any more (${lifted.join(", ")}).`);
    else call.terminal.out(`${area}: goes on (${lifted.join(", ")})${asked ? "; the daemon tries now." : "."}`);
    return EXIT.ok;
  } finally {
    store.close();
  }
};

function isOn(job: JobName, { config }: LoadedConfig): boolean {
  if (job === "statuses") return config.statuses.path !== null;
  return !(job in config.imports) || config.imports[job as "stocks"].path !== null;
}

/** Whose answers in a new form a person accepts with an area. */
function endpointsOf(area: string, { config: { imports, statuses } }: LoadedConfig): string[] {
  const status = statuses.path === null ? [] : [ENDPOINT.status({ method: statuses.method, path: statuses.path })];
  if (area === "statuses") return status;
  if (area === "orders") return [ENDPOINT.confirm, ...status];
  return FEED_NAMES.flatMap((feed) => {
    const { path } = imports[feed];
    return path !== null && (area === "imports" || area === feed) ? [ENDPOINT.import(path)] : [];
  });
}

/** The reasons that were lifted. */
function lift(store: Store, area: string, loaded: LoadedConfig): string[] {
  if (area === "account") {
    saveMeta(store, "account", accountOf(loaded.config));
    forgetForms(store);
    forgetSigns(store);
    return ["account"];
  }
  if (area === "observations") return dismissObservations(store);
  // What the guard holds back goes on with approve alone.
  const reasons = loadHoldsOf(store, area).flatMap(({ reason }) => (reason === "guard" ? [] : [reason]));
  for (const reason of reasons) deleteHold(store, area, reason);
  // Whether a refusal holds an area or its flows one by one is nothing that a person has to look up.
  const flows: readonly JobName[] = AREA_FLOWS[area as Area] ?? [];
  for (const reason of ["credentials", "payment"] as const) {
    const lifted = flows.filter((flow) => deleteHold(store, flow, reason));
    if (lifted.length > 0 && !reasons.includes(reason)) reasons.push(reason);
  }
  // Somebody has looked at what is answered, and says that it is an acceptance.
  if (acceptForms(store, endpointsOf(area, loaded)) && !reasons.includes("answer")) reasons.push("answer");
  if (acceptSigns(store, area) && !reasons.includes("answer")) reasons.push("answer");
  for (const feed of FEED_NAMES) {
    if (area !== "imports" && area !== feed) continue;
    while (clearSetAside(store, FEED_IDS[feed], ROWS_PER_STATEMENT) > 0);
  }
  // Somebody has looked: the batch whose answer was lost is given up, and confirms may go on.
  if (reasons.includes("hand-out lost")) clearPullMark(store);
  return reasons;
}
