import {
  BESIDE,
  COUNTS,
  LINKS,
  SAYS_A_NUMBER,
  SAYS_AS_USUAL,
  SAYS_BY_COUNTS,
  SAYS_BY_NAMES,
  SAYS_OF_CHANGES,
  SAYS_OF_PARTS,
  SAYS_OF_RECORDS,
  SAYS_OTHERWISE,
  SAYS_OUTCOMES,
  SAYS_PLAINLY,
} from "./forms.ts";
import { BODIES, OTHERWISE } from "./hostile/grammar.ts";
import { EXTREMES, FIELDS } from "./hostile/values.ts";
import { ODD_STATUSES, RELOADS, RESPELLED, type WorldKind } from "./schedule.ts";
import { TIMES_BACK } from "./times-back.ts";

type Classes = Readonly<Record<string, readonly (string | number)[]>>;

/** How an answer to an import says what it has left out. */
const SAYS = [
  ...SAYS_OF_RECORDS,
  ...SAYS_OF_PARTS,
  ...SAYS_BY_COUNTS,
  ...SAYS_BY_NAMES,
  ...SAYS_AS_USUAL,
  ...SAYS_PLAINLY,
  ...SAYS_OTHERWISE,
  ...SAYS_OF_CHANGES,
  ...SAYS_A_NUMBER,
];

/** Must happen in both worlds; otherwise the simulation no longer covers it. */
const KINDS: Classes = {
  fate: [
    ...[
      "refused",
      "no connection",
      "no handshake",
      "reset before",
      "reset after",
      "silence before",
      "silence after",
      "late",
      "slow",
    ],
    ...["cut", "short", "drip", "html before", "html after", "gzip", "big headers", "redirect", "empty object"],
    ...["renamed", "status before", "status after"],
  ],
  "fate of": ["orders", "confirm", "updates", "snapshot", "status", "import"],
  status: [
    ...[301, 302, 307, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 418, 422, 425, 429],
    ...[500, 501, 502, 503, 504, 507, 520],
  ],
  "retry-after": ["30", "0", "-5", "soon", "date", "epoch", "999999999999", "3"],
  crash: [
    ...["idle", "before commit", "in commit", "after commit", "with the machine"],
    ...["request of orders", "request of confirm", "request of updates", "request of import"],
    ...["answer to orders", "answer to confirm", "answer to updates", "answer to import"],
  ],
  deed: [
    ...[
      "orders",
      "bad order",
      "change",
      "burst",
      "race",
      "delete",
      "write",
      "set back",
      "remove",
      "odd value",
      "rewrite",
    ],
    ...["rollback", "lock", "take", "ask", "net", "crash", "stop", "night", "clock", "service clock", "switch"],
  ],
  timestamp: ["now", "tied", "late", "very late", "future", "missing"],
  "bad order": ["no id", "no uuid", "wrong types", "two statuses", "no status"],
  switch: [
    ...["orders refused", "imports refused", "unpaid", "record refused", "all records refused", "small bodies"],
    ...["few requests", "same page", "empty feed", "no date"],
  ],
  hold: ["credentials", "payment", "rate limit", "refused"],
  // Equal timestamps resolve by themselves wherever changes have timestamps.
  resumed: ["hand-out lost"],
  watermark: ["first", "moved", "set back"],
  "form handOut": ["repeat", "next"],
  "form redeliver": ["60000", "cycle", "null"],
  "form batchId": ["string", "number", "huge-number", "constant", "none"],
  "form confirm": ["batch_id", "order_ids", "all", "everything"],
  "form confirmRepeated": [200, 404, 409, 410],
  "form empty": ["list", "null", "null-parent", "204", "bare-list"],
  "form twice": ["no", "equal", "older"],
  "form timestamps": ["iso-z", "iso-offset", "iso-naive", "iso-basic", "dotted", "unix", "unix_ms"],
  "form precision": ["min", "s", "ms", "us"],
  "form boundary": ["inclusive", "exclusive"],
  "form page": [2, 3, 5, 10, 100],
  "form carry": ["changes", "whole"],
  "form history": ["latest", "log"],
  "form next": ["none", "timestamp", "cursor"],
  "form since": ["iso", "unix", "unix_ms"],
  "form importAnswer": ["counts", "success", "empty", "text"],
  "form rejectHow": ["422", "per-record", "success-false"],
  "form whole": ["true", "false"],
};

const ASKED = ["orders", "confirm", "updates", "snapshot", "status", "import"] as const;

/** Must happen in the hostile world only. */
const HOSTILE_KINDS: Classes = {
  "lie to": ASKED,
  "lie body": BODIES,
  "lie status of": ASKED.flatMap((on) => [2, 3, 4, 5].map((hundred) => `${on} ${hundred}xx`)),
  "lie scope": ["all", "half", "one", "one feed", "older"],
  "lie span": ["requests", "20 s", "180 s", "660 s", "1500 s", "3600 s", "21600 s", "108000 s", "for ever"],
  "lie when": ["before", "after"],
  value: Object.keys(EXTREMES),
  "value in": [...new Set(FIELDS)],
  person: ["resume", "approve", "retry", "sync"],
  reload: RELOADS,
  "odd status": ODD_STATUSES,
  deed: [
    "lie",
    "value",
    "mend",
    "page",
    "flood",
    "person",
    "reload",
    "wait",
    "odd status",
    "empty",
    "journal",
    "journal folder",
    "restore",
    "leave out",
    "read only",
    "empty batch",
    "skew",
    "forget confirms",
    "cancel",
    "cancel unseen",
    "move on",
    "anew",
    "one id",
    "move",
    "other path",
    "second row",
    "respell",
    "remake",
    "own order",
    "refer",
    "cut key",
    "odd trigger",
    "mistype",
    "times",
    "times back",
    "links elsewhere",
  ],
  "times back": TIMES_BACK,
  "form leases": ["true", "false"],
  "form own": ["lines", "pieces", "error"],
  "form pages": [2, 3],
  "form numbers": ["true", "false"],
  "form shared": ["zero", "ignore"],
  "form ignores": ["spelling", "others", "both"],
  "form link": LINKS,
  "form leaves": [1, 2],
  "form confirmedOnly": ["true", "false"],
  "form importAnswer": [...SAYS, ...SAYS_OUTCOMES],
  "form importCounts": ["accepted", "changed"],
  "form takenRecords": [1, 2, 3],
  "form catalog": ["silent", "errors", "said"],
  "form leavesSite": ["true", "false"],
  "form level": ["quantity", "amount", "nested"],
  "form journal": ["true", "false", "later"],
  "form cron": ["true", "false"],
  "form emptySince": ["refused", "beginning"],
  "form limited": ASKED,
  "form encoding": ["UTF-16le", "UTF-16be"],
  "form sinceAgeMax": [3_600_000, 5 * 3_600_000],
  "form confirmIds": [1, 2],
  "form keeps": ["oldest", "newest", "first-ids"],
  "form counts": COUNTS,
  "form beside": BESIDE,
  "form lagMs": [20_000, 240_000],
  "form lagStamp": ["order", "entry"],
  "form timed": ["true", "false"],
  "form repeatsSecret": ["true", "false"],
  "form movesOn": ["true", "false"],
  "form queueShows": ["true", "false"],
};

/** Results in the hostile world. */
const HOSTILE_MET: Classes = {
  limited: ASKED,
  "left out": [...SAYS, "at first"],
  "read only": SAYS_OF_CHANGES,
  "silent limit": ["known", "known with rows in vain"],
  "empty otherwise": ["orders", "updates"],
  skewed: ["a change after it"],
  elsewhere: ["orders", "updates", "status", "import", "other path"],
  "one id": ["nil", "known"],
  cancelled: ["before it is stored"],
  "cancelled unseen": ["stopped", "away", "between two passes"],
  "moved on": ["refunded", "new"],
  listed: ["cancelled and moved on"],
  "another question": ["updates"],
  refused: ["before the confirm"],
  "second row": ["write", "zero", "remove", "other"],
  respelled: RESPELLED,
  "named otherwise": [
    ...OTHERWISE.map((how) => `updates ${how}`),
    ...OTHERWISE.filter((how) => how !== "time").map((how) => `orders ${how}`),
  ],
  "late list": ["a change and its order"],
  "wrong time": ["a change before it comes"],
  "restored from the journal": ["orders"],
  restored: ["several orders go back", "one order goes back at most"],
};

const namesOf = (classes: Classes) =>
  Object.entries(classes).flatMap(([kind, names]) => names.map((name) => `${kind}: ${name}`));

/** The classes that a campaign must cover, as counted; for both worlds by default. */
export function classesOf(world: WorldKind | undefined): string[] {
  return [...namesOf(KINDS), ...(world === "usual" ? [] : [...hostileClasses(), ...namesOf(HOSTILE_MET)])];
}

/** The classes that the hostile world draws, whatever their results. */
export function hostileClasses(): string[] {
  return namesOf(HOSTILE_KINDS);
}
