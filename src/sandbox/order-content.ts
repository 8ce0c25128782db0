import type { ContentPatch, LineDraft } from "./order-draft.ts";

/**
 * One line of an order. Numbers are JSON literals as text (`0.250`, `9007199254740993`), because a JavaScript number
 * would lose digits.
 */
export interface OrderLine {
  readonly id: string;
  readonly sku: string;
  readonly name: string;
  readonly quantity: string;
  readonly price: string;
}

/** The content of one version of an order. */
export interface OrderContent {
  readonly number: string;
  readonly status: string;
  readonly currency: string;
  readonly total: string;
  readonly lines: readonly OrderLine[];
  /** Further properties: their names and JSON text. */
  readonly extra: Readonly<Record<string, string>>;
  /** The text of a record served instead of everything else, for example an invalid one; null for a usual order. */
  readonly raw: string | null;
}

const SCALE = 6;
/** A product of two scaled numbers has twice the scale; cents keep two digits of it. */
const CENT = 10n ** BigInt(2 * SCALE - 2);

function scaled(literal: string): bigint {
  const [, sign = "", units, fraction = ""] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(literal) ?? [];
  return units === undefined ? 0n : BigInt(`${sign}${units}${fraction.padEnd(SCALE, "0")}`);
}

/**
 * The exact sum of quantity times price, rounded half up to two decimals; a value that is not a plain number counts as
 * 0.
 */
export function sumOfLines(lines: readonly OrderLine[]): string {
  const sum = lines.reduce((total, line) => total + scaled(line.quantity) * scaled(line.price), 0n);
  const cents = (sum + CENT / 2n) / CENT;
  const digits = (cents < 0n ? -cents : cents).toString().padStart(3, "0");
  return `${cents < 0n ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

function completeLine(draft: LineDraft, index: number): OrderLine {
  return {
    id: draft.id ?? String(index + 1),
    sku: draft.sku,
    name: draft.name ?? `Товар ${draft.sku}`,
    quantity: String(draft.quantity ?? 1),
    price: String(draft.price ?? "100.00"),
  };
}

/** Applies a patch to the content. */
export function patchContent(base: OrderContent, patch: ContentPatch): OrderContent {
  const lines = patch.lines?.map(completeLine) ?? base.lines;
  const total = patch.total ?? (patch.lines === undefined ? base.total : sumOfLines(lines));
  return {
    number: patch.number ?? base.number,
    status: patch.status ?? base.status,
    currency: patch.currency ?? base.currency,
    total: String(total),
    lines,
    extra: patch.extra ?? base.extra,
    raw: patch.raw === undefined ? base.raw : patch.raw,
  };
}
