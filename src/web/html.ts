import { inertText } from "../answers/inert-text.ts";

/** Text that is HTML already. Everything else becomes text when it is put into a template. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = Html | string | number | undefined | readonly HtmlValue[];

/** A template whose values are escaped, for text and for quoted attributes alike. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(parts.reduce((text, part, index) => text + textOf(values[index - 1]) + part));
}

function textOf(value: HtmlValue): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "string" || typeof value === "number") return escapeHtml(String(value));
  return value.map(textOf).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Control characters and marks that turn the direction of writing are shown, not obeyed. */
function escapeHtml(text: string): string {
  return inertText(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
