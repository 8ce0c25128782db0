import type { ChangePatch, OrderDraft } from "./order-book.ts";

type Field = (value: unknown) => boolean;

const NUMBER_LITERAL = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

const text: Field = (value) => typeof value === "string";
const finite: Field = (value) => typeof value === "number" && Number.isFinite(value);
/** A number, or its literal where digits matter: `"0.250"`. */
const literal: Field = (value) => finite(value) || (typeof value === "string" && NUMBER_LITERAL.test(value));
const json: Field = (value) => {
  try {
    return typeof value === "string" && JSON.parse(value) !== undefined;
  } catch {
    return false;
  }
};
const orNull =
  (field: Field): Field =>
  (value) =>
    value === null || field(value);

const LINE: Record<string, Field> = { id: json, sku: text, name: text, quantity: literal, price: literal };
const line: Field = (value) => fits(value, LINE) && text((value as Record<string, unknown>)["sku"]);

const CHANGE: Record<string, Field> = {
  number: text,
  status: text,
  currency: text,
  total: literal,
  lines: (value) => Array.isArray(value) && value.every(line),
  extra: (value) => isMap(value) && Object.values(value).every(json),
  raw: orNull(text),
  stamp: finite,
  lateByMs: finite,
  keepStamp: (value) => typeof value === "boolean",
  stampText: orNull(json),
};

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fits(value: unknown, fields: Record<string, Field>): boolean {
  return (
    isMap(value) && Object.entries(value).every(([key, each]) => Object.hasOwn(fields, key) && fields[key]?.(each))
  );
}

function check(value: unknown, fields: Record<string, Field>): void {
  if (!isMap(value)) throw new TypeError("an order is described by an object");
  for (const [key, each] of Object.entries(value)) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (field === undefined) throw new TypeError(`${key}: no such property; known: ${Object.keys(fields).join(", ")}`);
    if (!field(each)) throw new TypeError(`${key}: ${JSON.stringify(each)} does not fit`);
  }
}

/** A description of a new order from outside, checked. Throws TypeError that names the property. */
export function readDraft(value: unknown): OrderDraft {
  check(value, { ...CHANGE, id: text });
  return value as OrderDraft;
}

/** The same for a change. */
export function readChange(value: unknown): ChangePatch {
  check(value, CHANGE);
  return value as ChangePatch;
}
