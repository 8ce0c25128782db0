import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

/** A path, an expression or a template that cannot be read. `column` counts characters from 1. */
export class TextSyntaxError extends Error {
  /** What is wrong with it, and at which column. */
  readonly text: Message;
  readonly column: number | undefined;
  /** Where in a template of several texts, as a JSON path. */
  readonly at: string | undefined;

  constructor(what: Message, { column, at }: { column?: number; at?: string }) {
    const text = column === undefined ? what : m.answers.atColumn({ what, column });
    super(at === undefined ? String(text) : `${at}: ${text}`);
    this.name = "TextSyntaxError";
    this.text = text;
    this.column = column;
    this.at = at;
  }
}
