import { textsOf } from "./catalogues.ts";
import { inertLine } from "./inert-text.ts";
import type { Language } from "./language.ts";

/** A parameter: data, or a message in the reader's language. */
export type Value = string | number | boolean | null | undefined | Message | readonly (string | Message)[];

/** In a catalogue, a parameter that is a message: plain text is not accepted. */
export type Said = string & { readonly said: unique symbol };

/**
 * A message independent of language: `area.name` of the catalogues and the parameters. Created by `m`, rendered by
 * `render` where it is shown. As a string, and in JSON, it is the English text.
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

/** The text of a message in a language; messages among the parameters are rendered first. */
export function render(language: Language, { id, params }: Message): string {
  const [area = "", name = ""] = id.split(".");
  const text = textsOf(language, area)?.[name];
  if (text === undefined) throw new TypeError(`There is no message ${id}.`);
  if (typeof text === "string") return text;
  return text(shownParams(language, params) as never);
}

/**
 * Parameters as a text shows them: messages in the reader's language, and data without control characters, whoever chose
 * it: a customer, the service, or a name in the ERP's database.
 */
export function shownParams(language: Language, params: object): object {
  const say = speaking(language);
  const show = (value: unknown) => {
    if (value instanceof Message) return say(value);
    return typeof value === "string" ? inertLine(value) : value;
  };
  const shown = Object.entries(params).map(([key, value]) => [
    key,
    Array.isArray(value) ? value.map(show) : show(value),
  ]);
  return Object.fromEntries(shown);
}

/** Renders a message for a reader. Plain text is data, or was rendered before, and stays unchanged. */
export type Say = (text: string | Message) => string;

/** Returns the function that renders messages in a language. */
export function speaking(language: Language): Say {
  return (text) => (typeof text === "string" ? text : render(language, text));
}
