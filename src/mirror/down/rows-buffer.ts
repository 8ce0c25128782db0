/*
 * Rows to be sent, as one array per column in PostgreSQL's binary format (`array_recv`), so that the server parses each
 * value once. Rows are encoded as they are read, so that they can be garbage collected before V8 promotes them to the old
 * generation, whose memory it does not return.
 */
import type { Columns, Values } from "./down-columns.ts";
import { GrowingBytes } from "./growing-bytes.ts";

const OIDS = { text: 25, jsonb: 3802 };
const NULL_LENGTH = -1;
/** The first byte of a jsonb. */
const JSONB_VERSION = 1;
const SIZES = { startBytes: 1024, keptBytes: 256 * 1024 };

/** The array type of a column's values: `jsonb` as JSON text, everything else as text, which the statement casts. */
export function kindOf(type: string): keyof typeof OIDS {
  return type === "jsonb" ? "jsonb" : "text";
}

interface Column {
  name: string;
  kind: keyof typeof OIDS;
  hasNull: boolean;
  values: GrowingBytes;
}

export class RowsBuffer<C extends Columns> {
  readonly #columns: readonly Column[];
  #count = 0;

  constructor(columns: C, rows: readonly Values<C>[] = []) {
    this.#columns = Object.entries(columns).map(([name, type]) => ({
      name,
      kind: kindOf(type),
      hasNull: false,
      values: new GrowingBytes(SIZES),
    }));
    for (const row of rows) this.add(row);
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#columns.reduce((sum, { values }) => sum + values.length, 0);
  }

  get columns(): number {
    return this.#columns.length;
  }

  clear(): void {
    this.#count = 0;
    for (const column of this.#columns) {
      column.hasNull = false;
      column.values.clear();
    }
  }

  add(row: Values<C>): void {
    this.#count += 1;
    for (const column of this.#columns) {
      const { kind, values } = column;
      const value = row[column.name] ?? null;
      if (value === null) {
        column.hasNull = true;
        values.int32(NULL_LENGTH);
        continue;
      }
      values.withLength(() => {
        if (kind === "jsonb") values.byte(JSONB_VERSION);
        values.text(String(value));
      });
    }
  }

  /** Appends each column as a parameter of a Bind message. */
  writeTo(message: GrowingBytes): void {
    for (const { kind, hasNull, values } of this.#columns) {
      message.withLength(() => {
        message.int32(1); // dimension
        message.int32(hasNull ? 1 : 0);
        message.int32(OIDS[kind]);
        message.int32(this.#count);
        message.int32(1); // lower bound
        message.append(values);
      });
    }
  }
}

/** Two alternating buffers: one is filled while the rows of the other are written to PostgreSQL. */
export class RowsBuffers<C extends Columns> {
  readonly #columns: C;
  #next: RowsBuffer<C> | undefined;
  #last: RowsBuffer<C> | undefined;

  constructor(columns: C) {
    this.#columns = columns;
  }

  next(): RowsBuffer<C> {
    const next = this.#next ?? new RowsBuffer(this.#columns);
    this.#next = this.#last;
    this.#last = next;
    next.clear();
    return next;
  }

  /** Releases the memory of giant rows. */
  release(): void {
    this.#next?.clear();
    this.#last?.clear();
  }
}
