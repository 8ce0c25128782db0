/* An answer that is read once: its text or JSON, and the members of its top levels. What is longer or deeper is data of the shop. */

import { headOf, type JsonKind, kindOf, type Span, someMember, stringOf, textOf } from "../../answers/json-text.ts";

/** More than a message shows, in any script. */
export const TEXT_BYTES = 1_200;
export const NAME_MAX = 40;
/** The root, an envelope, and its content. */
const LEVELS = 3;

/** The whole answer, or a member of it. */
export class Answer {
  readonly body: Buffer;
  /** Of the JSON; absent where it is none. */
  readonly root: Span | undefined;
  readonly span: Span;
  readonly kind: JsonKind | "text";
  /** Empty for the whole. */
  readonly key: string;
  /** Whose object this is a member of. */
  readonly above: Answer | undefined;
  /** 0 for the whole. */
  readonly level: number;
  #members: Answer[] | undefined;

  constructor(body: Buffer, root?: Span, key = "", above?: Answer) {
    this.body = body;
    this.root = root;
    this.span = root ?? { start: 0, end: body.length };
    this.kind = root === undefined ? "text" : kindOf(body, root);
    this.key = key;
    this.above = above;
    this.level = above === undefined ? 0 : above.level + 1;
  }

  /** `accepted_rows` becomes `acceptedrows`. */
  get name(): string {
    return plainName(this.key);
  }

  /** `data.stats.accepted` */
  get path(): string {
    return this.level > 1 ? `${this.above?.path}.${this.key}` : this.key;
  }

  /** The beginning of the body, also of JSON. */
  get start(): string {
    return this.body.toString("utf8", 0, TEXT_BYTES);
  }

  /** A string, or the literal of another scalar; empty for lists and objects; the beginning of a text that is no JSON. */
  get text(): string {
    if (this.kind === "text") return this.start;
    if (this.kind === "string") return stringOf(this.body, this.span);
    return this.kind === "array" || this.kind === "object" ? "" : textOf(this.body, this.span);
  }

  get head(): string {
    return this.kind === "string" ? headOf(this.body, this.span, TEXT_BYTES) : this.text;
  }

  /** Each before those in its own object; none where this is no object. */
  get members(): readonly Answer[] {
    this.#members ??= this.#findAll([]);
    return this.#members;
  }

  /** The members without those that pass, and all that is in them. */
  without(passes: (member: Answer) => boolean): Answer[] {
    const outside = new Set<Answer | undefined>();
    return this.members.filter((member) => {
      const isOutside = outside.has(member.above) || passes(member);
      if (isOutside) outside.add(member);
      return !isOutside;
    });
  }

  #findAll(all: Answer[]): Answer[] {
    if (this.kind !== "object" || this.level === LEVELS) return all;
    someMember(this.body, this.span, ({ key, value }) => {
      if (key.length > NAME_MAX) return false;
      const member = new Answer(this.body, value, key, this);
      all.push(member);
      member.#findAll(all);
      return false;
    });
    return all;
  }
}

/** Keys that are record keys, numbers or ids differ in each answer. */
export function isVaryingKey({ key }: { key: string }): boolean {
  return /\d{3}/.test(key);
}

/** A member's name in lower case without separators. */
export function plainName(key: string): string {
  return key.replace(/[_\- .]/g, "").toLowerCase();
}
