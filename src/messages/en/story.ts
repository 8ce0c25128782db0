import { counted } from "../counted.ts";
import type { Said } from "../message.ts";

/** The story of one order. */
export const story = {
  inBatch: ({ orders }: { orders: number }) => `in a batch of ${counted(orders, "order")}`,
  inNamedBatch: ({ id, orders }: { id: string; orders: number }) => `in batch ${id} of ${counted(orders, "order")}`,
  quarantined: ({ id, kind, state, reason }: { id: number; kind: string; state: string; reason: Said }) =>
    `record ${id} (${kind}) is ${state}: ${reason}`,
  readOwed: ({ at }: { at: string }) => `a change was announced at ${at} and is to be read`,
  noStatus: "no status",
  removed: "no longer at the service",
  open: "open",
  closed: "closed",
  revision: ({ revision }: { revision: number }) => `revision ${revision}`,
  fromBatch: "from a batch",
  fromUpdates: "from the updates",
  fromService: "read from the service",
  own: "set by this bridge",
  byRemap: "by remap",
  stored: ({ revision, from }: { revision: number; from: Said }) => `as revision ${revision} (${from})`,
  storedWith: ({ revision, from, status }: { revision: number; from: Said; status: string }) =>
    `as revision ${revision} (${from}), status ${status}`,
  changed: ({ revision, from }: { revision: number; from: Said }) => `revision ${revision} (${from})`,
  status: ({ was, is }: { was: string; is: string }) => `status ${was} → ${is}`,
  change: ({ place, was, is }: { place: string; was: string; is: string }) => `${place} ${was} → ${is}`,
  nothing: "nothing",
  binary: "binary data",
  confirmed: "the batch was confirmed",
  confirmRefused: "the service refused the confirm",
  confirmOwed: "the confirm of the batch is still owed",
  wanted: ({ id, status }: { id: number; status: string }) => `request ${id}: status ${status} wanted by the ERP`,
  waiting: ({ id, status, state }: { id: number; status: string; state: string }) =>
    `request ${id}: status ${status} wanted by the ERP, ${state}`,
  settled: ({ id, status, state }: { id: number; status: string; state: string }) =>
    `request ${id}: status ${status} ${state}`,
  answered: ({ id, status, state, code }: { id: number; status: string; state: string; code: number }) =>
    `request ${id}: status ${status} ${state} (${code})`,
  blocked: ({ since }: { since: string }) => `blocked by the ERP since ${since}`,
  notTaken: "not yet taken by the ERP",
  takenUpTo: ({ seen }: { seen: number }) => `taken by the ERP up to revision ${seen}`,
  takenUpToAs: ({ number, seen }: { number: string; seen: number }) =>
    `taken by the ERP as ${number} up to revision ${seen}`,
  waits: ({ before, revision, since }: { before: Said; revision: number; since: string }) =>
    `${before}; revision ${revision} waits since ${since}`,
  taken: ({ seen, last }: { seen: number; last: number }) => `taken by the ERP, revision ${seen} of ${last}`,
  takenAs: ({ number, seen, last }: { number: string; seen: number; last: number }) =>
    `taken by the ERP as ${number}, revision ${seen} of ${last}`,
};
