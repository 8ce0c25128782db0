import { wordsOf } from "../messages/catalogues.ts";
import type { Language } from "../messages/language.ts";
import { type Message, shownParams, speaking } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { StatusWords } from "../messages/words/status.ts";
import { commandToLift, type HoldReason } from "../pass/hold-reasons.ts";
import type { ErrorCode } from "../platform/errors.ts";
import { CONDITIONS, type Code, type Params } from "./condition-traits.ts";
import type { Condition } from "./conditions.ts";

/** Parameters of a condition's texts: times are formatted, numbers and durations are not. */
type Shown<C extends Code> = { [K in keyof Params[C]]: Spoken<Params[C][K]> } & {
  subject: string;
  since: string;
};
type Spoken<T> = T extends Message ? string : T;

type ConditionWords = {
  [C in Code]: {
    text(shown: Shown<C>): string;
    /** What a person does next, without the command, which is appended. */
    next: string;
    /** The text for when the condition ends. */
    recovery(subject: string): string;
  };
};

/** A code without texts is a compile error. */
function conditionWords(language: Language): ConditionWords {
  return wordsOf(language, "conditions");
}

/** So is an error or a hold without one. */
export function statusWords(language: Language): StatusWords & WordsOfCodes {
  return wordsOf(language, "status");
}

interface WordsOfCodes {
  errors: Record<ErrorCode, string>;
  holds: Record<HoldReason, string>;
}

/** A condition's texts in one language. */
export interface DescribedCondition {
  text: string;
  next: string;
  command: string | null;
}

export function describeCondition(
  condition: Condition,
  { nowMs, language = "en" }: { nowMs: number; language?: Language },
): DescribedCondition {
  const all = conditionWords(language);
  const words = all[condition.code] as ConditionWords[Code] & { text(shown: object): string };
  const { subject, since } = condition;
  const text = words.text({
    ...shownParams(language, condition.params),
    subject,
    since: since === null ? "?" : clockTime(since, nowMs),
  });
  const { why } = condition.params as { why?: Message | null };
  const hold = why?.params["hold"];
  if (typeof hold === "string")
    return { text, next: speaking(language)(m.orders.besideSaysNothing), command: commandToLift(subject, hold) };
  // Where the configuration does not fit the service, the remedy is the same for every condition.
  const remedy = isUnfit(condition) ? "unread_batches" : condition.code;
  return { text, next: all[remedy].next, command: CONDITIONS[remedy].command?.replace("$", subject) ?? null };
}

/** Whether a flow's answers do not have the configured shape, or the service refuses its `since`. */
function isUnfit({ subject, params }: Condition): boolean {
  const { error } = params as { error?: string | null };
  return error === "answer_shape" || (error === "request_refused" && subject === "updates");
}

export function describeRecovery({ code, subject }: Pick<Condition, "code" | "subject">, language: Language): string {
  return conditionWords(language)[code].recovery(subject);
}

/** `18:20` in the machine's time zone for today, with the date for other days. */
export function clockTime(iso: string, nowMs: number): string {
  const at = new Date(iso);
  const pad = (value: number) => String(value).padStart(2, "0");
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}`;
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${time}`;
}
