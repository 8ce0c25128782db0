import { en } from "./en.ts";

/** What a parameter may be: data is shown as it is, a message in the language of the reader. */
export type Value = string | number | boolean | null | undefined | Message | readonly (string | Message)[];

/** In a catalogue, a parameter that is a message itself: plain text cannot stand in its place. */
export type Said = string & { readonly said: unique symbol };

/** The texts of a language by area and name; each is fixed or a function of its parameters. */
export type Catalogue = Readonly<Record<string, Readonly<Record<string, string | ((params: never) => string)>>>>;

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
    return renderFrom(en, this);
  }

  toJSON(): string {
    return this.toString();
  }
}

/** The text from the catalogue of a language; messages among the parameters are put into the same words first. */
export function renderFrom(catalogue: Catalogue, { id, params }: Message): string {
  const [area = "", name = ""] = id.split(".");
  const text = catalogue[area]?.[name];
  if (text === undefined) throw new TypeError(`There is no message ${id}.`);
  if (typeof text === "string") return text;
  const say = (value: Value | string) => (value instanceof Message ? renderFrom(catalogue, value) : value);
  const values = Object.entries(params).map(([key, value]) => [
    key,
    Array.isArray(value) ? value.map(say) : say(value),
  ]);
  return text(Object.fromEntries(values) as never);
}
