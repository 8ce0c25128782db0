import { expect } from "vitest";
import type { Message } from "../../src/messages/message.ts";
import { m } from "../../src/messages/messages.ts";

/** A message whose English text holds these words; for `toMatchObject` and its like. */
export function saying(words: string): unknown {
  return expect.toSatisfy((message) => String(message).includes(words), `says ${words}`);
}

/** Words that are nobody's message, in the place of one. */
export function words(text: string): Message {
  return m.common.foreign({ text });
}
