/*
 * What is noticed of the machine and the copies, for `status` and `check` in other processes. Written only when a notice
 * begins, changes or ends; after a crash it stays until the next look.
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
