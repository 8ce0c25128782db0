import os from "node:os";
import { updateRows } from "../database/queries.ts";
import { flows } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { MirrorError } from "./mirror-error.ts";
import { forgetMirrorState, loadMirrorState, saveMirrorState } from "./mirror-state.ts";

interface FencedBy {
  shop: string;
  host: string | null;
  /** A person has said so: only a person brings this machine back. */
  isTakenOver: boolean;
  /** How many orders were left for the other machine; null: that could not be done yet. */
  strays?: number | null | undefined;
}

/** Another instance works for the shop; this one asks the service nothing more. */
export class Fenced extends MirrorError {
  readonly shop: string;
  readonly host: string;
  readonly isTakenOver: boolean;
  readonly strays: number | null;

  constructor({ shop, host, isTakenOver, strays = null }: FencedBy) {
    const by = { shop, host: host ?? "?", isHere: isThisHost(host), strays };
    super("mirror_fenced", isTakenOver ? m.mirror.takenOver(by) : m.mirror.fenced(by), {
      hint: strays === null ? m.mirror.straysHint : isTakenOver ? m.mirror.takenOverHint : m.mirror.fencedHint,
    });
    this.name = "Fenced";
    this.shop = shop;
    this.host = by.host;
    this.isTakenOver = isTakenOver;
    this.strays = strays;
  }

  withStrays(strays: number): Fenced {
    return new Fenced({ shop: this.shop, host: this.host, isTakenOver: this.isTakenOver, strays });
  }
}

/** Another database on this machine; one machine may also be called as another. */
export function isThisHost(host: string | null): boolean {
  return host === os.hostname();
}

/** For the next start, and for `status` until then. Inside a transaction. */
export function saveFenced(store: Store, { shop, host, strays }: Pick<Fenced, "shop" | "host" | "strays">): void {
  saveMirrorState(store, "fenced", JSON.stringify({ shop, host, strays }));
}

/** What was written down. `shop` null: whatever shop this database worked for. */
function loadFenced(store: Store, shop: string | null): Fenced | undefined {
  const saved = loadMirrorState(store, "fenced");
  const { shop: of, host = null, strays = 0 } = JSON.parse(saved ?? "{}") as Partial<FencedBy>;
  if (of === undefined || (shop !== null && of !== shop)) return undefined;
  return new Fenced({ shop: of, host, isTakenOver: true, strays });
}

/** Who has taken the shop over, and what to do; undefined where nobody has. */
export function describeFenced(store: Store): Message | undefined {
  const fenced = loadFenced(store, null);
  if (fenced?.hint === undefined) return fenced?.text;
  return m.common.sentences({ parts: [fenced.text, fenced.hint] });
}

/**
 * Undefined where this machine works for the shop.
 * @throws Fenced where another machine has taken it over since this database was used last, and has been left what was taken here meanwhile
 */
export function refuseFenced(store: Store, shop: string | null): Fenced | undefined {
  const fenced = loadFenced(store, shop);
  if (fenced !== undefined && fenced.strays !== null) throw fenced;
  return fenced;
}

/** This machine goes on for the shop. A PostgreSQL that was restored may have given a number that is not above its own. Inside a transaction. */
export function liftFence(store: Store, takeoverNo: number, writer: string): void {
  const own = Number(loadMirrorState(store, "takeover_no") ?? 0);
  saveMirrorState(store, "takeover_no", String(Math.max(takeoverNo, own + 1)));
  forgetMirrorState(store, "fenced");
  const none = { failingSince: null, failures: 0, errorCode: null, error: null };
  updateRows(store, flows, { flow: "mirror", errorCode: "mirror_fenced" }, none);
  saveMirrorState(store, "claims", JSON.stringify([writer]));
  forgetMirrorState(store, "heard");
}
