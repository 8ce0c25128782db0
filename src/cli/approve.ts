import { inertText } from "../answers/inert-text.ts";
import { FEED_NAMES, type FeedName } from "../config/feed-names.ts";
import { approveGuarded } from "../feeds/feed-rows.ts";
import { decideFormer, listFormer } from "../feeds/former-rows.ts";
import { m } from "../messages/messages.ts";
import { approveMirror, loadMirrorFacts } from "../mirror/mirror-state.ts";
import { deleteHold } from "../pass/hold-rows.ts";
import { BridgeError, EXIT, type ExitCode } from "../platform/errors.ts";
import { askDaemon } from "./ask-daemon.ts";
import { type Call, type Command, load, readExisting, unknownWord } from "./command.ts";
import { openExisting } from "./open-existing.ts";
import { isSwitchedOn, switchedOff } from "./switched-off.ts";
import { jsonLine } from "./terminal.ts";

/** A person's decision about the rows that were sent under a former key and that nothing names. */
const DECISIONS = ["list", "gone", "keep"] as const;

/** Lets the rows go on that a feed's guard holds back, or decides about those of a former key. */
export const approve: Command<{ feed: string; former: string | undefined }> = async (call, { feed, former }) => {
  if (feed === MIRROR && former === undefined) return await approveDeletions(call);
  const name = FEED_NAMES.find((known) => known === feed);
  if (name === undefined) throw unknownWord(m.command.feed, feed, [...FEED_NAMES, MIRROR]);
  const decision = DECISIONS.find((known) => known === former);
  if (former !== undefined && decision === undefined) throw unknownWord(m.command.formerDecision, former, DECISIONS);
  const loaded = await load(call);
  if (decision === "list") {
    using store = readExisting(loaded);
    const rows = listFormer(store, name);
    if (call.json) call.terminal.out(inertText(jsonLine({ feed: name, former: rows })));
    else describeFormer(call, name, rows);
    return rows.some(({ state }) => state === "waiting") ? EXIT.attention : EXIT.ok;
  }
  if (!isSwitchedOn(name, loaded)) throw switchedOff(name);
  using store = openExisting(loaded);
  const rows = store.write(() => {
    if (decision !== undefined) return decideFormer(store, name, decision === "gone" ? "gone" : "kept");
    deleteHold(store, name, "guard");
    return approveGuarded(store, name satisfies FeedName);
  });
  const asked = rows > 0 && decision !== "keep" && askDaemon(store, [name]);
  if (call.json) call.terminal.out(jsonLine({ feed: name, rows, asked }));
  else if (rows === 0) call.terminal.out(m.command.nothingWaits({ name }));
  else if (decision === "keep") call.terminal.out(m.command.formerKept({ name, rows }));
  else call.terminal.out(asked ? m.command.sentNow({ name, rows }) : m.command.sentNextPass({ name, rows }));
  return EXIT.ok;
};

const MIRROR = "mirror";

/** What a restored PostgreSQL lacks goes here as well, with the mirror's next pass. */
async function approveDeletions(call: Call): Promise<ExitCode> {
  using store = openExisting(await load(call));
  const rows = store.write(() => {
    const kept = approveMirror(store);
    if (kept > 0 && loadMirrorFacts(store) === undefined)
      throw new BridgeError("usage", m.sync.switchedOff({ job: MIRROR }), { hint: m.command.setMirrorUrl });
    return kept;
  });
  if (call.json) call.terminal.out(jsonLine({ feed: MIRROR, rows, asked: false }));
  else
    call.terminal.out(
      rows === 0 ? m.command.nothingWaits({ name: MIRROR }) : m.command.sentNextPass({ name: MIRROR, rows }),
    );
  return EXIT.ok;
}

function describeFormer({ terminal }: Call, name: FeedName, rows: ReturnType<typeof listFormer>): void {
  if (rows.length === 0) terminal.out(m.command.noFormer({ name }));
  for (const row of rows) {
    const state = m.command.formerState({ state: row.state });
    terminal.out(m.command.formerRow({ key: inertText(row.name), record: inertText(row.record), state }));
  }
  if (rows.some(({ state }) => state === "waiting")) terminal.out(m.command.formerWays({ name }));
}
