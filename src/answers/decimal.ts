/** An exact decimal number: `coefficient` × 10^-`scale`, `scale` from 0. */
export interface Decimal {
  readonly coefficient: bigint;
  readonly scale: number;
}

/**
 * The most digits of a number written without an exponent. Every double fits, and `1e999999999` cannot exhaust memory.
 */
const DECIMAL_DIGITS_MAX = 400;

/** The usual case: an integer without leading zeros, of at most 15 digits. */
const PLAIN = /^(?:0|-?[1-9][0-9]{0,14})$/;
const NUMBER = /^([+-]?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * Parses a number as an ERP writes it: optional sign, digits (leading zeros allowed), optional fraction and exponent,
 * white space around. Returns undefined for anything else, including a comma or a bare dot, and for more than {@link
 * DECIMAL_DIGITS_MAX} digits.
 */
export function parseDecimal(text: string): Decimal | undefined {
  if (PLAIN.test(text)) return { coefficient: BigInt(text), scale: 0 };
  const match = NUMBER.exec(text.trim());
  if (match === null) return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  if (digits === "") return { coefficient: 0n, scale: 0 };
  const scale = fraction.length - Number(exponent);
  const written = scale < 0 ? digits.length - scale : Math.max(digits.length, scale);
  if (written > DECIMAL_DIGITS_MAX) return undefined;
  const size = BigInt(digits) * 10n ** BigInt(Math.max(0, -scale));
  return { coefficient: sign === "-" ? -size : size, scale: Math.max(0, scale) };
}

/** The shortest text of the value, without an exponent: `1.0` is `1`, `-0` is `0`, `0.250` is `0.25`. */
export function formatDecimal({ coefficient, scale }: Decimal): string {
  if (scale === 0) return coefficient.toString();
  const negative = coefficient < 0n;
  const digits = (negative ? -coefficient : coefficient).toString().padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, "");
  const text = fraction === "" ? whole : `${whole}.${fraction}`;
  return negative ? `-${text}` : text;
}

/** The same text for all numbers of equal value, or undefined for what {@link parseDecimal} does not parse. */
export function normalizeDecimal(text: string): string | undefined {
  const decimal = parseDecimal(text);
  return decimal === undefined ? undefined : formatDecimal(decimal);
}

/** The number as a JSON literal: white space, `+` and leading zeros are removed, all other digits are kept. */
export function numberLiteral(text: string): string | undefined {
  if (PLAIN.test(text)) return text;
  const written = text.trim();
  if (parseDecimal(written) === undefined) return undefined;
  return written.replace(/^\+/, "").replace(/^(-?)0+(?=[0-9])/, "$1");
}

export function addDecimals(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return { coefficient: scaled(a, scale) + scaled(b, scale), scale };
}

export function subtractDecimals(a: Decimal, b: Decimal): Decimal {
  return addDecimals(a, { coefficient: -b.coefficient, scale: b.scale });
}

/** -1, 0 or 1 as `a` is less than, equal to or greater than `b`. */
export function compareDecimals(a: Decimal, b: Decimal): -1 | 0 | 1 {
  const difference = subtractDecimals(a, b).coefficient;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function scaled(decimal: Decimal, scale: number): bigint {
  return scale === decimal.scale ? decimal.coefficient : decimal.coefficient * 10n ** BigInt(scale - decimal.scale);
}

/**
 * Whether two texts are numerically equal. Identical texts always are, even beyond the digits that {@link parseDecimal}
 * accepts: a literal that the service echoes must not differ from itself.
 */
export function sameNumber(a: string, b: string): boolean {
  if (a === b) return true;
  const left = parseDecimal(a);
  const right = parseDecimal(b);
  return left !== undefined && right !== undefined && compareDecimals(left, right) === 0;
}

/** Longer expansions keep their exponent: 1e300 is easier to read than 301 digits. */
const EXPANDED_DIGITS_MAX = 39;

/** The shortest decimal that parses to the same double (`0.1`, not `0.1000000000000000055`), as a JSON number. */
export function shortestDecimal(value: number): string | undefined {
  if (!Number.isFinite(value)) return undefined;
  const shortest = String(value);
  const expanded = normalizeDecimal(shortest);
  if (expanded === undefined) return shortest;
  return expanded.replace(/[-.]/g, "").length > EXPANDED_DIGITS_MAX ? shortest : expanded;
}
