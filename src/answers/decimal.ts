/** An exact decimal number: `coefficient` × 10^-`scale`, `scale` from 0. Floats would turn 0.1 + 0.2 into something else. */
export interface Decimal {
  readonly coefficient: bigint;
  readonly scale: number;
}

/** The most digits of a number without an exponent: every double fits, and `1e999999999` cannot fill the memory. */
export const DECIMAL_DIGITS_MAX = 400;

/** What most numbers are: whole, as short as they can be, and no larger than a double counts exactly. */
const PLAIN = /^(?:0|-?[1-9][0-9]{0,14})$/;
const NUMBER = /^([+-]?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * Reads what an ERP writes as a number: optional sign, digits (leading zeros too), optional fraction and exponent, blanks
 * around. Undefined for anything else, a comma or a bare dot included, and for more than {@link DECIMAL_DIGITS_MAX} digits.
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

/** The shortest text of the value, without exponent: `1.0` is `1`, `-0` is `0`, `0.250` is `0.25`. */
export function formatDecimal({ coefficient, scale }: Decimal): string {
  if (scale === 0) return coefficient.toString();
  const negative = coefficient < 0n;
  const digits = (negative ? -coefficient : coefficient).toString().padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, "");
  const text = fraction === "" ? whole : `${whole}.${fraction}`;
  return negative ? `-${text}` : text;
}

/** The one text that all numbers of this value share, or undefined for what {@link parseDecimal} does not read. */
export function normalizeDecimal(text: string): string | undefined {
  const decimal = parseDecimal(text);
  return decimal === undefined ? undefined : formatDecimal(decimal);
}

/** The number as it was written, made fit for JSON: blanks, `+` and leading zeros go, every other digit stays. */
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
 * Whether two texts are the same number by value. Equal texts always are, also beyond the digits that
 * {@link parseDecimal} takes: a literal that the service echoes must not look changed for ever.
 */
export function sameNumber(a: string, b: string): boolean {
  if (a === b) return true;
  const left = parseDecimal(a);
  const right = parseDecimal(b);
  return left !== undefined && right !== undefined && compareDecimals(left, right) === 0;
}

/** Longer expansions than this keep their exponent: 1e300 is easier to read than a one and three hundred zeros. */
const EXPANDED_DIGITS_MAX = 39;

/** A real as the shortest decimal that reads back as the same real (`0.1`, not `0.1000000000000000055`); a JSON number. */
export function shortestDecimal(value: number): string | undefined {
  if (!Number.isFinite(value)) return undefined;
  const shortest = String(value);
  const expanded = normalizeDecimal(shortest);
  if (expanded === undefined) return shortest;
  return expanded.replace(/[-.]/g, "").length > EXPANDED_DIGITS_MAX ? shortest : expanded;
}
