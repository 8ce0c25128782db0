import type { Language } from "../messages/language.ts";
import { Message } from "../messages/message.ts";
import { render } from "../messages/render.ts";
import { CONDITIONS, type Code, type Params } from "./condition-traits.ts";
import { englishConditions } from "./condition-words-en.ts";
import { russianConditions } from "./condition-words-ru.ts";
import type { Condition } from "./conditions.ts";
import { clockTime } from "./status-words.ts";

/** What a sentence is made of: times come ready to be shown, numbers and spans as they are. */
export type Shown<C extends Code> = { [K in keyof Params[C]]: Spoken<Params[C][K]> } & {
  subject: string;
  since: string;
};
type Spoken<T> = T extends Message ? string : T;

/** A code without words is an error of the compiler. */
export type ConditionWords = {
  [C in Code]: {
    text(shown: Shown<C>): string;
    /** What a person does next; the command, if there is one, comes after it. */
    next: string;
    /** What is said when it is over. */
    recovery(subject: string): string;
  };
};

const WORDS: Record<Language, ConditionWords> = { en: englishConditions, ru: russianConditions };

/** A condition in the words of a language. */
export interface DescribedCondition {
  text: string;
  next: string;
  command: string | null;
}

export function describeCondition(
  condition: Condition,
  { nowMs, language = "en" }: { nowMs: number; language?: Language },
): DescribedCondition {
  const words = WORDS[language][condition.code] as ConditionWords[Code] & { text(shown: object): string };
  const { subject, since } = condition;
  // What to do where the configuration does not fit is the same wherever it shows.
  const remedy = isUnfit(condition) ? "unread_batches" : condition.code;
  return {
    text: words.text({
      ...spoken(condition.params, language),
      subject,
      since: since === null ? "?" : clockTime(since, nowMs),
    }),
    next: WORDS[language][remedy].next,
    command: CONDITIONS[remedy].command?.replace("$", subject) ?? null,
  };
}

/** A flow's answers have another shape than the configuration says, or its `since` is refused. */
function isUnfit({ subject, params }: Condition): boolean {
  const { error } = params as { error?: string | null };
  return error === "answer_shape" || (error === "request_refused" && subject === "updates");
}

export function describeRecovery({ code, subject }: Pick<Condition, "code" | "subject">, language: Language): string {
  return WORDS[language][code].recovery(subject);
}

function spoken(params: Condition["params"], language: Language): object {
  const say = (value: unknown) => (value instanceof Message ? render(language, value) : value);
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, say(value)]));
}
