/* Forms of answers as they are stored (see `answer-form.ts`), and their description for a person. `status` reads this file, and none below. */

import type { WhyUnknown } from "./acceptance.ts";
import type { UsuallySaid } from "./usual-reports.ts";
import type { UsualTexts } from "./usual-texts.ts";

/** Small enough to be stored for each endpoint, and without values of the shop. */
export interface AnswerForm {
  kind: "empty" | "text" | "boolean" | "null" | "number" | "string" | "array" | "object";
  /** Names at the top and one level below, with their types: `data.id string`. For a text, its words. */
  names: string[];
  /** Fields that report the outcome: `status=ok`. */
  verdicts: string[];
  /** Why the outcome is unknown, whatever the form. */
  doubt: WhyUnknown["why"] | null;
  /** What it reports of single records. Absent: the request had none. */
  said?: string[];
  /** Texts in its JSON. Absent: none. */
  texts?: Texts;
  /** It has a sign of acceptance: a yes, a count of accepted records, or values of the request. */
  isWell?: true;
  /** The verdict that is an order's status, where it differs from the one that was sent. */
  shown?: string;
}

/** Texts in an answer, by the names that lead to them. */
export type Texts = Readonly<Record<string, string>>;

export interface KnownForm extends AnswerForm {
  /** How often it was received, up to three. */
  times: number;
  /** It replaced all other forms for a while, and is dropped when one of those is received again. */
  isReplacement?: true;
  /** Since when it is usual only because of its age, by this machine's clock. */
  adoptedAt?: string;
  /** A person has acknowledged that. */
  isSeen?: true;
  /** What the texts in answers of this form usually are, until there is a usual form. */
  own?: UsualTexts;
}

export interface NewForm extends AnswerForm {
  /** When it was last received, by the clock of `since`. */
  lastMs: number;
  /** For how long, in milliseconds, it was the only answer to its requests. */
  forMs: number;
  /** How often it was received. */
  times: number;
  /** How often a read has shown that a request answered with it took effect. */
  proved: number;
  /** No usual answer was received since it first was. */
  isAlone: boolean;
}

/** What was learned about the answers of one endpoint. */
export interface LearnedForms {
  known: KnownForm[];
  fresh: NewForm[];
  /** Since when there is a usual form; by the service's own clock where it sends one. */
  since: string | null;
  /** When it was last seen, by the same clock, until that is long enough. Absent where an earlier version learned it. */
  seenAt?: string;
  /** What is usually reported of a record. */
  records: UsuallySaid;
  /** What its texts usually are. */
  texts: UsualTexts;
}

const NAMES_SHOWN = 8;

/** Stands for the words in a form whose text varies. */
export const ANY_WORDS = "*";

export function isWord(verdict: string): boolean {
  return !verdict.endsWith("=+") && !verdict.endsWith("=…") && !verdict.endsWith("=#");
}

export function nameOf(name: string): string {
  return name.slice(0, name.lastIndexOf(" "));
}

/** For a person, independent of language: `{accepted, errors}`, `{code} code=0`, `"ok"`, `[object]`, `""` */
export function describeForm({ kind, names, verdicts }: AnswerForm): string {
  const [first = ""] = names;
  if (kind === "empty") return '""';
  if (kind === "text" || kind === "string") return first === ANY_WORDS ? '"…"' : JSON.stringify(first);
  if (kind === "array") return first;
  if (kind !== "object") return kind;
  const top = names.map(nameOf).filter((name) => !name.includes("."));
  return [`{${top.slice(0, NAMES_SHOWN).join(", ")}}`, ...verdicts.filter(isWord)].join(" ");
}
