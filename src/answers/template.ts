import { Buffer } from "node:buffer";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { numberLiteral, sameNumber } from "./decimal.ts";
import { formatPath, type PathStep } from "./json-path.ts";
import { scanJson } from "./scan-json.ts";
import { TextSyntaxError } from "./text-syntax-error.ts";

/** A request body with placeholders, checked when the configuration is read. */
export interface Template {
  readonly root: TemplateNode;
}

export type TemplateNode =
  | { readonly kind: "json"; readonly text: string }
  | { readonly kind: "text"; readonly parts: readonly TemplatePart[] }
  | { readonly kind: "list"; readonly items: readonly TemplateNode[] }
  | { readonly kind: "object"; readonly members: readonly TemplateMember[] };

export interface TemplateMember {
  readonly key: string;
  /** The key as JSON, with its colon. */
  readonly label: string;
  readonly value: TemplateNode;
}

export type TemplatePart = string | Placeholder;

export interface Placeholder {
  readonly name: string;
  readonly conversion: Conversion | undefined;
}

export type Conversion = "number" | "string" | "json" | "bool";

/** The value of a placeholder. Numbers are given as literals, so that none is converted to a float. */
export type TemplateValue =
  | { readonly kind: "null" }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "number"; readonly literal: string }
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "json"; readonly text: string };

/**
 * A value that the template does not accept: an error in the record, not in the configuration. The message never quotes
 * the value.
 */
export class RenderError extends Error {
  readonly placeholder: string;
  readonly reason: Message;

  constructor(placeholder: string, reason: Message) {
    super(`{${placeholder}}: ${reason}`);
    this.name = "RenderError";
    this.placeholder = placeholder;
    this.reason = reason;
  }
}

const CONVERSIONS: readonly Conversion[] = ["number", "string", "json", "bool"];
const NESTING_MAX = 100;
/** Text without braces, an escaped brace, or a placeholder; a column may have any name, so only `{ } |` end it. */
const PART = /([^{}]+)|(\{\{|\}\})|\{([^{}|]+)(?:\|([^{}|]*))?\}/y;

/**
 * Parses a template from a YAML value. Strings may contain `{name}` with one conversion (`{name|number}`); `{{` and
 * `}}` are literal braces. Keys have no placeholders.
 *
 * @throws TextSyntaxError also for what JSON cannot represent (NaN, a date) and integers that YAML has already rounded.
 */
export function parseTemplate(value: unknown): Template {
  return { root: parseNode(value, []) };
}

function parseNode(value: unknown, steps: readonly PathStep[]): TemplateNode {
  if (steps.length > NESTING_MAX) throw new TextSyntaxError(m.answers.nestedTooDeeply, { at: formatPath(steps) });
  if (value === null || typeof value === "boolean" || typeof value === "bigint") {
    return { kind: "json", text: String(value) };
  }
  if (typeof value === "number") return { kind: "json", text: numberText(value, steps) };
  if (typeof value === "string") return { kind: "text", parts: parseText(value, formatPath(steps)) };
  if (Array.isArray(value)) {
    return { kind: "list", items: value.map((item: unknown, i) => parseNode(item, [...steps, i])) };
  }
  const prototype: unknown = typeof value === "object" ? Object.getPrototypeOf(value) : undefined;
  if (typeof value !== "object" || (prototype !== Object.prototype && prototype !== null)) {
    throw new TextSyntaxError(m.answers.templateValue, { at: formatPath(steps) });
  }
  const members = Object.entries(value).map(([key, inner]) => {
    const at = [...steps, key];
    const parts = parseText(key, formatPath(at));
    if (parts.some((part) => typeof part !== "string")) {
      throw new TextSyntaxError(m.answers.templateKey, { at: formatPath(at) });
    }
    const name = parts.join("");
    return { key: name, label: `${JSON.stringify(name)}:`, value: parseNode(inner, at) };
  });
  return { kind: "object", members };
}

function numberText(value: number, steps: readonly PathStep[]): string {
  if (!Number.isFinite(value)) throw new TextSyntaxError(m.answers.notJsonNumber, { at: formatPath(steps) });
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new TextSyntaxError(m.answers.inexactNumber, { at: formatPath(steps) });
  }
  return JSON.stringify(value);
}

function parseText(text: string, at: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  const match = new RegExp(PART);
  while (match.lastIndex < text.length) {
    const column = match.lastIndex + 1;
    const found = match.exec(text);
    if (found === null) {
      throw new TextSyntaxError(m.answers.strayBrace, { at, column });
    }
    const [, plain, braces, name, conversion] = found;
    if (plain !== undefined) parts.push(plain);
    else if (braces !== undefined) parts.push(braces[0] ?? "");
    else parts.push(readPlaceholder(name ?? "", conversion, at, column));
  }
  return parts;
}

function readPlaceholder(name: string, conversion: string | undefined, at: string, column: number): Placeholder {
  if (name.trim() === "") throw new TextSyntaxError(m.answers.namelessPlaceholder, { at, column });
  if (conversion === undefined) return { name: name.trim(), conversion: undefined };
  const known = CONVERSIONS.find((one) => one === conversion.trim());
  if (known === undefined) {
    const names = CONVERSIONS.map((one) => `|${one}`);
    throw new TextSyntaxError(m.answers.unknownConversion({ name: conversion.trim(), names }), { at, column });
  }
  return { name: name.trim(), conversion: known };
}

/** The names of the placeholders, each once, in order of appearance. */
export function placeholdersOf(template: Template): string[] {
  const names = new Set<string>();
  const visit = (node: TemplateNode): void => {
    if (node.kind === "list") for (const item of node.items) visit(item);
    if (node.kind === "object") for (const member of node.members) visit(member.value);
    if (node.kind === "text") for (const part of node.parts) if (typeof part !== "string") names.add(part.name);
  };
  visit(template.root);
  return [...names];
}

/**
 * Renders the template as JSON text. A string that is exactly one placeholder becomes a value of the placeholder's own
 * type, number literals as written; elsewhere the value is inserted as text, null as an empty text. null passes every
 * conversion unchanged.
 *
 * @throws RenderError for a missing value or one that its conversion does not accept.
 */
export function renderTemplate(template: Template, value: (name: string) => TemplateValue | undefined): string {
  const render = (node: TemplateNode): string => {
    if (node.kind === "json") return node.text;
    if (node.kind === "list") return `[${node.items.map(render).join(",")}]`;
    if (node.kind === "object") {
      return `{${node.members.map(({ label, value }) => label + render(value)).join(",")}}`;
    }
    const [only] = node.parts;
    if (node.parts.length === 1 && only !== undefined && typeof only !== "string") {
      return jsonOf(converted(only, value));
    }
    const texts = node.parts.map((part) => (typeof part === "string" ? part : plainOf(converted(part, value))));
    return JSON.stringify(texts.join(""));
  };
  return render(template.root);
}

function jsonOf(value: TemplateValue): string {
  return value.kind === "text" ? JSON.stringify(value.text) : value.kind === "null" ? "null" : plainOf(value);
}

function plainOf(value: TemplateValue): string {
  switch (value.kind) {
    case "null":
      return "";
    case "number":
      return value.literal;
    case "bool":
      return String(value.value);
    default:
      return value.text;
  }
}

function converted(placeholder: Placeholder, lookup: (name: string) => TemplateValue | undefined): TemplateValue {
  const { name, conversion } = placeholder;
  const value = lookup(name);
  if (value === undefined) throw new RenderError(name, m.answers.noSuchValue);
  if (value.kind === "number" && numberLiteral(value.literal) !== value.literal) {
    throw new RenderError(name, m.answers.numberNotJson);
  }
  const checked = value.kind === "json" ? toJson(name, value.text) : value;
  if (conversion === undefined || checked.kind === "null") return checked;
  if (conversion === "string") return { kind: "text", text: plainOf(checked) };
  if (conversion === "json") return checked.kind === "text" ? toJson(name, checked.text) : checked;
  return conversion === "number" ? toNumber(name, checked) : toBool(name, checked);
}

function toJson(name: string, text: string): TemplateValue {
  const bytes = Buffer.from(text);
  try {
    const { start, end } = scanJson(bytes);
    return { kind: "json", text: bytes.toString("utf8", start, end) };
  } catch {
    throw new RenderError(name, m.answers.textNotJson);
  }
}

function toNumber(name: string, value: TemplateValue): TemplateValue {
  const literal = value.kind === "bool" ? undefined : numberLiteral(plainOf(value));
  if (literal === undefined) throw new RenderError(name, m.answers.valueNotNumber);
  return { kind: "number", literal };
}

function toBool(name: string, value: TemplateValue): TemplateValue {
  const text = plainOf(value).trim().toLowerCase();
  if (text === "true" || sameNumber(text, "1")) return { kind: "bool", value: true };
  if (text === "false" || sameNumber(text, "0")) return { kind: "bool", value: false };
  throw new RenderError(name, m.answers.valueNotBoolean);
}

/**
 * Renders a request path such as `/api/v1/1c/orders/{order_id}/status`, with each value percent-encoded. The result
 * stays on the service's host and has the segments of the configured path: no `.` or `..` segments, no empty values.
 *
 * @throws TextSyntaxError for an invalid path, RenderError for an invalid value.
 */
export function renderPath(path: string, values: Readonly<Record<string, string>>): string {
  // Two slashes or a backslash at the front would address another host, and a fragment is never sent.
  if (!/^\/(?!\/)[^\\#\s]*$/.test(path)) {
    throw new TextSyntaxError(m.answers.urlPath, { at: path });
  }
  const parts = parseText(path, path);
  const rendered = parts.map((part) => (typeof part === "string" ? part : encoded(part, path, values))).join("");
  const [beforeQuery = ""] = rendered.split("?");
  const dotted = beforeQuery.split("/").some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
  const first = parts.find((part) => typeof part !== "string");
  if (dotted && first !== undefined) throw new RenderError(first.name, m.answers.pathLeaves);
  if (dotted) throw new TextSyntaxError(m.answers.dotSegments, { at: path });
  return rendered;
}

function encoded(part: Placeholder, path: string, values: Readonly<Record<string, string>>): string {
  if (part.conversion !== undefined) throw new TextSyntaxError(m.answers.pathConversion, { at: path });
  const value = Object.hasOwn(values, part.name) ? values[part.name] : undefined;
  if (value === undefined) throw new RenderError(part.name, m.answers.noSuchValue);
  if (value === "") throw new RenderError(part.name, m.answers.valueEmpty);
  if (!value.isWellFormed()) throw new RenderError(part.name, m.answers.valueHalfPair);
  return encodeURIComponent(value);
}
