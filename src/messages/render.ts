import { en } from "./en.ts";
import type { Language } from "./language.ts";
import { type Catalogue, type Message, renderFrom } from "./message.ts";
import { ru } from "./ru.ts";
import { translate } from "./translator.ts";

/** Puts a message into the words of a reader. Plain text is translated where it is a message of a part without messages yet. */
export type Say = (text: string | Message) => string;

const CATALOGUES: Readonly<Record<Language, Catalogue>> = { en, ru };

/** A message in the words of a language. */
export function render(language: Language, message: Message): string {
  return renderFrom(CATALOGUES[language], message);
}

/** The way in which messages are said in a language. */
export function speaking(language: Language): Say {
  return (text) => {
    if (typeof text !== "string") return render(language, text);
    return language === "en" ? text : translate(text);
  };
}
