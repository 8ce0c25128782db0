/*
 * That the status page cannot listen, because another program holds its port: `status` and `check` tell it, who run in
 * other processes. Written only when it begins and ends; a crash in between leaves it until the next start.
 */
import { deleteMeta, loadMeta, saveMeta } from "../database/meta.ts";
import type { Store } from "../database/store.ts";

export interface PageSilence {
  address: string;
  since: string;
  /** The system's code, EADDRINUSE for a taken port. */
  error: string;
}

export function loadPageSilent(store: Store): PageSilence | undefined {
  const text = loadMeta(store, "page");
  return text === undefined ? undefined : (JSON.parse(text) as PageSilence);
}

/** Undefined: the page listens, or is not wanted. */
export function savePageSilent(store: Store, silence: PageSilence | undefined): void {
  if (silence === undefined) deleteMeta(store, "page");
  else saveMeta(store, "page", JSON.stringify(silence));
}
