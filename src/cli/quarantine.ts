import { hash } from "node:crypto";
import { dropKept } from "../batches/kept-rows.ts";
import { FEED_NAMES } from "../config/feed-names.ts";
import type { Store } from "../database/store.ts";
import { inertText, shortWords } from "../messages/inert-text.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { withTexts } from "../messages/pack.ts";
import { loadQuarantined, loadUnreadBatch, loadUnreadBatches, markQuarantined } from "../pass/held-rows.ts";
import { loadQuarantine } from "../pass/quarantine-rows.ts";
import { BridgeError, EXIT } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { type Command, load, readExisting } from "./command.ts";
import { openExisting } from "./open-existing.ts";
import { jsonLine } from "./terminal.ts";

const SHOWN_MAX = 1_000;
/** Limit for a payload on a terminal; `--json` has all of it. */
const PAYLOAD_SHOWN_MAX = 20_000;

/** The number of a quarantined record, or `batch:ID` for a batch that could not be read. */
export type RecordName = { kind: "record" | "batch"; id: number; text: string };

/** Lists records that could not be used and batches that could not be read, with the reason. */
export const quarantineList: Command = async (call) => {
  using store = readExisting(await load(call));
  const records = loadQuarantine(store, SHOWN_MAX);
  const batches = loadUnreadBatches(store, SHOWN_MAX);
  const isEmpty = records.length + batches.length === 0;
  if (call.json) {
    call.terminal.out(jsonLine({ records, batches }));
  } else if (isEmpty) {
    call.terminal.out(m.quarantine.empty);
  }
  if (call.json) return isEmpty ? EXIT.ok : EXIT.attention;
  for (const row of records) {
    const { id, firstSeenAt: since, times } = row;
    call.terminal.out(
      m.quarantine.record({ id, record: recordOf(row), reason: shownReason(row.reason), since, times }),
    );
  }
  for (const { id, bytes, lastError, receivedAt } of batches) {
    const why = lastError === null ? m.quarantine.beingStored : shownReason(lastError);
    call.terminal.out(m.quarantine.unreadBatch({ id, bytes, why, at: receivedAt }));
  }
  return isEmpty ? EXIT.ok : EXIT.attention;
};

/** Shows one record with its payload. */
export const quarantineShow: Command<{ name: string }> = async (call, { name }) => {
  using store = readExisting(await load(call));
  const named = parseName(name);
  const record = named.kind === "batch" ? batchAsRecord(store, named) : loadQuarantined(store, named.id);
  if (record === undefined) throw unknownRecord(named);
  if (call.json) {
    const { payloadHash: _, ...shown } = { payloadHash: null, ...record };
    call.terminal.out(jsonLine({ record: shown }));
    return EXIT.ok;
  }
  const payload = record.payload ?? "";
  call.terminal.out(`${named.text}  ${recordOf(record)} (${record.state})`);
  call.terminal.out(
    m.quarantine.reason({ reason: withTexts(record.reason, (text) => inertText(text).replaceAll("\n", " ")) }),
  );
  call.terminal.out(m.quarantine.seen({ first: record.firstSeenAt, last: record.lastSeenAt, times: record.times }));
  call.terminal.out(inertText(payload.slice(0, PAYLOAD_SHOWN_MAX)), "as it is");
  const rest = payload.length - PAYLOAD_SHOWN_MAX;
  if (rest > 0) call.terminal.out(m.quarantine.moreCharacters({ rest }));
  return EXIT.ok;
};

/**
 * Dismisses records. They stay in the table with the state `dropped` and are not held again; a feed's row only until it
 * changes or is accepted.
 */
export const quarantineDrop: Command<{ names: readonly string[] }> = async (call, { names }) => {
  using store = openExisting(await load(call));
  const named = names.map(parseName);
  const at = isoTime(Date.now());
  // Before the write lock: hashing a large body is slow.
  const hashes = named.map((each) => (each.kind === "batch" ? hashOfBatch(store, each.id) : undefined));
  const dropped = store.write(() =>
    named.map((each, index) => {
      const digest = hashes[index];
      const record = each.kind === "batch" ? undefined : loadQuarantined(store, each.id);
      if (digest === undefined && record === undefined) throw unknownRecord(each);
      const isDropped =
        digest === undefined
          ? markQuarantined(store, each.id, "dropped")
          : dropKept(store, each.id, { at, hash: digest });
      if (!isDropped && each.kind === "batch") {
        throw new BridgeError("usage", m.quarantine.storedNow({ name: each.text }), {
          hint: m.quarantine.nothingDropped,
        });
      }
      return { name: each.text, dropped: isDropped, isRow: FEED_NAMES.some((feed) => feed === record?.kind) };
    }),
  );
  if (call.json) {
    call.terminal.out(jsonLine({ records: dropped.map(({ isRow: _, ...record }) => record) }));
    return EXIT.ok;
  }
  for (const { name, dropped: isDropped, isRow } of dropped) {
    const words = isRow ? m.quarantine.droppedRow : m.quarantine.dropped;
    call.terminal.out(isDropped ? words({ name }) : m.quarantine.droppedBefore({ name }));
  }
  return EXIT.ok;
};

/** A stored reason in one line, without control characters. */
export function shownReason(reason: Message): Message {
  return withTexts(reason, shortWords);
}

/** Kind and name of a record: `order A-1`; the kind alone where the name is unknown. */
export function recordOf({ kind, reference }: { kind: string; reference: string | null }): string {
  return reference === null ? kind : `${kind} ${shortWords(reference)}`;
}

function hashOfBatch(store: Store, id: number): Buffer | undefined {
  const batch = loadUnreadBatch(store, id);
  return batch === undefined ? undefined : hash("sha256", batch.body, "buffer");
}

/** @throws BridgeError `usage` */
export function parseName(text: string): RecordName {
  const match = /^(batch:)?([1-9]\d{0,14})$/.exec(text);
  if (match === null) {
    throw new BridgeError("usage", m.quarantine.noName({ name: shortWords(text) }), { hint: m.quarantine.howNamed });
  }
  return { kind: match[1] === undefined ? "record" : "batch", id: Number(match[2]), text };
}

export function unknownRecord({ text }: RecordName): BridgeError {
  return new BridgeError("usage", m.quarantine.notThere({ name: text }), { hint: m.quarantine.seeList });
}

function batchAsRecord(store: Store, { id, text }: RecordName) {
  const batch = loadUnreadBatch(store, id);
  if (batch === undefined) return undefined;
  return {
    id,
    kind: "batch",
    reference: text,
    reason: batch.lastError ?? m.quarantine.beingStored,
    payload: batch.body.toString("utf8"),
    state: "unread",
    firstSeenAt: batch.receivedAt,
    lastSeenAt: batch.receivedAt,
    times: 1,
  };
}
