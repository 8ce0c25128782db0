import type { Said } from "../message.ts";
import { counted } from "../numbers.ts";

export const orders = {
  noRecordHas: ({ misses }: { misses: Said }) => `No record of the answer has ${misses}.`,
  fixFields: "Correct orders.fields or updates.fields; nothing was confirmed and no position moved.",
  confirmsWait:
    "An answer of GET /orders is missing. The confirms of earlier batches wait until the service serves these again, or has served them no more for an hour.",
  serviceSetBack:
    "A confirmed batch is served again, or another one under a former name, as by a service that was set back. The confirms of earlier batches wait until the service serves these again, or has served them no more for an hour.",
  countsAsConfirmed:
    "A batch counts as confirmed: what came of its first confirm is not known, and the service has not served it since.",
  repeatCountsAsConfirmed:
    "A batch whose confirm is refused counts as confirmed: all its orders were confirmed before and have not changed since, and the service has served none of them for an hour.",
  goneCountsAsConfirmed:
    "A batch whose confirm was refused counts as confirmed: to repeats an hour apart the service answered that it has no such batch, it accepted another confirm in between, and has served nothing of the batch.",
  confirmRefused: ({ words }: { words: string }) => `The confirm was refused: ${words}`,
  confirmAnsweredWith: ({ what }: { what: Said }) => `The confirm was answered with ${what}.`,
  confirmCounted: ({ size, name, count }: { size: number; name: string; count: number }) =>
    `The confirm of a batch of ${counted(size, "order")} was answered with ${name}: ${count}.`,
  confirmedMore: ({ size, name, count }: { size: number; name: string; count: number }) =>
    `The confirm of a batch of ${counted(size, "record")} was answered with ${name}: ${count}. An order may have been confirmed that was never served: compare with the site.`,
  confirmTooLarge: "The service refuses the confirm as too large (413), although it names one batch or one order.",
  confirmDivided: ({ size }: { size: number }) =>
    `The service refuses a confirm as too large (413). It is sent in parts of ${counted(size, "order")} at most.`,
  servedAgain:
    "The service accepts the confirm of a batch and serves it again all the same: is orders.confirm.body what it expects?",
  servedAgainHint:
    "Orders behind this batch may wait there. Compare with the site, and ask the service why the confirm has no effect.",
  unnamedBatch: "No record of this batch has an id by which a confirm could name it.",
  noConfirm: ({ reason }: { reason: Said }) => `The confirm cannot be written for this batch: ${reason}.`,
  lostStatus: "the record has no status, which nearly every former order had",
  oddStatus: ({ status }: { status: string }) =>
    `the record has the status ${status}: a number where nearly every former order had a word, or a word where it had a number`,
  lostLines: "the record has no lines with an article, which nearly every former order had",
  lostValue: ({ field }: { field: string }) => `the record has no ${field}, which nearly every former order had`,
  lostLineValue: ({ field }: { field: string }) =>
    `a line has no ${field}, which the lines of nearly every former order had`,
  lostCounted: "the record says that it has more lines than it has",
  mappingChanged:
    "orders.fields, orders.line or orders.statuses was changed after orders had been stored. New orders are read with it; columns and lines of the stored ones are corrected by: erp-bridge remap",
  idMissing: ({ path }: { path: string }) => `${path} (order id) is missing`,
  idNull: ({ path }: { path: string }) => `${path} (order id) is null`,
  idRepeated: ({ place }: { place: string }) => `${place} (order id) stands more than once, with different values`,
  idNotUuid: ({ path }: { path: string }) => `${path} (order id) is not a UUID`,
  idOfOtherOrder: ({ path, number, createdAt }: { path: string; number: string; createdAt: string }) =>
    `${path} is the id of another stored order; this one has the number ${number}, was created at ${createdAt}, and has other lines`,
  replacedByOther: ({ number, createdAt }: { number: string; createdAt: string }) =>
    `the order itself was read twice as another one, with the number ${number} and created at ${createdAt}, which is stored now; this is what was stored under its id before`,
  idOfNothing: ({ path }: { path: string }) => `${path} (order id) is the nil or the max UUID, which names no order`,
  idNotText: ({ path }: { path: string }) => `${path} (order id) is no text`,
  fieldMissing: ({ path, field }: { path: string; field: string }) => `${path} (${field}) is missing`,
  fieldIs: ({ path, what, field }: { path: string; what: Said; field: string }) => `${path} is ${what} (${field})`,
  fieldRepeated: ({ place, field }: { place: string; field: string }) =>
    `${place} stands more than once, with different values (${field})`,
  noRecords: "no records",
  itIsThere: "it is there",
  standsAt: ({ at, found }: { at: string; found: Said }) => `${found} was found at ${at}`,
  standsAtWithKeys: ({ at, found, keys }: { at: string; found: Said; keys: string }) =>
    `${found} was found at ${at}: ${keys}`,
  pathMissing: ({ path, field, found }: { path: string; field: string; found: Said }) => `${path} (${field}): ${found}`,
  linesNotList: ({ path }: { path: string }) => `${path} (lines) is no list`,
  lineIs: ({ line, path, what }: { line: number; path: string; what: Said }) =>
    `line ${line} of ${path} is ${what} (lines)`,
  lineFieldIs: ({ line, path, what, field }: { line: number; path: string; what: Said; field: string }) =>
    `line ${line}: ${path} is ${what} (${field})`,
  lineFieldRepeated: ({ line, place, field }: { line: number; place: string; field: string }) =>
    `line ${line}: ${place} stands more than once, with different values (${field})`,
  answerLost: ({ at }: { at: string }) =>
    `An answer of GET /orders was lost at ${at} and has not been served again. Confirms wait, because they would confirm it unseen. Compare the orders on the site with the database, then: erp-bridge resume orders --hold "hand-out lost"`,
  answersLost: ({ at, last }: { at: string; last: string }) =>
    `Answers of GET /orders were lost from ${at} to ${last} and have not been served again. Confirms wait, because they would confirm them unseen. Compare the orders on the site with the database, then: erp-bridge resume orders --hold "hand-out lost"`,
  confirmMayArrive:
    "The outcome of the last confirm is unknown, and it covers everything that was delivered. No orders are asked for until its time limit is over.",
  tooManyKeys: ({ max }: { max: number }) => `The answer is an object of more than ${max} keys.`,
  reportsError: ({ words }: { words: string }) => `The answer reports an error: ${words}`,
  notList: ({ path, what }: { path: string; what: Said }) => `${path} of the answer is no list but ${what}.`,
  noList: ({ path, miss }: { path: string; miss: Said }) => `The answer has no ${path}: ${miss}.`,
  noListBut: ({ path, miss, words }: { path: string; miss: Said; words: string }) =>
    `The answer has no ${path}: ${miss} (it says: ${words}).`,
  comparePath: "The body is kept. The probe finds the path that fits and has it read: erp-bridge probe --write",
  moreThanOnce: ({ place }: { place: string }) => `The answer has ${place} more than once.`,
  webPage: "The answer is a web page instead of JSON (a captive portal, a proxy or a wrong base_url?)",
  noBody: "The answer is empty",
  incomplete: ({ at, size, found }: { at: number; size: number; found: Said }) =>
    `The answer is no complete JSON (at byte ${at} of ${size}: ${found})`,
  incompleteRecord: ({ at, size, record, found }: { at: number; size: number; record: number; found: Said }) =>
    `The answer is no complete JSON (at byte ${at} of ${size}, record ${record}: ${found})`,
  textEnds: "the text ends",
  lineBreak: "a raw line break",
  controlCharacter: "a raw control character",
  unexpectedCharacter: "an unexpected character",
  tooManyRecords: ({ max }: { max: number }) =>
    `The answer holds more records than service.answer_records_max (${max}).`,
  tooManyValues: ({ max }: { max: number }) => `The answer holds more values than service.answer_values_max (${max}).`,
  textTooLong: ({ max }: { max: number }) =>
    `The answer holds a text or a number of more than ${max} bytes outside its records.`,
  tooMuchSpace: ({ max }: { max: number }) => `The answer holds more than ${max} bytes of white space in a row.`,
  raiseKey: "Where the shop needs more, raise the key, if the machine has the memory; nothing was confirmed.",
  sendLess: "Nothing was confirmed. No configuration allows more: the service has to send less.",
  recordTooLarge: ({ max }: { max: number }) => `the record is larger than ${max} bytes`,
  recordNotObject: ({ what }: { what: Said }) => `the record is no object but ${what}`,
  recordNotUtf8: "the record is not valid UTF-8",
  recordTooDeep: ({ max }: { max: number }) => `the record is nested deeper than ${max} levels`,
  recordTooManyValues: ({ max }: { max: number }) => `the record holds more than ${max} values`,
  recordNotJson: ({ flaw, at }: { flaw: Said; at: number }) => `the record is no JSON: ${flaw}, at byte ${at}`,
  payloadDamaged: "the stored payload is damaged; erp-bridge sync reconcile reads the order again",
  idOfAnother: ({ path }: { path: string }) => `${path} (order id) names another order`,
  keptNamesNone: "A kept answer that cannot be read names no order.",
  keptUnknown: "The service knows none of the ids in a kept answer that cannot be read.",
  keptStored: "The orders of a kept answer that cannot be read have been stored since.",
  emptyNow: "Under this configuration the batch is empty.",
  keptUnread: ({ count }: { count: number }) =>
    `${counted(count, "batch", "batches")} kept unread; one request every five minutes tries whether the answers can be read again.`,
  keptUnreadFull: ({ count, at }: { count: number; at: string }) =>
    `${counted(count, "batch", "batches")} kept unread; no further one has room. What came at ${at} was neither kept nor confirmed.`,
  itIsNull: "it is null",
  noBatchId: ({ path, what }: { path: string; what: Said }) => `The answer has no ${path} (batch id): ${what}.`,
  fixBatchId: "Correct orders.batch.id; the body is kept, and is read afterwards.",
  emptyContradicted: ({ path, what }: { path: string; what: string }) =>
    `The list ${path} of the answer is empty, but the answer says that there is something: ${what}.`,
  emptyUnusual: ({ path, what }: { path: string; what: string }) =>
    `The list ${path} of the answer is empty, and the answer says what no empty answer said before: ${what}.`,
  emptyAdopted: ({ path, what }: { path: string; what: string }) =>
    `Answers in which the list ${path} is empty have come to say so each time, and count as usual: ${what}.`,
  emptyBatch:
    "The service serves a batch without orders, and nothing behind it. It is confirmed by its name once it has been served so for an hour.",
  emptyBatchHint: "If orders are missing, ask the service what has become of those of this batch.",
  moreAfterEnd: ({ what, path }: { what: string; path: string }) =>
    `The answer says that there are more records (${what}), and asking from the newest of ${path} brings none.`,
  batchNotWhole: ({ size, what, hours }: { size: number; what: string; hours?: number }) =>
    `The answer says that its batch holds more than the ${counted(size, "record")} in it (${what}); the batch is not confirmed.${
      hours === undefined ? "" : ` If it is served so for ${waitWords(hours)}, it is confirmed.`
    }`,
  nextPageUnread: ({ size, reason }: { size: number; reason: Said }) =>
    `The answer names a next page of its batch of ${counted(size, "record")}, and that cannot be read; the batch is not confirmed. ${reason}`,
  pageRepeated: "It is the same as a page before it.",
  pagesEndless: "Page after page follows it.",
  pagesDiffer: "Its pages held other orders each time that they were read.",
  pageOld: "A cache has answered.",
  pageElsewhere: "Its link to the next page leads to another address, which is not asked.",
  pagePart: "A page of a batch.",
  partConfirmed: ({ size, what, hours }: { size: number; what: string; hours: number }) =>
    `A batch of ${counted(size, "record")} was served for ${waitWords(hours)} beside what may say that it holds more (${what}). It is confirmed as it is.`,
  emptyConfirmed:
    "A batch was served with empty records or pages, or pages of a former batch, for an hour. It is confirmed as it is; empty records are in quarantine.",
  emptyRecords: ({ empty, size }: { empty: number; size: number }) =>
    `Empty records (null, {} or []) or pages in the batch, or pages of a former batch: ${empty} of ${size}. It is confirmed once it has been served so for an hour.`,
  emptyMeansNothing: ({ area }: { area: string }) =>
    `If no order is behind them: erp-bridge resume ${area} --hold answer`,
  besideSaysNothing: "If what the answer says beside its list means nothing, say so:",
  compareAnswer: ({ area }: { area: string }) =>
    `Compare the answer with the configuration. If it says so whatever there is: erp-bridge resume ${area} --hold answer`,
};

export const remap = {
  changed: ({ orders, changed, unreadable }: { orders: number; changed: number; unreadable: number }) =>
    `${counted(orders, "order")} looked at: ${changed} changed, ${unreadable} cannot be read with this mapping and stay as they are.`,
  wouldChange: ({ orders, changed, unreadable }: { orders: number; changed: number; unreadable: number }) =>
    `${counted(orders, "order")} looked at: ${changed} would change, ${unreadable} cannot be read with this mapping and would stay as they are.`,
  released: ({ released, held }: { released: number; held: number }) =>
    `${counted(released, "quarantined record")} released, ${held} stay.`,
  wouldRelease: ({ released, held }: { released: number; held: number }) =>
    `${counted(released, "quarantined record")} would be released, ${held} would stay.`,
  change: ({ column, was, is }: { column: string; was: string; is: string }) => `${column}: ${was} → ${is}`,
  problem: ({ text }: { text: Said }) => `! ${text}`,
};

/** The history of one order. */
export const story = {
  inBatch: ({ orders }: { orders: number }) => `in a batch of ${counted(orders, "order")}`,
  inNamedBatch: ({ id, orders }: { id: string; orders: number }) => `in batch ${id} of ${counted(orders, "order")}`,
  quarantined: ({ id, kind, state, reason }: { id: number; kind: string; state: string; reason: Said }) =>
    `record ${id} (${kind}) is ${state}: ${reason}`,
  readQueued: ({ at }: { at: string }) => `a change was announced at ${at} and is to be read`,
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
  confirmDue: "the confirm of the batch is still due",
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

/** How long a batch is served before it counts as whole. */
function waitWords(hours: number): string {
  if (hours < 1) return `${Math.round(hours * 60)} minutes`;
  return hours === 1 ? "an hour" : "a day";
}
