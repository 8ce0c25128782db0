/* Positions that the service names itself (`updates.next`): which may be followed. Pure. */
import { isUtf8Span, kindOf, readScalar, type Span, textOf } from "../../answers/json-text.ts";
import { parseTimestamp } from "../../answers/timestamp.ts";

/** What services write where there is no next position. */
const NOTHING = new Set(["", "0", "null", "false", "none"]);
/** A longer one does not fit into a URL. */
const TOKEN_CHARS_MAX = 2_000;

/**
 * The token at `span`; undefined for null, false, true, 0, an empty text, a list, an object, and what cannot be sent
 * back unchanged.
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
 * Whether a token is before another, as far as that is known: an earlier time, or a smaller number after equal letters.
 * Of other tokens this is unknown, and false.
 *
 * @example
 * isBefore("cursor-7", "cursor-12", "UTC"); // true
 * isBefore("f00d", "beef", "UTC"); // false
 */
export function isBefore(token: string, than: string, timezone: string): boolean {
  const [one, other] = [numberOf(token), numberOf(than)];
  if (one !== undefined && other !== undefined) {
    if (one.letters !== other.letters) return false;
    const isSameUnit = one.unitNs === undefined || other.unitNs === undefined || one.unitNs === other.unitNs;
    return isSameUnit ? one.value < other.value : instantNs(one) < instantNs(other);
  }
  const [left, right] = [parseTimestamp(token, timezone), parseTimestamp(than, timezone)];
  return left !== undefined && right !== undefined && left.instantNs < right.instantNs;
}

/** Whether two tokens have different forms: other letters, or another unit of time. False where neither is a number. */
export function isOtherForm(token: string, than: string): boolean {
  const [one, other] = [numberOf(token), numberOf(than)];
  if (one === undefined || other === undefined) return one !== other;
  if (one.letters !== other.letters) return true;
  return one.unitNs !== undefined && other.unitNs !== undefined && one.unitNs !== other.unitNs;
}

/**
 * The same time in the form of another token, rounded down, where both are digits of a time.
 *
 * @example
 * inFormOf("1772366461007", "1772369690"); // "1772366461"
 */
export function inFormOf(token: string, named: string): string | undefined {
  const [one, other] = [numberOf(token), numberOf(named)];
  if (one?.unitNs === undefined || other?.unitNs === undefined || other.value === 0n) return undefined;
  const text = `${other.letters}${instantNs(one) / other.unitNs}`;
  return text === token || numberOf(text)?.unitNs !== other.unitNs ? undefined : text;
}

/** Letters that are no part of a time, then digits. */
const NUMBERED = /^([^\d:]*)(\d{1,300})$/;

/** Units of times since 1970, by their number of digits from 2001 on for some centuries. */
const UNITS_NS: ReadonlyMap<number, bigint> = new Map([
  [10, 1_000_000_000n],
  [13, 1_000_000n],
  [16, 1_000n],
  [19, 1n],
]);

interface NumberedToken {
  letters: string;
  value: bigint;
  /** Undefined where the digits are no time. */
  unitNs: bigint | undefined;
}

function numberOf(token: string): NumberedToken | undefined {
  const [, letters = "", digits] = NUMBERED.exec(token) ?? [];
  return digits === undefined
    ? undefined
    : { letters, value: BigInt(digits), unitNs: UNITS_NS.get(digits.startsWith("0") ? 0 : digits.length) };
}

function instantNs({ value, unitNs = 1n }: NumberedToken): bigint {
  return value * unitNs;
}
