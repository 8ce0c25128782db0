/* What the shop's database keeps of its mirror. SQL, because it is read in every pass and written in transactions of others. */
import os from "node:os";
import { deleteMeta, loadMeta, saveMeta } from "../database/meta.ts";
import { deleteRows } from "../database/queries.ts";
import { mirrorState } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { Known } from "./fence.ts";

/**
 * `up_no`: the round of the ERP's rows that was applied last. `up`: the tables that such rows have ever come to. `refused_rows`:
 * how many of them stand refused, by table. `turn`: the newest that was committed in PostgreSQL; one that was restored is behind it.
 * `takeover_no`: the newest takeover that this database has noted. `fenced`: who works for the shop instead. `mirrored`: an event up to which
 * PostgreSQL has every order. `claims`: the claims that were made with this database. `heard`: when the shop was last heard of there, as far as this database has come.
 * `refill`: how far batches and held records are noted again. `unwritten`: rows that PostgreSQL does not take in any form. `unreturned`: outcomes
 * and reasons that it does not take, until the next comparison writes them. `refused_event`: the first event that it has not taken since the last one.
 * `server`: which PostgreSQL it was. `restored`: since when that one is known to have gone back, until the ERP's rows are gone through.
 * `went_back`: the same, until the way down has begun to compare. `kept`: how many rows of each table it lacks since then; they stay until a person approves (`approved`) that they go.
 * `extra_orders`: orders that are only there.
 * `triggers`: those of the ERP's tables in PostgreSQL as they were when all of its rows were last known to be noted or gone through.
 * `unsure`: since when what is on the site may be more than this database has; until a night after that a row of stock that the ERP deletes becomes a zero.
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
  | "went_back"
  | "kept"
  | "approved"
  | "extra_orders"
  | "unsure"
  | "triggers";

export function loadMirrorState(store: Store, key: MirrorStateKey): string | undefined {
  return store.prepare<{ value: string }>("SELECT value FROM mirror_state WHERE key = ?").get(key)?.value;
}

/** The same value again is no write. */
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

/** What this database has of the claims to its shop. */
export function loadKnown(store: Store): Known {
  const claims = loadMirrorState(store, "claims");
  const heard = loadMirrorState(store, "heard");
  return {
    claims: claims === undefined ? undefined : (JSON.parse(claims) as string[]),
    heardAtS: heard === undefined ? undefined : Number(heard),
  };
}

/** PostgreSQL is older than it was: the ERP's rows are gone through. What a person had approved was of another state. Inside a transaction. */
export function noteRestored(store: Store, at: string): void {
  saveMirrorState(store, "restored", at);
  forgetMirrorState(store, "approved");
}

/** From now on batches, held records and outcomes note that they change. Inside a transaction. */
export function switchMirror(store: Store, isOn: boolean): void {
  if ((loadMeta(store, "mirror_on") !== undefined) === isOn) return;
  if (isOn) {
    saveMeta(store, "mirror_on", "1");
    startRefill(store);
  } else {
    deleteMeta(store, "mirror_on");
    // Without a mirror nothing says who works for the shop, and nothing could take it over.
    forgetMirrorState(store, "fenced");
    store.prepare("DELETE FROM mirror_changes WHERE kind <> 'request'").run();
  }
}

/** Up to which keys batches and held records are noted again; absent: all are. */
export type Refill = Partial<Record<"batch" | "quarantine", number>>;

export function loadRefill(store: Store): Refill {
  return JSON.parse(loadMirrorState(store, "refill") ?? "{}") as Refill;
}

/** Every batch and every held record is to be written again. Inside a transaction. */
export function startRefill(store: Store): void {
  saveMirrorState(store, "refill", JSON.stringify({ batch: 0, quarantine: 0 } satisfies Refill));
  // What was refused is tried again with the rest, and noted again where it still is.
  saveMirrorState(store, "unwritten", "[]");
}

/** What PostgreSQL does not take, and its words. */
export interface Refused {
  /** The row's key in the shop's database, or its table and key in PostgreSQL. */
  key: number | string;
  why: string;
}

type RefusedKey = "unwritten" | "unreturned";

/** Of each kind only the newest are kept. */
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

/** Numbers by tables of the ERP's. */
export type TableCounts = Partial<Record<string, number>>;

export function loadTableCounts(store: Store, key: "refused_rows" | "kept"): TableCounts {
  return JSON.parse(loadMirrorState(store, key) ?? "{}") as TableCounts;
}

export function sumOf(counts: TableCounts): number {
  return Object.values(counts).reduce<number>((sum, count) => sum + (count ?? 0), 0);
}

/** A person agrees that what PostgreSQL lacks goes here as well. Inside a transaction; returns how many rows had waited for that. */
export function approveMirror(store: Store): number {
  const rows = sumOf(loadTableCounts(store, "kept"));
  if (rows > 0) saveMirrorState(store, "approved", "1");
  return rows;
}

export interface MirrorFacts {
  /** Rows that either side does not take from the other. */
  refused: number;
  /** Rows of the ERP's that a restored PostgreSQL lacks, and that were not approved to go. */
  kept: number;
  /** Orders that are only in PostgreSQL. */
  extra: number;
}

/** Undefined where there is no mirror. */
export function loadMirrorFacts(store: Store): MirrorFacts | undefined {
  if (loadMeta(store, "mirror_on") === undefined) return undefined;
  const unsent = loadRefused(store, "unwritten").length + loadRefused(store, "unreturned").length;
  return {
    refused: sumOf(loadTableCounts(store, "refused_rows")) + unsent,
    kept: loadMirrorState(store, "approved") === undefined ? sumOf(loadTableCounts(store, "kept")) : 0,
    extra: Number(loadMirrorState(store, "extra_orders") ?? 0),
  };
}

export interface FencedBy {
  shop: string;
  host: string | null;
  /** A person has said so: only a person brings this machine back. */
  isTakenOver: boolean;
  /** How many orders were left for the other machine; null: that could not be done yet. */
  strays?: number | null | undefined;
}

/** Another database on this machine; one machine may also be called as another. */
export function isThisHost(host: string | null): boolean {
  return host === os.hostname();
}

/** Who works for the shop instead, and what to do. */
export function fencedWords({ shop, host, isTakenOver, strays = null }: FencedBy): { text: Message; hint: Message } {
  const by = { shop, host: host ?? "?", isHere: isThisHost(host), strays };
  const hint = strays === null ? m.mirror.straysHint : isTakenOver ? m.mirror.takenOverHint : m.mirror.fencedHint;
  return { text: isTakenOver ? m.mirror.takenOver(by) : m.mirror.fenced(by), hint };
}

/** What was written down; undefined where no shop was taken over from this database. */
export function loadFencedBy(store: Store): FencedBy | undefined {
  const saved = loadMirrorState(store, "fenced");
  const { shop, host = null, strays = 0 } = JSON.parse(saved ?? "{}") as Partial<FencedBy>;
  return shop === undefined ? undefined : { shop, host, isTakenOver: true, strays };
}

/** Who has taken the shop over, and what to do; undefined where it was not taken over. */
export function describeFenced(store: Store): Message | undefined {
  const by = loadFencedBy(store);
  if (by === undefined) return undefined;
  const { text, hint } = fencedWords(by);
  return m.common.sentences({ parts: [text, hint] });
}
