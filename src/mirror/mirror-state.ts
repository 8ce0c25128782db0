/* The mirror's state in the shop's database. SQL, because every pass reads it and other rooms' transactions write it. */
import os from "node:os";
import { deleteMeta, loadMeta, saveMeta } from "../database/meta.ts";
import { deleteRows } from "../database/queries.ts";
import { mirrorState } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { Known } from "./claim/fence.ts";

/**
 * - `up_no`: the last applied round of the ERP's rows. `up`: the tables that have ever received such rows.
 * - `refused_rows`: number of the ERP's rows that are refused here, by table.
 * - `turn`: the newest turn committed in PostgreSQL; a restored PostgreSQL is behind it.
 * - `takeover_no`: the newest takeover stored in this database. `fenced`: the machine that works for the shop instead.
 * - `mirrored`: an event up to which PostgreSQL has all orders.
 * - `claims`: the claims made with this database. `heard`: when the shop last wrote to PostgreSQL, as last stored here.
 * - `refill`: progress of marking batches and quarantined records as changed.
 * - `unwritten`: rows that PostgreSQL accepts in no form. `unreturned`: outcomes and reasons that it refuses, until the next
 *   comparison. `refused_event`: the first event that it has refused since the last comparison.
 * - `server`: identifies the PostgreSQL. `restored`: since when it is known to have been restored, until the ERP's rows
 *   were compared. `behind`: it lacks something that was committed there, so notes of deletions in it may be older than rows
 *   that it has lost, until they are forgotten. `went_back`: restored, until the comparison of orders has begun.
 * - `kept`: number of rows, by table, that a restored PostgreSQL lacks, and of stock (`raised`) that sells more there than here; all stay
 *   here as they are until a person approves PostgreSQL's state (`approved`: of so many).
 * - `extra_orders`: number of orders that only PostgreSQL has.
 * - `triggers`: the triggers of the ERP's tables in PostgreSQL when all of its changes were last known to be recorded or
 *   compared.
 * - `unsure`: since when the site may have rows that this database lacks; until the night after that, a row of stock that
 *   the ERP deletes becomes a zero.
 */
export type MirrorStateKey =
  | "up_no"
  | "up"
  | "refused_rows"
  | "turn"
  | "refill"
  | "unwritten"
  | "unreturned"
  | "refused_event"
  | "takeover_no"
  | "fenced"
  | "mirrored"
  | "claims"
  | "heard"
  | "server"
  | "restored"
  | "behind"
  | "went_back"
  | "kept"
  | "approved"
  | "extra_orders"
  | "unsure"
  | "triggers";

export function loadMirrorState(store: Store, key: MirrorStateKey): string | undefined {
  return store.prepare<{ value: string }>("SELECT value FROM mirror_state WHERE key = ?").get(key)?.value;
}

/** Does not write where the value is unchanged. */
export function saveMirrorState(store: Store, key: MirrorStateKey, value: string): void {
  store
    .prepare(
      `INSERT INTO mirror_state (key, value) VALUES (?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value`,
    )
    .run(key, value);
}

/** Inside a transaction. */
export function forgetMirrorState(store: Store, key: MirrorStateKey): void {
  deleteRows(store, mirrorState, { key });
}

/** The claims to its shop stored in this database. */
export function loadKnown(store: Store): Known {
  const claims = loadMirrorState(store, "claims");
  const heard = loadMirrorState(store, "heard");
  return {
    claims: claims === undefined ? undefined : (JSON.parse(claims) as string[]),
    heardAtS: heard === undefined ? undefined : Number(heard),
  };
}

/**
 * PostgreSQL was restored or promoted: the ERP's rows are compared, and an earlier approval is void. `isBehind`: it lacks
 * something that was committed there. Inside a transaction.
 */
export function noteRestored(store: Store, at: string, { isBehind }: { isBehind: boolean }): void {
  if (loadMirrorState(store, "restored") === undefined) saveMirrorState(store, "restored", at);
  if (isBehind) saveMirrorState(store, "behind", at);
  forgetMirrorState(store, "approved");
}

/** Switches recording of changed batches, quarantined records and outcomes on or off. Inside a transaction. */
export function switchMirror(store: Store, isOn: boolean): void {
  if ((loadMeta(store, "mirror_on") !== undefined) === isOn) return;
  if (isOn) {
    saveMeta(store, "mirror_on", "1");
    startRefill(store);
  } else {
    deleteMeta(store, "mirror_on");
    // Without a mirror a shop cannot be taken over.
    forgetMirrorState(store, "fenced");
    store.prepare("DELETE FROM mirror_changes WHERE kind <> 'request'").run();
  }
}

/** The last key up to which batches or quarantined records were marked as changed; absent: all were. */
export type Refill = Partial<Record<"batch" | "quarantine", number>>;

export function loadRefill(store: Store): Refill {
  return JSON.parse(loadMirrorState(store, "refill") ?? "{}") as Refill;
}

/** Starts to write all batches and quarantined records again. Inside a transaction. */
export function startRefill(store: Store): void {
  saveMirrorState(store, "refill", JSON.stringify({ batch: 0, quarantine: 0 } satisfies Refill));
  // Refused rows are tried again with the others, and recorded again where they are still refused.
  saveMirrorState(store, "unwritten", "[]");
}

/** A row that PostgreSQL refuses, and its error text. */
export interface Refused {
  /** The row's key in the shop's database, or its table and key in PostgreSQL. */
  key: number | string;
  why: string;
}

type RefusedKey = "unwritten" | "unreturned";

/** Only the newest of each kind are kept. */
const REFUSED_MAX = 20;

function loadRefused(store: Store, kind: RefusedKey): Refused[] {
  return JSON.parse(loadMirrorState(store, kind) ?? "[]") as Refused[];
}

/** Inside a transaction. */
export function addRefused(store: Store, kind: RefusedKey, refused: readonly Refused[]): void {
  if (refused.length === 0) return;
  const again = new Set(refused.map(({ key }) => key));
  const others = loadRefused(store, kind).filter(({ key }) => !again.has(key));
  const newest = [...others, ...refused].slice(-REFUSED_MAX);
  saveMirrorState(store, kind, JSON.stringify(newest));
}

/** Numbers of rows, by table of the ERP (or `raised`). */
export type TableCounts = Partial<Record<string, number>>;

export function loadTableCounts(store: Store, key: "refused_rows" | "kept"): TableCounts {
  return JSON.parse(loadMirrorState(store, key) ?? "{}") as TableCounts;
}

export function sumOf(counts: TableCounts): number {
  return Object.values(counts).reduce<number>((sum, count) => sum + (count ?? 0), 0);
}

/** Rows that wait for an approval, approved or not. */
export function countKept(store: Store): number {
  return sumOf(loadTableCounts(store, "kept"));
}

/**
 * Approves that rows which PostgreSQL lacks are deleted here as well, and that its higher stock is sold. Inside a transaction.
 * @param atMost as many as the person has seen
 * @returns `rows`: how many are approved; `more`: how many wait where they are more than that, and none is approved
 */
export function approveMirror(store: Store, atMost: number): { rows: number; more: number } {
  const waiting = countKept(store);
  if (waiting > atMost) return { rows: 0, more: waiting };
  if (waiting > 0) saveMirrorState(store, "approved", String(waiting));
  return { rows: waiting, more: 0 };
}

/** Of how many rows the deletion is approved. */
export function countApproved(store: Store): number {
  return Number(loadMirrorState(store, "approved") ?? 0);
}

export interface MirrorFacts {
  /** Rows that either side refuses. */
  refused: number;
  /** Rows of the ERP's that a restored PostgreSQL lacks, or has as of before, and whose state there is not approved. */
  kept: number;
  /** Orders that only PostgreSQL has. */
  extra: number;
}

/** Undefined where there is no mirror. */
export function loadMirrorFacts(store: Store): MirrorFacts | undefined {
  if (loadMeta(store, "mirror_on") === undefined) return undefined;
  const unsent = loadRefused(store, "unwritten").length + loadRefused(store, "unreturned").length;
  return {
    refused: sumOf(loadTableCounts(store, "refused_rows")) + unsent,
    kept: loadMirrorState(store, "approved") === undefined ? countKept(store) : 0,
    extra: Number(loadMirrorState(store, "extra_orders") ?? 0),
  };
}

export interface FencedBy {
  shop: string;
  host: string | null;
  /** A person moved the shop: only a person can bring this machine back. */
  isTakenOver: boolean;
  /** Number of orders listed for the other machine; null: not listed yet. */
  strays?: number | null | undefined;
}

/** Whether the host name is this machine's; two machines may have the same name. */
export function isThisHost(host: string | null): boolean {
  return host === os.hostname();
}

/** Text and hint: which machine works for the shop, and what to do. */
export function fencedWords({ shop, host, isTakenOver, strays = null }: FencedBy): { text: Message; hint: Message } {
  const by = { shop, host: host ?? "?", isHere: isThisHost(host), strays };
  const hint = strays === null ? m.mirror.straysHint : isTakenOver ? m.mirror.takenOverHint : m.mirror.fencedHint;
  return { text: isTakenOver ? m.mirror.takenOver(by) : m.mirror.fenced(by), hint };
}

/** The saved takeover; undefined where the shop was not taken over from this database. */
export function loadFencedBy(store: Store): FencedBy | undefined {
  const saved = loadMirrorState(store, "fenced");
  const { shop, host = null, strays = 0 } = JSON.parse(saved ?? "{}") as Partial<FencedBy>;
  return shop === undefined ? undefined : { shop, host, isTakenOver: true, strays };
}

/** Which machine has taken the shop over, and what to do; undefined where it was not taken over. */
export function describeFenced(store: Store): Message | undefined {
  const by = loadFencedBy(store);
  if (by === undefined) return undefined;
  const { text, hint } = fencedWords(by);
  return m.common.sentences({ parts: [text, hint] });
}
