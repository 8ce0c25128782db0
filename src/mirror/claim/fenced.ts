import { updateRows } from "../../database/queries.ts";
import { flows } from "../../database/schema.ts";
import type { Store } from "../../database/store.ts";
import { MirrorError } from "../mirror-error.ts";
import {
  type FencedBy,
  fencedWords,
  forgetMirrorState,
  loadFencedBy,
  loadMirrorState,
  saveMirrorState,
} from "../mirror-state.ts";

/** Another instance works for the shop; this one must not send requests to the service. */
export class Fenced extends MirrorError {
  readonly shop: string;
  readonly host: string;
  readonly isTakenOver: boolean;
  readonly strays: number | null;

  constructor({ shop, host, isTakenOver, strays = null }: FencedBy) {
    const { text, hint } = fencedWords({ shop, host, isTakenOver, strays });
    super("mirror_fenced", text, { hint });
    this.name = "Fenced";
    this.shop = shop;
    this.host = host ?? "?";
    this.isTakenOver = isTakenOver;
    this.strays = strays;
  }

  withStrays(strays: number): Fenced {
    return new Fenced({ shop: this.shop, host: this.host, isTakenOver: this.isTakenOver, strays });
  }
}

/** For the next start, and for `status` until then. Inside a transaction. */
export function saveFenced(store: Store, { shop, host, strays }: Pick<Fenced, "shop" | "host" | "strays">): void {
  saveMirrorState(store, "fenced", JSON.stringify({ shop, host, strays }));
}

/** The saved takeover. `shop` null: of any shop. */
function loadFenced(store: Store, shop: string | null): Fenced | undefined {
  const by = loadFencedBy(store);
  return by === undefined || (shop !== null && by.shop !== shop) ? undefined : new Fenced(by);
}

/**
 * Undefined where this machine works for the shop; a takeover whose strays were not listed yet is returned.
 * @throws Fenced where another machine has taken the shop over, and the strays of this database were listed for it
 */
export function refuseFenced(store: Store, shop: string | null): Fenced | undefined {
  const fenced = loadFenced(store, shop);
  if (fenced !== undefined && fenced.strays !== null) throw fenced;
  return fenced;
}

/**
 * Lets this machine work for the shop. A restored PostgreSQL may have assigned a takeover number not above the stored one.
 * Inside a transaction.
 */
export function liftFence(store: Store, takeoverNo: number, writer: string): void {
  const own = Number(loadMirrorState(store, "takeover_no") ?? 0);
  saveMirrorState(store, "takeover_no", String(Math.max(takeoverNo, own + 1)));
  forgetMirrorState(store, "fenced");
  const none = { failingSince: null, failures: 0, errorCode: null, error: null };
  updateRows(store, flows, { flow: "mirror", errorCode: "mirror_fenced" }, none);
  saveMirrorState(store, "claims", JSON.stringify([writer]));
  forgetMirrorState(store, "heard");
}
