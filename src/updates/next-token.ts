/* Positions that the service names itself (`updates.next`): which of them may be followed. Pure. */
import { isUtf8Span, kindOf, readScalar, type Span, textOf } from "../answers/json-text.ts";
import { parseTimestamp } from "../answers/timestamp.ts";

/** What services write where there is no further position. */
const NOTHING = new Set(["", "0", "null", "false", "none"]);
/** A longer one fits no address. */
const TOKEN_CHARS_MAX = 2_000;

/**
 * The token that stands at `span`, or undefined where nothing is named: null, false, true, 0, an empty text, a list, an
 * object, and what could not be sent back as it came.
 */
export function readToken(bytes: Buffer, span: Span): string | undefined {
  const kind = kindOf(bytes, span);
  if (kind === "boolean" || !isUtf8Span(bytes, span)) return undefined;
  if (kind === "number") return Number(textOf(bytes, span)) === 0 ? undefined : textOf(bytes, span);
  const token = readScalar(bytes, span);
  if (token === undefined || token.length > TOKEN_CHARS_MAX) return undefined;
  return NOTHING.has(token.trim().toLowerCase()) ? undefined : token;
}

/**
 * Whether a token lies before another, as far as that is known: an earlier time, or a smaller number behind the same
 * letters. Of others only the service can say.
 *
 * @example
 * isBefore("cursor-7", "cursor-12", "UTC"); // true
 * isBefore("f00d", "beef", "UTC"); // false
 */
export function isBefore(token: string, than: string, timezone: string): boolean {
  const [, letters, digits] = NUMBERED.exec(token) ?? [];
  const [, otherLetters, otherDigits] = NUMBERED.exec(than) ?? [];
  if (digits !== undefined && otherDigits !== undefined)
    return letters === otherLetters && BigInt(digits) < BigInt(otherDigits);
  const [left, right] = [parseTimestamp(token, timezone), parseTimestamp(than, timezone)];
  return left !== undefined && right !== undefined && left.instantNs < right.instantNs;
}

/** Letters that are no part of a time, then digits. */
const NUMBERED = /^([^\d:]*)(\d{1,300})$/;
