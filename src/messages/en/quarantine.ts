import type { Said } from "../message.ts";
import { counted } from "../numbers.ts";

export const quarantine = {
  empty: "Nothing is in quarantine.",
  beingStored: "it is being stored",
  unreadBatch: ({ id, bytes, why, at }: { id: number; bytes: number; why: Said; at: string }) =>
    `batch:${id}  a batch of ${counted(bytes, "byte")} is not read yet: ${why} (since ${at})`,
  reason: ({ reason }: { reason: Said }) => `reason: ${reason}`,
  seen: ({ first, last, times }: { first: string; last: string; times: number }) =>
    `first seen ${first}, last seen ${last}, ${times}×`,
  moreCharacters: ({ rest }: { rest: number }) => `… and ${counted(rest, "character")} more; --json has them all`,
  storedNow: ({ name }: { name: string }) => `${name} is being stored at this moment.`,
  nothingDropped: "Nothing was dropped.",
  noName: ({ name }: { name: string }) => `${name} names no record.`,
  howNamed: "A record is named by its number, a batch as batch:NUMBER; see erp-bridge quarantine list.",
  notThere: ({ name }: { name: string }) => `There is no ${name} in quarantine.`,
  seeList: "See erp-bridge quarantine list.",
  nameRecords: "Name the records to try again, or say --all.",
  stillHeld: "still held",
  batchAgain: ({ id }: { id: number }) => `batch:${id}: is read again by the next pull`,
  daemonDoesRest: "The daemon does the rest now.",
  restDoneBy: ({ jobs }: { jobs: readonly string[] }) => `The rest is done by: erp-bridge sync ${jobs.join(" ")}`,
  noOrder: ({ name }: { name: string }) => `There is no order ${name}.`,
  nameOrder:
    "Name it by its id or its number, as in the table orders; a record that could not be stored is in erp-bridge quarantine list.",
  record: ({
    id,
    record,
    reason,
    since,
    times,
  }: {
    id: number;
    record: string;
    reason: Said;
    since: string;
    times: number;
  }) => `${id}  ${record}: ${reason} (since ${since}, seen ${times}×)`,
  dropped: ({ name }: { name: string }) => `${name}: dropped; it stays in the table quarantine.`,
  droppedRow: ({ name }: { name: string }) =>
    `${name}: dropped; it stays in the table quarantine. The site keeps what it has of this row until the row changes, or the service takes it.`,
  droppedBefore: ({ name }: { name: string }) => `${name}: was dropped already.`,
  released: "released",
  waiting: "waiting",
  retried: ({ id, record, outcome }: { id: number; record: string; outcome: Said }) => `${id}  ${record}: ${outcome}`,
  retriedBecause: ({ id, record, outcome, reason }: { id: number; record: string; outcome: Said; reason: Said }) =>
    `${id}  ${record}: ${outcome}: ${reason}`,
  orderReadAgain: "the order is read again",
  switchedOff: ({ name }: { name: string }) => `${name} is switched off`,
  aRetry: "a retry",
  tableCompared: "the table is compared",
  rowReadAgain: "the row is read again",
  rowSentAgain: "the row is sent again",
  storedSince: ({ reason, id }: { reason: Said; id: string }) => `${reason}; stored since as order ${id}`,
  ordersReadSince: ({ reason }: { reason: Said }) =>
    `${reason}; since then every open order was read, and the newest of the others`,
  batchCameSince: ({ reason }: { reason: Said }) => `${reason}; its batch has come since without such records`,
  servedSince: ({ reason }: { reason: Said }) =>
    `${reason}; all changes of that time were served since, each with its order`,
};
