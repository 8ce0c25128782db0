/*
 * What the text of a record comes to with key order and white space aside. Working that out costs far more than hashing
 * the text, and most records of a poll were in the poll before, to the letter: their content is remembered for as long as
 * the process lives. Nothing depends on it being remembered.
 */
import { hash } from "node:crypto";
import { canonicalJson } from "../domain/json-value.ts";
import type { AnswerRecord } from "../domain/read-answer.ts";

/** A day's changes of a large shop, in some 10 MB; then it begins anew. */
const CONTENTS_MAX = 50_000;

export class KnownContents {
  readonly #contents = new Map<string, Buffer>();

  /** @throws JsonDepthError */
  hashOf(body: Buffer, record: AnswerRecord): Buffer {
    const text = record.hash.toString("latin1");
    const known = this.#contents.get(text);
    if (known !== undefined) return known;
    const content = hash("sha256", canonicalJson(body, record.span), "buffer");
    if (this.#contents.size >= CONTENTS_MAX) this.#contents.clear();
    this.#contents.set(text, content);
    return content;
  }
}
