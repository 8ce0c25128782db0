import { en } from "./en.ts";
import type { Language } from "./language.ts";
import { type Message, renderFrom } from "./message.ts";
import { conditionsEn } from "./words/conditions-en.ts";
import { pageEn } from "./words/page-en.ts";
import { statusEn } from "./words/status-en.ts";

/** Puts a message into the words of a reader. Plain text is data, or was put into words already. */
export type Say = (text: string | Message) => string;

const english = { messages: en, conditions: conditionsEn, status: statusEn, page: pageEn };

/** Everything that is said in a language: the messages, and the words of what is said in many places. */
export type Words = typeof english;

/** Most processes speak one language: the other is read where it is asked for. */
const loaded: { en: Words; ru?: Words } = { en: english };

/** Before anything is said in a language. */
export async function loadLanguage(language: Language): Promise<void> {
  if (language === "ru") loaded.ru ??= (await import("./ru.ts")).russian;
}

export function wordsOf(language: Language): Words {
  const words = loaded[language];
  if (words === undefined) throw new TypeError(`The words of "${language}" were not loaded.`);
  return words;
}

/** A message in the words of a language. */
export function render(language: Language, message: Message): string {
  return renderFrom(wordsOf(language).messages, message);
}

/** The way in which messages are said in a language. */
export function speaking(language: Language): Say {
  const { messages } = wordsOf(language);
  return (text) => (typeof text === "string" ? text : renderFrom(messages, text));
}
