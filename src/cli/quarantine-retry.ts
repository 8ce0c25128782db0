import type { LoadedConfig } from "../config/load.ts";
import { refuseOtherAccount } from "../daemon/account.ts";
import { type Retried, retryRecords } from "../daemon/repair.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { loadHeldAfter, loadQuarantined, loadUnreadBatches, markUnreadUntried } from "../pass/held-rows.ts";
import type { JobName } from "../pass/job-names.ts";
import { systemClock } from "../platform/clock.ts";
import { BridgeError, EXIT } from "../platform/errors.ts";
import { askDaemon } from "./ask-daemon.ts";
import { type Call, load } from "./command.ts";
import { openExisting } from "./open-existing.ts";
import { type LongCall, withProgress } from "./progress.ts";
import { parseName, recordOf, shownReason, unknownRecord } from "./quarantine.ts";
import { jsonLine } from "./terminal.ts";

const RECORDS_PER_COMMIT = 100;
const BATCHES_MAX = 1_000;

/**
 * Reads quarantined records again with the present mapping, and marks rows of feeds and unread batches to be tried
 * again.
 */
export const quarantineRetry = withProgress<{ names: readonly string[]; all?: boolean }>(
  async (call, { names, all = false }) => {
    if (all === names.length > 0) {
      throw new BridgeError("usage", m.quarantine.nameRecords, { hint: m.quarantine.seeList });
    }
    const loaded = await load(call);
    using store = openExisting(loaded);
    refuseOtherAccount(store, loaded);
    const named = names.map(parseName);
    for (const each of named) {
      if (each.kind === "record" && loadQuarantined(store, each.id) === undefined) throw unknownRecord(each);
    }
    const ids = all ? heldIds(store) : named.filter(({ kind }) => kind === "record").map(({ id }) => id);
    const batchIds = all
      ? loadUnreadBatches(store, BATCHES_MAX).map(({ id }) => id)
      : named.filter(({ kind }) => kind === "batch").map(({ id }) => id);
    const retried = retryInParts(call, store, loaded, ids);
    const batches = store.write(() => batchIds.filter((id) => markUnreadUntried(store, id)));
    const jobs = new Set<JobName>(retried.flatMap(({ job }) => job ?? []));
    if (batches.length > 0) jobs.add("orders");
    const asked = askDaemon(store, [...jobs]);
    report(call, { retried, batches, asked, jobs: [...jobs] });
    return retried.some(({ outcome }) => outcome === "held") ? EXIT.attention : EXIT.ok;
  },
);

function heldIds(store: Store): number[] {
  const ids: number[] = [];
  for (;;) {
    const rows = loadHeldAfter(store, ids.at(-1) ?? 0, RECORDS_PER_COMMIT);
    if (rows.length === 0) return ids;
    ids.push(...rows.map(({ id }) => id));
  }
}

function retryInParts({ progress }: LongCall, store: Store, loaded: LoadedConfig, ids: readonly number[]): Retried[] {
  const retried: Retried[] = [];
  for (let from = 0; from < ids.length; from += RECORDS_PER_COMMIT) {
    const part = ids.slice(from, from + RECORDS_PER_COMMIT);
    retried.push(...store.write(() => retryRecords(store, loaded, part, systemClock)));
    progress.show({ what: "quarantine retry", unit: "records", done: retried.length, total: ids.length });
  }
  progress.end();
  return retried;
}

const OUTCOMES = {
  held: m.quarantine.stillHeld,
  released: m.quarantine.released,
  waiting: m.quarantine.waiting,
} satisfies Record<Retried["outcome"], unknown>;

function report(
  { json, terminal }: Call,
  done: { retried: readonly Retried[]; batches: readonly number[]; asked: boolean; jobs: readonly JobName[] },
): void {
  const { retried, batches, asked, jobs } = done;
  if (json) {
    terminal.out(jsonLine({ records: retried, batches, asked }));
    return;
  }
  if (retried.length + batches.length === 0) terminal.out(m.quarantine.empty);
  for (const one of retried) {
    const [id, record, outcome] = [one.id, recordOf(one), OUTCOMES[one.outcome]];
    if (one.reason === null) terminal.out(m.quarantine.retried({ id, record, outcome }));
    else terminal.out(m.quarantine.retriedBecause({ id, record, outcome, reason: shownReason(one.reason) }));
  }
  for (const id of batches) terminal.out(m.quarantine.batchAgain({ id }));
  if (jobs.length === 0) return;
  terminal.out(asked ? m.quarantine.daemonDoesRest : m.quarantine.restDoneBy({ jobs }));
}
