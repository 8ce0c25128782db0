/* Which members of an answer are read, and how much of a text: what is longer or deeper is data of the shop. */

import { type JsonKind, kindOf, type Span, someMember } from "../../answers/json-text.ts";

/** More than a message shows, in any script. */
export const TEXT_BYTES = 1_200;
export const NAME_MAX = 40;
/** The root, an envelope, and its content. */
export const LEVELS = 3;

interface NestedMember {
  key: string;
  value: Span;
  kind: JsonKind;
  /** `data.stats.accepted` */
  path: string;
}

/**
 * Whether any member of an object, or of the objects in it, passes. Each object is visited before its members.
 * @param passes `"outside"`: no, and the members of this object are not visited
 */
export function someMemberWithin(
  bytes: Buffer,
  object: Span,
  passes: (member: NestedMember) => boolean | "outside",
  { levels = LEVELS, above = "" } = {},
): boolean {
  return someMember(bytes, object, ({ key, value }) => {
    if (key.length > NAME_MAX) return false;
    const [kind, path] = [kindOf(bytes, value), `${above}${key}`];
    const is = passes({ key, value, kind, path });
    if (is !== false || kind !== "object" || levels <= 1) return is === true;
    return someMemberWithin(bytes, value, passes, { levels: levels - 1, above: `${path}.` });
  });
}

/** Keys that are record keys, numbers or ids differ in each answer. */
export function isVaryingKey(key: string): boolean {
  return /\d{3}/.test(key);
}

/** A member's name in lower case without separators. */
export function plainName(key: string): string {
  return key.replace(/[_\- .]/g, "").toLowerCase();
}
