import { expect } from "vitest";
import type { Message } from "../../src/messages/message.ts";
import { m } from "../../src/messages/messages.ts";

/** Matches a message whose English text contains these words; for `toMatchObject` and similar. */
export function saying(words: string): unknown {
  return expect.toSatisfy((message) => String(message).includes(words), `says ${words}`);
}

/** A message with a fixed text. */
export function words(text: string): Message {
  return m.common.foreign({ text });
}
