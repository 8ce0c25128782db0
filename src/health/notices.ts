/*
 * What the daemon notices about its machine and its status page, for `status` and `check` in other processes. Written
 * only when a notice begins, changes or ends; after a crash it stays until the daemon looks again.
 */
import { deleteMeta, loadMetaJson, saveMetaJson } from "../database/meta.ts";
import type { Store } from "../database/store.ts";

/**
 * `clock`: this machine's clock is far from the service's. `credential`: the secret's file is newer than systemd's copy
 * of it. `objects`: the ERP has put triggers or indexes on the bridge's tables. `copy_names`: the newest copy does not
 * have the latest name.
 */
export type NoticeName = "clock" | "credential" | "objects" | "copy_names";
const NOTICE_NAMES: readonly NoticeName[] = ["clock", "credential", "objects", "copy_names"];

export interface Notice {
  name: NoticeName;
  since: string;
  /** For `clock`: seconds ahead of the service's. */
  offsetS?: number;
  /** For `objects`: their names and tables; for `copy_names`: the newest copy. */
  names?: string;
}

export function loadNotices(store: Store): Notice[] {
  return NOTICE_NAMES.flatMap((name) => {
    const kept = loadMetaJson<Omit<Notice, "name">>(store, name);
    return kept === undefined ? [] : [{ name, ...kept }];
  });
}

export function saveNotice(store: Store, { name, ...rest }: Notice): void {
  saveMetaJson(store, name, rest);
}

export function deleteNotice(store: Store, name: NoticeName): void {
  deleteMeta(store, name);
}

/** The status page cannot listen because another program uses its port. */
export interface PageSilence {
  address: string;
  since: string;
  /** The system's code, `EADDRINUSE` for a used port. */
  error: string;
}

export function loadPageSilent(store: Store): PageSilence | undefined {
  return loadMetaJson<PageSilence>(store, "page");
}

/** Undefined: the page listens, or is switched off. */
export function savePageSilent(store: Store, silence: PageSilence | undefined): void {
  if (silence === undefined) deleteMeta(store, "page");
  else saveMetaJson(store, "page", silence);
}
