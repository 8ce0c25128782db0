/* What is kept of the forms of answers (`answer-form.ts`): which are usual, which are new, and what a person is shown of them. */
import type { Doubt } from "./acceptance.ts";
import type { UsuallySaid } from "./said-of-records.ts";

/** Short enough to be kept for each endpoint, and without a value of the shop's own. */
export interface AnswerForm {
  kind: "empty" | "text" | "boolean" | "null" | "number" | "string" | "array" | "object";
  /** Names at the top and one level below, with their types: `data.id string`. Of a text its words. */
  names: string[];
  /** What it says of how it went: `status=ok`. */
  verdicts: string[];
  /** Why an acceptance is doubted, whatever the form. */
  doubt: Doubt["why"] | null;
  /** What it says of single records. Absent: the request had none. */
  said?: string[];
  /** It has what an acceptance has: a yes, a count of what was taken, what the request named. Absent: it has not. */
  isWell?: true;
  /** Of its verdicts the one that is the status of an order, where that is another than the one that was sent. Absent: none is. */
  shown?: string;
}

export interface KnownForm extends AnswerForm {
  /** So often, up to three. */
  times: number;
  /** It took the place of all others for a while, and is forgotten when one of those comes back. */
  isReplacement?: true;
  /** It counts because of its time alone, since then by this machine's clock. */
  adoptedAt?: string;
  /** A person has seen that. */
  isSeen?: true;
}

export interface NewForm extends AnswerForm {
  /** When it came last, by the clock of `since`. */
  lastMs: number;
  /** For so long it was all that its requests were answered with. */
  forMs: number;
  /** How often it came. */
  times: number;
  /** So often a read has shown that what was answered with it took effect. */
  proved: number;
  /** No usual answer came since the first time. */
  isAlone: boolean;
}

/** What is known of the answers of one endpoint. */
export interface LearnedForms {
  known: KnownForm[];
  fresh: NewForm[];
  /** Since when there is a usual form; by the service's own clock where it sends one. */
  since: string | null;
  /** When it was last seen, by the same clock, until that is long enough. Absent: an earlier version has learned it. */
  seenAt?: string;
  /** What is usually said of a record. Absent: no answer was read for it. */
  records?: UsuallySaid;
}

export const NOTHING_LEARNED: LearnedForms = { known: [], fresh: [], since: null };

const NAMES_SHOWN = 8;

/** Stands in a form whose words differ from answer to answer. */
export const ANY_WORDS = "*";

export function isWord(verdict: string): boolean {
  return !verdict.endsWith("=+") && !verdict.endsWith("=…") && !verdict.endsWith("=#");
}

export function nameOf(name: string): string {
  return name.slice(0, name.lastIndexOf(" "));
}

/** For a person, in no language: `{accepted, errors}`, `{code} code=0`, `"ok"`, `[object]`, `""` */
export function describeForm({ kind, names, verdicts }: AnswerForm): string {
  const [first = ""] = names;
  if (kind === "empty") return '""';
  if (kind === "text" || kind === "string") return first === ANY_WORDS ? '"…"' : JSON.stringify(first);
  if (kind === "array") return first;
  if (kind !== "object") return kind;
  const top = names.map(nameOf).filter((name) => !name.includes("."));
  return [`{${top.slice(0, NAMES_SHOWN).join(", ")}}`, ...verdicts.filter(isWord)].join(" ");
}
