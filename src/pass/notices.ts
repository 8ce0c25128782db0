/*
 * What is noticed of the machine and the copies, for `status` and `check` in other processes. Written only when a notice
 * begins, changes or ends; after a crash it stays until the next look.
 */
import { MetaValue } from "../database/meta.ts";
import type { Store } from "../database/store.ts";

interface Noticed {
  since: string;
  /** For `clock`: seconds ahead of the service's. */
  offsetS?: number;
  /** For `objects`: their names and tables; for `copy_names`: the newest copy. */
  names?: string;
}

export const NOTICES = {
  /** This machine's clock is far from the service's. */
  clock: new MetaValue<Noticed | undefined>("clock"),
  /** The secret's file is newer than systemd's copy of it. */
  credential: new MetaValue<Noticed | undefined>("credential"),
  /** The ERP has put triggers or indexes on the bridge's tables. */
  objects: new MetaValue<Noticed | undefined>("objects"),
  /** The newest copy does not have the latest name. */
  copy_names: new MetaValue<Noticed | undefined>("copy_names"),
};

export type NoticeName = keyof typeof NOTICES;

export interface Notice extends Noticed {
  name: NoticeName;
}

export function loadNotices(store: Store): Notice[] {
  return (Object.keys(NOTICES) as NoticeName[]).flatMap((name) => {
    const noticed = NOTICES[name].load(store);
    return noticed === undefined ? [] : [{ name, ...noticed }];
  });
}
