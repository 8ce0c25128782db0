import type { Said } from "../message.ts";
import { counted, sizeText, spanText } from "../numbers.ts";

/** Combinations of texts, and foreign texts. */
export const common = {
  /** A text of the service, of SQLite or of a library, unchanged. */
  foreign: ({ text }: { text: string }) => text,
  sentences: ({ parts }: { parts: readonly string[] }) => parts.join(" "),
  listed: ({ parts }: { parts: readonly string[] }) => parts.join(", "),
  joined: ({ parts }: { parts: readonly string[] }) => parts.join("; "),
  lines: ({ lines }: { lines: readonly string[] }) => lines.join("\n"),
  indented: ({ text }: { text: Said }) => `  ${text}`,
  about: ({ subject, text }: { subject: string; text: Said }) => `${subject}: ${text}`,
  /** `90 MB`, `1.5 GB` */
  size: ({ bytes }: { bytes: number }) => sizeText(bytes),
  /** `12 s`, `4 min`, `5 h`, `3 days` */
  span: ({ seconds }: { seconds: number }) => spanText(seconds),
  /** Without its full stop, for use inside another sentence. */
  bare: ({ text }: { text: Said }) => text.replace(/\.$/, ""),
  nothingToDo: "nothing to do",
};

/** The results of a pass, by the name of the count. */
export const counts = {
  stored: ({ n }: { n: number }) => `${n} stored`,
  batches: ({ n }: { n: number }) => counted(n, "batch", "batches"),
  created: ({ n }: { n: number }) => `${n} created`,
  changed: ({ n }: { n: number }) => `${n} changed`,
  cancelled: ({ n }: { n: number }) => `${n} cancelled`,
  confirmed: ({ n }: { n: number }) => `${n} confirmed`,
  unchanged: ({ n }: { n: number }) => `${n} unchanged`,
  quarantined: ({ n }: { n: number }) => `${n} quarantined`,
  refused: ({ n }: { n: number }) => `${n} refused`,
  unsendable: ({ n }: { n: number }) => `${n} unsendable`,
  sent: ({ n }: { n: number }) => `${n} sent`,
  requests: ({ n }: { n: number }) => counted(n, "request"),
  checked: ({ n }: { n: number }) => `${n} checked`,
  differ: ({ n }: { n: number }) => counted(n, "differs", "differ"),
  healed: ({ n }: { n: number }) => `${n} healed`,
  removed: ({ n }: { n: number }) => `${n} removed`,
  unknown: ({ n }: { n: number }) => `${n} unknown`,
  returned: ({ n }: { n: number }) => `${n} returned`,
  copies: ({ n }: { n: number }) => counted(n, "copy", "copies"),
  read: ({ n }: { n: number }) => `${n} read`,
  orders: ({ n }: { n: number }) => counted(n, "order"),
  events: ({ n }: { n: number }) => counted(n, "event"),
  runs: ({ n }: { n: number }) => counted(n, "run"),
  owed: ({ n }: { n: number }) => `${n} to be read`,
  sound: ({ n }: { n: number }) => `${counted(n, "payload")} sound`,
  mirrored: ({ n }: { n: number }) => `${n} in the mirror`,
  unwritten: ({ n }: { n: number }) => `${n} refused by PostgreSQL`,
  damaged: ({ n }: { n: number }) => `${n} damaged`,
  compared: ({ n }: { n: number }) => `${n} compared`,
  rescued: ({ n }: { n: number }) => `${n} rescued`,
  settled: ({ n }: { n: number }) => `${n} settled`,
  already: ({ n }: { n: number }) => `${n} already`,
  failed: ({ n }: { n: number }) => `${n} failed`,
  erpRows: ({ n }: { n: number }) => counted(n, "row of the ERP", "rows of the ERP"),
  strays: ({ n }: { n: number }) => counted(n, "order of the former machine", "orders of the former machine"),
  erpRequests: ({ n }: { n: number }) => counted(n, "status of the ERP", "statuses of the ERP"),
  outcomes: ({ n }: { n: number }) => counted(n, "outcome"),
  "tables of the ERP": ({ n }: { n: number }) => counted(n, "table of the ERP", "tables of the ERP"),
  "batches left to the service": ({ n }: { n: number }) =>
    counted(n, "batch left to the service", "batches left to the service"),
};
