import type { HoldReason } from "../database/hold-names.ts";
import type { Language } from "../messages/language.ts";
import type { ErrorCode } from "../platform/errors.ts";
import { englishStatus } from "./status-words-en.ts";
import { russianStatus } from "./status-words-ru.ts";

/** The sentence of the status beside its conditions, and words for codes. Times come ready to be shown, numbers and spans as they are. */
export interface StatusWords {
  upToDate: string;
  /** Before a command. */
  next: string;
  askedAt(at: string | null): string;
  /** What a text says of the time at which it was written. */
  seenAt(at: string, text: string): string;
  /** The parts of the sentence, in small letters. */
  asked(ageS: number | null): string;
  lastOrder(at: string | null): string;
  waitingForErp(n: number, oldestS: number | null): string;
  stockAsOf(at: string | null): string;
  /** `12 s`, `4 min`, `5 h`, `3 days` */
  duration(seconds: number): string;
  bytes(bytes: number): string;
  errors: Record<ErrorCode, string>;
  holds: Record<HoldReason, string>;
}

const WORDS: Record<Language, StatusWords> = { en: englishStatus, ru: russianStatus };

export function statusWords(language: Language): StatusWords {
  return WORDS[language];
}

/** What an error code means, for a person; a code of a later version stays as it is. */
function errorWords(code: string, { errors }: StatusWords): string {
  return Object.hasOwn(errors, code) ? errors[code as ErrorCode] : code;
}

/** Why a flow fails, without a full stop: the sentence that may be shown, or what its code means; empty where no pass has failed. */
export function failureWords({ error, why }: { error: string | null; why: string | null }, words: StatusWords): string {
  return (why ?? errorWords(error ?? "", words)).replace(/\.$/, "");
}

/** What a hold means, for a person; its `detail` says more. */
export function holdWords(reason: string, { holds }: StatusWords): string {
  return Object.hasOwn(holds, reason) ? holds[reason as HoldReason] : reason;
}

/** `18:20` of the machine's own zone for today, with the date before that. */
export function clockTime(iso: string, nowMs: number): string {
  const at = new Date(iso);
  const pad = (value: number) => String(value).padStart(2, "0");
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}`;
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${time}`;
}
