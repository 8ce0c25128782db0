import { expect } from "vitest";

/** A message whose English text holds these words; for `toMatchObject` and its like. */
export function saying(words: string): unknown {
  return expect.toSatisfy((message) => String(message).includes(words), `says ${words}`);
}
