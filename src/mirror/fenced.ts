import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { MirrorError } from "./mirror-error.ts";
import { forgetMirrorState, loadMirrorState, saveMirrorState } from "./mirror-state.ts";

/** Another instance works for the shop; this one asks the service nothing more. */
export class Fenced extends MirrorError {
  readonly shop: string;
  readonly host: string;
  /** A person has said so: only a person brings this machine back. */
  readonly isTakenOver: boolean;

  constructor(shop: string, host: string | null, isTakenOver: boolean) {
    const by = { shop, host: host ?? "?" };
    super("mirror_fenced", isTakenOver ? m.mirror.takenOver(by) : m.mirror.fenced(by), {
      hint: isTakenOver ? m.mirror.takenOverHint : m.mirror.fencedHint,
    });
    this.name = "Fenced";
    this.shop = shop;
    this.host = by.host;
    this.isTakenOver = isTakenOver;
  }
}

/** For the next start, and for `status` until then. Inside a transaction. */
export function saveFenced(store: Store, { shop, host }: Pick<Fenced, "shop" | "host">): void {
  saveMirrorState(store, "fenced", JSON.stringify({ shop, host }));
}

/** @throws Fenced where another machine has taken the shop over since this database was used last */
export function refuseFenced(store: Store, shop: string): void {
  const { shop: of, host } = JSON.parse(loadMirrorState(store, "fenced") ?? "{}") as { shop?: string; host?: string };
  if (of === shop) throw new Fenced(shop, host ?? null, true);
}

/** This machine goes on for the shop. A PostgreSQL that was restored may have given a number that is not above its own. Inside a transaction. */
export function liftFence(store: Store, takeoverNo: number): void {
  const own = Number(loadMirrorState(store, "takeover_no") ?? 0);
  saveMirrorState(store, "takeover_no", String(Math.max(takeoverNo, own + 1)));
  forgetMirrorState(store, "fenced");
}
