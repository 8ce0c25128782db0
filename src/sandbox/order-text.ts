import { type Property, writeObject } from "./json-text.ts";
import type { Name, SandboxOptions } from "./options.ts";
import { newestVersion, type OrderVersion, type StoredOrder } from "./order-book.ts";
import type { OrderLine } from "./order-content.ts";
import { type Random, shuffled } from "./random.ts";
import { writeTimestamp } from "./timestamps.ts";

/** The keys of a name written with dots or as a list; undefined where the property is omitted. */
export function pathOf(name: Name): readonly string[] | undefined {
  if (name === null) return undefined;
  return typeof name === "string" ? name.split(".") : name;
}

/** An order's id in the service's form. */
export function writtenId(id: string, options: SandboxOptions): string {
  return options.shape.upperCaseIds ? id.toUpperCase() : id;
}

function writeNamed(fields: readonly (readonly [Name, string | null])[], shuffle?: Random): string {
  const properties: Property[] = [];
  for (const [name, text] of fields) {
    const path = pathOf(name);
    if (path !== undefined && text !== null) properties.push({ path, text });
  }
  return writeObject(shuffle === undefined ? properties : shuffled(shuffle, properties));
}

function amount(literal: string, options: SandboxOptions): string {
  return options.shape.amounts === "string" ? JSON.stringify(literal) : literal;
}

function lineText(line: OrderLine, options: SandboxOptions): string {
  const names = options.shape.line;
  return writeNamed([
    [names.id, line.id],
    [names.sku, JSON.stringify(line.sku)],
    [names.name, JSON.stringify(line.name)],
    [names.quantity, amount(line.quantity, options)],
    [names.price, amount(line.price, options)],
  ]);
}

function linesText(lines: readonly OrderLine[], options: SandboxOptions): string {
  return `[${lines.map((line) => lineText(line, options)).join(",")}]`;
}

function timestampText(version: OrderVersion, options: SandboxOptions): string | null {
  return version.timestampText === undefined ? writeTimestamp(version.timestampUs, options) : version.timestampText;
}

function ownOf(lines: readonly OrderLine[], { shape: { own } }: SandboxOptions): (readonly [Name, string])[] {
  if (own === "none") return [];
  if (own === "error") return [["error_message", JSON.stringify("Card declined")]];
  // Goods sold by weight are one piece each.
  const pieces = lines.map(({ quantity }) => (/^\d+$/.test(quantity) ? Number(quantity) : 1));
  return [["items_count", String(own === "lines" ? lines.length : pieces.reduce((sum, each) => sum + each, 0))]];
}

export interface OrderTextOptions {
  readonly options: SandboxOptions;
  /** The version to write; by default the newest. */
  readonly version?: OrderVersion;
  /** Whether this is a snapshot, which always includes `extra` properties. */
  readonly snapshot?: boolean;
  /** Shuffles the properties. */
  readonly shuffle?: Random;
}

/** A whole order as a record of the service. */
export function orderText(order: StoredOrder, settings: OrderTextOptions): string {
  const { options, version = newestVersion(order) } = settings;
  const { content } = version;
  if (content.raw !== null) return content.raw;
  const names = options.shape.order;
  const withExtra = settings.snapshot === true || options.shape.extra === "everywhere";
  const extra = withExtra ? Object.entries(content.extra).map(([key, text]) => [[key], text] as const) : [];
  return writeNamed(
    [
      [names.order_id, JSON.stringify(writtenId(order.id, options))],
      [names.number, JSON.stringify(content.number)],
      [names.status, JSON.stringify(content.status)],
      [names.created_at, writeTimestamp(order.createdUs, options)],
      [names.updated_at, timestampText(version, options)],
      [names.currency, JSON.stringify(content.currency)],
      [names.total, amount(content.total, options)],
      ...extra,
      ...ownOf(content.lines, options),
      [names.items, linesText(content.lines, options)],
    ],
    settings.shuffle,
  );
}

/** A change: id, status, timestamp and, where configured, the lines. */
export function changeText(order: StoredOrder, version: OrderVersion, settings: OrderTextOptions): string {
  const { options } = settings;
  const { change, order: names } = options.shape;
  const { content } = version;
  return writeNamed(
    [
      [change.order_id ?? names.order_id, JSON.stringify(writtenId(order.id, options))],
      [change.status ?? names.status, JSON.stringify(content.status)],
      [change.updated_at ?? names.updated_at, timestampText(version, options)],
      [change.items ?? names.items, options.updates.lines ? linesText(content.lines, options) : null],
    ],
    settings.shuffle,
  );
}
