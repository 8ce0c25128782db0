import { textsOf } from "./catalogues.ts";
import type { Language } from "./language.ts";

/** What a parameter may be: data is shown as it is, a message in the language of the reader. */
export type Value = string | number | boolean | null | undefined | Message | readonly (string | Message)[];

/** In a catalogue, a parameter that is a message itself: plain text cannot stand in its place. */
export type Said = string & { readonly said: unique symbol };

/**
 * What is to be said, apart from how: `area.name` of the catalogues and the parameters. Made by `m`, put into words by
 * `render` where it reaches a reader. As a string, and in JSON, it is the English text.
 */
export class Message {
  readonly id: string;
  readonly params: Readonly<Record<string, Value>>;

  constructor(id: string, params: Readonly<Record<string, Value>> = {}) {
    this.id = id;
    this.params = params;
  }

  toString(): string {
    return render("en", this);
  }

  toJSON(): string {
    return this.toString();
  }
}

/** A message in the words of a language; messages among the parameters are put into the same words first. */
export function render(language: Language, { id, params }: Message): string {
  const [area = "", name = ""] = id.split(".");
  const text = textsOf(language, area)?.[name];
  if (text === undefined) throw new TypeError(`There is no message ${id}.`);
  if (typeof text === "string") return text;
  const say = speaking(language);
  const sayValue = (value: Value) => (value instanceof Message ? say(value) : value);
  const values = Object.entries(params).map(([key, value]) => [
    key,
    Array.isArray(value) ? value.map(sayValue) : sayValue(value),
  ]);
  return text(Object.fromEntries(values) as never);
}

/** Puts a message into the words of a reader. Plain text is data, or was put into words already. */
export type Say = (text: string | Message) => string;

/** The way in which messages are said in a language. */
export function speaking(language: Language): Say {
  return (text) => (typeof text === "string" ? text : render(language, text));
}
