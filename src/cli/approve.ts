import { FEED_NAMES, type FeedName } from "../config/feed-names.ts";
import { FEED_IDS } from "../feeds/feed.ts";
import { approveGuarded, countGuarded } from "../feeds/guard/guard-rows.ts";
import { coveredRows, forgetNamed } from "../feeds/guard/guard-shown.ts";
import { countFormerWaiting, coveredFormer, decideFormer, listFormer } from "../feeds/rekey/former-rows.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { approveMirror, countKept, loadMirrorFacts } from "../mirror/mirror-state.ts";
import { deleteHold } from "../pass/hold-rows.ts";
import { mayDecide, saveNamed } from "../pass/shown.ts";
import { BridgeError, EXIT, type ExitCode } from "../platform/errors.ts";
import { askDaemon } from "./ask-daemon.ts";
import { asTyped } from "./call.ts";
import { type Call, type Command, isYes, load, readExisting, unknownWord } from "./command.ts";
import { openExisting } from "./open-existing.ts";
import { isSwitchedOn, switchedOff } from "./switched-off.ts";
import { jsonLine } from "./terminal.ts";

/** What a person can decide about rows that were sent under a former key and match no present row. */
const DECISIONS = ["list", "gone", "keep"] as const;

/**
 * Releases the rows that a feed's guard holds back, or decides about those of a former key: at most as many as the person has
 * seen (`shown`, or the number named in the question). Where rows have begun to wait since, it says so once and decides nothing.
 */
export const approve: Command<{ feed: string; former: string | undefined; shown: number | undefined }> = async (
  call,
  { feed, former, shown },
) => {
  if (feed === MIRROR && former === undefined) return await approveDeletions(call, shown);
  const name = FEED_NAMES.find((known) => known === feed);
  if (name === undefined) throw unknownWord(m.command.feed, feed, [...FEED_NAMES, MIRROR]);
  const decision = DECISIONS.find((known) => known === former);
  if (former !== undefined && decision === undefined) throw unknownWord(m.command.formerDecision, former, DECISIONS);
  const loaded = await load(call);
  if (decision === "list") {
    using store = readExisting(loaded);
    const rows = listFormer(store, name);
    if (call.json) call.terminal.out(jsonLine({ feed: name, former: rows }));
    else describeFormer(call, name, rows);
    return rows.some(({ state }) => state === "waiting") ? EXIT.attention : EXIT.ok;
  }
  if (!isSwitchedOn(name, loaded)) throw switchedOff(name);
  using store = openExisting(loaded);
  const count = () =>
    decision === undefined ? countGuarded(store, name) : countFormerWaiting(store, { feedId: FEED_IDS[name] });
  const confirmed = () => (decision === undefined ? askAbout(call, name, count()) : Number.POSITIVE_INFINITY);
  const atMost = shown ?? (await confirmed());
  const deleteAfterMs = loaded.config.imports[name].delete_after;
  const covered = () =>
    decision === undefined
      ? coveredRows(store, name, { rows: atMost, deleteAfterMs })
      : coveredFormer(store, FEED_IDS[name]);
  const subject = decision === undefined ? `${name} guard` : `${name} former`;
  const { rows, more, isOther } = store.write(() => {
    const waiting = count();
    if (waiting > atMost) saveNamed(store, subject, covered());
    const isOther = waiting <= atMost && !mayDecide(store, subject, covered());
    const more = waiting > atMost || isOther ? waiting : 0;
    if (more > 0) return { rows: 0, more, isOther };
    if (decision !== undefined)
      return { rows: decideFormer(store, name, decision === "gone" ? "gone" : "kept"), more, isOther };
    deleteHold(store, name, "guard");
    forgetNamed(store, name);
    return { rows: approveGuarded(store, name satisfies FeedName), more, isOther };
  });
  const asked = rows > 0 && decision !== "keep" && askDaemon(store, [name]);
  if (call.json)
    call.terminal.out(
      jsonLine({ feed: name, rows, asked, ...(more > 0 && { waiting: more }), ...(isOther && { unseen: true }) }),
    );
  else if (isOther) call.terminal.out(otherRows(call, { name, decision, shown, waiting: more }));
  else if (more > 0) call.terminal.out(notShown(call, { name, decision, shown: atMost, waiting: more }));
  else if (rows === 0) call.terminal.out(m.command.nothingWaits({ name }));
  else if (decision === "keep") call.terminal.out(m.command.formerKept({ name, rows }));
  else call.terminal.out(asked ? m.command.sentNow({ name, rows }) : m.command.sentNextPass({ name, rows }));
  return more > 0 ? EXIT.attention : EXIT.ok;
};

/** How many rows a person at a terminal releases; 0 where nobody can be asked. */
async function askAbout({ terminal, json }: Call, name: FeedName | typeof MIRROR, rows: number): Promise<number> {
  if (rows === 0 || json || terminal.input?.isInteractive !== true) return 0;
  const answer = await terminal.input.ask(m.command.letGo({ name, rows }));
  return isYes(answer) ? rows : 0;
}

function notShown(
  call: Call,
  { name, decision, shown, waiting }: { name: string; decision: string | undefined; shown: number; waiting: number },
): Message {
  const former = decision === undefined ? "" : ` --former ${decision}`;
  const command = asTyped(`erp-bridge approve ${name}${former} --rows ${waiting}`, call);
  return shown === 0
    ? m.command.notLetGo({ name, waiting, command })
    : m.command.moreThanShown({ name, shown, waiting, command });
}

function otherRows(
  call: Call,
  {
    name,
    decision,
    shown,
    waiting,
  }: { name: FeedName; decision: string | undefined; shown: number | undefined; waiting: number },
): Message {
  const typed = (words: string) => asTyped(`erp-bridge ${words}`, call);
  if (decision === undefined) {
    const look = typed(`sync ${name} --dry-run`);
    return m.command.othersThanShown({ name, waiting, look, command: typed(`approve ${name} --rows ${waiting}`) });
  }
  const look = typed(`approve ${name} --former list`);
  const rows = shown === undefined ? "" : ` --rows ${waiting}`;
  return m.command.laterFormer({ name, waiting, look, command: typed(`approve ${name} --former ${decision}${rows}`) });
}

const MIRROR = "mirror";

/**
 * Approves the mirror's pending deletions: rows that a restored PostgreSQL lacks are removed here too, with the
 * mirror's next pass, unless it lacks more by then.
 */
async function approveDeletions(call: Call, shown: number | undefined): Promise<ExitCode> {
  using store = openExisting(await load(call));
  const waiting = countKept(store);
  if (waiting > 0 && loadMirrorFacts(store) === undefined)
    throw new BridgeError("usage", m.sync.switchedOff({ job: MIRROR }), { hint: m.command.setMirrorUrl });
  const atMost = shown ?? (await askAbout(call, MIRROR, waiting));
  const { rows, more } = store.write(() => approveMirror(store, atMost));
  if (call.json) call.terminal.out(jsonLine({ feed: MIRROR, rows, asked: false, ...(more > 0 && { waiting: more }) }));
  else if (more > 0)
    call.terminal.out(notShown(call, { name: MIRROR, decision: undefined, shown: atMost, waiting: more }));
  else if (rows === 0) call.terminal.out(m.command.nothingWaits({ name: MIRROR }));
  else call.terminal.out(m.command.sentNextPass({ name: MIRROR, rows }));
  return more > 0 ? EXIT.attention : EXIT.ok;
}

function describeFormer({ terminal }: Call, name: FeedName, rows: ReturnType<typeof listFormer>): void {
  if (rows.length === 0) terminal.out(m.command.noFormer({ name }));
  for (const row of rows) {
    const state = m.command.formerState({ state: row.state });
    terminal.out(m.command.formerRow({ key: row.name, record: row.record, state }));
  }
  if (rows.some(({ state }) => state === "waiting")) terminal.out(m.command.formerWays({ name }));
}
