import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

/** A path, expression or template that cannot be parsed. `column` counts characters from 1. */
export class TextSyntaxError extends Error {
  /** The error, and its column. */
  readonly text: Message;
  readonly column: number | undefined;
  /** In a template of several texts: which one, as a JSON path. */
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
