import { coveredLosses, giveUpLost } from "../batches/delivery-rows.ts";
import { acceptMetadata, listContradictions } from "../completeness/check-completeness.ts";
import { FEED_NAMES } from "../config/feed-names.ts";
import type { LoadedConfig } from "../config/load.ts";
import { listConfirms, settleConfirms } from "../confirm/settle-confirms.ts";
import { type Switched, switchAccount } from "../daemon/switch-account.ts";
import type { Store } from "../database/store.ts";
import { FEED_IDS } from "../feeds/feed.ts";
import { clearSetAside } from "../feeds/send/refused-rows.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { acceptForms, listUnaccepted } from "../pass/accept-forms.ts";
import {
  commandToLift,
  factsOf,
  HOLD_REASONS,
  type HoldReason,
  isHoldReason,
  isOfFlowOrArea,
  planLift,
} from "../pass/hold-reasons.ts";
import { deleteHold, loadHoldsOf } from "../pass/hold-rows.ts";
import { AREA_FLOWS, type JobName } from "../pass/job-names.ts";
import { type Covered, mayDecide } from "../pass/shown.ts";
import { systemClock } from "../platform/clock.ts";
import { EXIT } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { coveredObservations, dismissObservations } from "../probe/observations.ts";
import { ENDPOINT } from "../service/outcome/answer-form.ts";
import type { Area } from "../service/service-error.ts";
import { acceptNewForms, hasNewForms } from "../statuses/status-rows.ts";
import { askDaemon } from "./ask-daemon.ts";
import { asTyped } from "./call.ts";
import { type Command, load, unknownWord } from "./command.ts";
import { openExisting } from "./open-existing.ts";
import { isSwitchedOn, switchedOff } from "./switched-off.ts";
import { jsonLine } from "./terminal.ts";

/**
 * What can be resumed, and the jobs that then have work. `account` accepts another address or client id; `observations`
 * marks what was noticed about the service as read, `confirms` what a person has compared with the site as settled.
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
  confirms: [],
};

/** Resuming these also accepts new forms of answers about statuses. */
const OF_STATUSES: ReadonlySet<string> = new Set(["statuses", "orders"]);

const ROWS_PER_STATEMENT = 1_000;

/** Lifts holds after a person has removed their cause; which ones, {@link planLift} decides. */
export const resume: Command<{ area: string; hold: string | undefined }> = async (call, { area, hold }) => {
  const jobs = Object.hasOwn(AREAS, area) ? AREAS[area] : undefined;
  if (jobs === undefined) throw unknownWord(m.command.areaOrFeed, area, Object.keys(AREAS));
  if (hold !== undefined && !isHoldReason(hold)) throw unknownWord(m.command.hold, hold, HOLD_REASONS);
  const loaded = await load(call);
  const enabled = jobs.filter((job) => isSwitchedOn(job, loaded));
  if (jobs.length > 0 && enabled.length === 0) throw switchedOff(area);
  using store = openExisting(loaded);
  const { lifted, left, switched, unseen, effects = [] } = store.write(() => lift(store, { area, hold }, loaded));
  const asked = lifted.length > 0 && askDaemon(store, enabled);
  const waiting = left.map((reason) => {
    const command = reason === area ? `erp-bridge resume ${area}` : commandToLift(area, reason);
    return { reason, command: asTyped(command, call), ...(reason === left.at(-1) && unseen && { unseen }) };
  });
  const outcome = { area, hold, lifted, asked, waiting, switched, effects };
  if (call.json) call.terminal.out(jsonLine({ area, lifted, asked, left: waiting, ...(switched && { switched }) }));
  else for (const line of describe(outcome)) call.terminal.out(line);
  return left.length === 0 ? EXIT.ok : EXIT.attention;
};

interface Waiting {
  reason: string;
  command: string;
  unseen?: readonly string[];
}

interface Outcome {
  area: string;
  hold: string | undefined;
  lifted: readonly string[];
  asked: boolean;
  waiting: readonly Waiting[];
  switched: Switched | undefined;
  effects: readonly Message[];
}

function describe({ area, hold, lifted, asked, waiting, switched, effects }: Outcome): Message[] {
  const stays = waiting.map((one) => describeWaiting(area, one));
  if (lifted.length === 0 && stays.length > 0) return stays;
  if (lifted.length === 0)
    return [hold === undefined ? m.command.nothingHeld({ area }) : m.command.noHold({ area, hold })];
  if (area === "observations") return [m.command.observationsRead({ names: lifted })];
  if (area === "confirms") return [m.command.confirmsSettled({ names: lifted })];
  const reasons = lifted;
  const account = switched === undefined ? [] : describeSwitch(switched);
  const goesOn = asked ? m.command.triedNow({ area, reasons }) : m.command.goesOn({ area, reasons });
  return [...effects, goesOn, ...stays, ...account];
}

function describeWaiting(area: string, { reason, command, unseen }: Waiting): Message {
  if (unseen !== undefined && reason === "observations") return m.command.moreNoticed({ names: unseen, command });
  if (unseen !== undefined && reason === "confirms") return m.command.moreConfirms({ names: unseen, command });
  if (unseen !== undefined && reason === "answer") return m.command.moreForms({ area, items: unseen, command });
  if (unseen !== undefined) return m.command.lostSince({ area, at: unseen.join(", "), command });
  const { ends } = factsOf(reason);
  if (typeof ends === "string") return m.command.guardWaits({ area, command });
  return m.command.holdStays({ area, reason, states: ends(), command });
}

/** What the next start does, because the new address may be another installation of the service. */
function describeSwitch({ formerUrl, formerId, position, reads, unconfirmed, confirmedNow }: Switched): Message[] {
  return [
    m.command.nothingAccepted({ url: formerUrl, id: formerId }),
    ...(unconfirmed === 0 ? [] : [m.command.leftUnconfirmed({ batches: unconfirmed, url: formerUrl })]),
    ...(confirmedNow === 0 ? [] : [m.command.confirmedNow({ batches: confirmedNow })]),
    ...(position === undefined ? [] : [m.command.changesFrom({ position })]),
    ...(reads === 0 ? [] : [m.command.readAgain({ orders: reads })]),
    m.command.comparedAtStart,
    m.command.reloadForAccount,
  ];
}

/** Endpoints whose new forms of answers are accepted with the area. */
function endpointsOf(area: string, { config: { imports, statuses } }: LoadedConfig): string[] {
  const status = statuses.path === null ? [] : [ENDPOINT.status({ method: statuses.method, path: statuses.path })];
  if (area === "statuses") return status;
  if (area === "orders") return [ENDPOINT.confirm, ...status];
  return FEED_NAMES.flatMap((feed) => {
    const { path } = imports[feed];
    return path !== null && (area === "imports" || area === feed) ? [ENDPOINT.import(path)] : [];
  });
}

interface Lift {
  lifted: string[];
  left: string[];
  switched?: Switched | undefined;
  /** Why the one that is left stays: what nobody may have been shown. */
  unseen?: readonly string[];
  /** What was accepted or given up with the hold. */
  effects?: readonly Message[];
}

function lift(store: Store, { area, hold }: { area: string; hold: string | undefined }, loaded: LoadedConfig): Lift {
  if (area === "account" || area === "observations" || area === "confirms") {
    const isMeant = hold === undefined || hold === area;
    if (!isMeant) return { lifted: [], left: [] };
    if (area === "confirms") return settle(store);
    if (area === "observations") return dismiss(store);
    return { lifted: ["account"], left: [], switched: switchAccount(store, loaded, systemClock.nowMs()) };
  }
  const endpoints = endpointsOf(area, loaded);
  const { lifted, left } = planLift(standingReasons(store, area, endpoints), hold);
  const effects: Message[] = [];
  for (const reason of lifted) {
    const { covered, names } = coveredBy(store, { area, reason }, endpoints);
    if (!mayDecide(store, `${area} ${reason}`, covered)) return { lifted: [], left: [...left, reason], unseen: names };
    deleteHold(store, area, reason);
    if (isOfFlowOrArea(reason)) for (const flow of flowsOf(area)) deleteHold(store, flow, reason);
    // The person gives up the batches whose answers were lost, so that confirms continue.
    const lost = reason === "hand-out lost" ? giveUpLost(store) : undefined;
    if (lost !== undefined) effects.push(m.command.givenUp({ area, ...lost }));
    // The person has read the answer and declares it an acceptance.
    if (reason === "answer") {
      if (names.length > 0) effects.push(m.command.usualNow({ area, items: names }));
      acceptForms(store, endpoints);
      if (OF_STATUSES.has(area)) acceptNewForms(store, isoTime(Date.now()));
      acceptMetadata(store, area);
    }
  }
  for (const feed of FEED_NAMES) {
    if (area !== "imports" && area !== feed) continue;
    while (clearSetAside(store, FEED_IDS[feed], ROWS_PER_STATEMENT) > 0);
  }
  return { lifted, left, effects };
}

function settle(store: Store): Lift {
  const names = listConfirms(store);
  const covered = { what: names.join("\n"), isShown: names.length <= 1 };
  if (!mayDecide(store, "confirms", covered)) return { lifted: [], left: ["confirms"], unseen: names };
  settleConfirms(store, isoTime(systemClock.nowMs()));
  return { lifted: names, left: [] };
}

function dismiss(store: Store): Lift {
  const { names, ...covered } = coveredObservations(store);
  if (!mayDecide(store, "observations", covered)) return { lifted: [], left: ["observations"], unseen: names };
  return { lifted: dismissObservations(store), left: [] };
}

/** What a person decides about by lifting the hold. Of several answers only the last one is shown. */
function coveredBy(
  store: Store,
  { area, reason }: { area: string; reason: HoldReason },
  endpoints: readonly string[],
): { covered: Covered; names: string[] } {
  if (reason === "answer") {
    const names = [...listUnaccepted(store, endpoints), ...listContradictions(store, area)];
    return { covered: { what: names.join("\n"), isShown: names.length <= 1 }, names };
  }
  if (reason !== "hand-out lost") return { covered: { what: "", isShown: true }, names: [] };
  const since = loadHoldsOf(store, area).find((hold) => hold.reason === reason)?.since;
  const covered = coveredLosses(store, since);
  return { covered, names: [covered.what] };
}

function standingReasons(store: Store, area: string, endpoints: readonly string[]): HoldReason[] {
  const own = loadHoldsOf(store, area).map(({ reason }) => reason);
  // A person need not know whether a refusal holds the whole area or its flows one by one.
  const ofFlows = flowsOf(area)
    .flatMap((flow) => loadHoldsOf(store, flow))
    .flatMap(({ reason }) => (isOfFlowOrArea(reason) ? [reason] : []));
  const answered: HoldReason[] =
    listUnaccepted(store, endpoints).length > 0 ||
    listContradictions(store, area).length > 0 ||
    (OF_STATUSES.has(area) && hasNewForms(store))
      ? ["answer"]
      : [];
  return [...new Set([...own, ...ofFlows, ...answered])];
}

function flowsOf(area: string): readonly JobName[] {
  return AREA_FLOWS[area as Area] ?? [];
}
