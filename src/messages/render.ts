import { en } from "./en.ts";
import type { Language } from "./language.ts";
import { type Catalogue, type Message, renderFrom } from "./message.ts";
import { ru } from "./ru.ts";

/** Puts a message into the words of a reader. Plain text is data, or was put into words already. */
export type Say = (text: string | Message) => string;

const CATALOGUES: Readonly<Record<Language, Catalogue>> = { en, ru };

/** A message in the words of a language. */
export function render(language: Language, message: Message): string {
  return renderFrom(CATALOGUES[language], message);
}

/** The way in which messages are said in a language. */
export function speaking(language: Language): Say {
  return (text) => (typeof text === "string" ? text : render(language, text));
}
