/*
 * Finds the present keys of rows that were sent under a former key. The source is read once into temporary tables.
 */
import type { Store } from "../../database/store.ts";
import type { JobContext } from "../../pass/job.ts";
import { KeySet } from "../diff/key-set.ts";
import type { FeedRules } from "../feed.ts";
import { keyText, keyTexts, type SourceRow } from "../feed-record.ts";
import { paddedKey } from "../feed-rows.ts";
import { MissingColumns } from "../source/feed-triggers.ts";
import { areSmall, UNMEASURED } from "../source/source-reader.ts";
import { openRows, proveSource, type SourceRows } from "../source/source-rows.ts";
import { type FormerKey, KeyReader, type Naming, planName } from "./former-key.ts";

const ROWS_PER_READ = 500;

/** Maps a former key, with the record acknowledged under it. */
export type Rename = (key: readonly string[], record: string) => Naming;

/**
 * Reads the source and runs `work` with a function that renames rows sent under `from`.
 * @throws BridgeError where the source cannot be read
 */
export async function withNames(
  context: JobContext,
  rules: FeedRules,
  from: FormerKey,
  signal: AbortSignal,
  work: (rename: Rename) => Promise<void>,
): Promise<void> {
  const bySource = new NameList(context.store, `${rules.name}_source`);
  const byRecord = new NameList(context.store, `${rules.name}_record`);
  bySource.open();
  byRecord.open();
  try {
    const reader = new KeyReader(from, rules);
    const present = new KeySet();
    for await (const { rows, hasFormer } of readSource(context, rules, from.of === "record" ? [] : from.keys)) {
      const named = rows.flatMap((row) => {
        const key = keyTexts(rules, row);
        return key === undefined ? [] : [{ row, key: key }];
      });
      for (const { key } of named) present.add(key);
      const said = named.map(({ row, key }) => ({ said: reader.saidOf(row), row, present: key }));
      byRecord.add(said.map(({ said, present }) => ({ former: said && [JSON.stringify(said)], present, said })));
      if (hasFormer)
        bySource.add(said.map(({ row, said, present }) => ({ former: keyOf(from.keys, row), present, said })));
      await context.clock.sleep(0, signal);
    }
    const parts = rules.keys.length;
    const isSameKey = from.of === undefined && JSON.stringify(from.keys) === JSON.stringify(rules.keys);
    await work((key, record) => {
      if (isSameKey) return { kind: "named", key, isPresent: present.has(key), else: "waiting" };
      const said = reader.saidBy(record);
      const there = from.of === "record" ? undefined : bySource.find(key);
      // The column may now have another meaning: a row that is known to be another article is ignored.
      const isOther = there?.said !== undefined && reader.isOther(there.said, record);
      return planName({
        byRecord: said && byRecord.find([JSON.stringify(said)], { isFirst: true })?.present.slice(0, parts),
        bySource: isOther ? undefined : there?.present.slice(0, parts),
        byTemplate: reader.byTemplate(key, record),
        isPresent: (name) => present.has(name),
        agrees: (name) => reader.agrees(name, record),
        canCompare: reader.canCompare(record),
      });
    });
  } finally {
    bySource.close();
    byRecord.close();
  }
}

function keyOf(columns: readonly string[], row: SourceRow): string[] | undefined {
  const key = columns.map((column) => keyText(row[column] ?? null));
  return key.every((part) => part !== undefined) ? key : undefined;
}

/** Reads all rows in steps, with the former columns if the source still has them. */
async function* readSource(
  context: JobContext,
  rules: FeedRules,
  former: readonly string[],
): AsyncGenerator<{ rows: SourceRow[]; hasFormer: boolean }> {
  const place = { databasePath: context.store.path, isStopping: context.isStopping };
  const open = (columns: readonly string[]): Promise<SourceRows> =>
    openRows({ ...rules, columns: [...new Set(columns)] }, place);
  let hasFormer = true;
  const reader = await open([...former, ...rules.columns]).catch((error: unknown) => {
    if (!(error instanceof MissingColumns)) throw error;
    hasFormer = false;
    return open(rules.columns);
  });
  try {
    const measured = reader.mayNotEnd ? await proveSource(rules, place) : UNMEASURED;
    for await (const rows of reader.steps({ exactly: false, areSmall: areSmall(measured) }, ROWS_PER_READ))
      yield { rows, hasFormer };
  } finally {
    reader.close();
  }
}

/** A temporary table that maps former keys to present ones, as the source has them. */
class NameList {
  readonly #store: Store;
  readonly #table: string;

  constructor(store: Store, name: string) {
    this.#store = store;
    this.#table = `temp.named_${name}`;
  }

  open(): void {
    this.close();
    this.#store.db.exec(
      `CREATE TABLE ${this.#table} (k0, k1, k2, k3, n0, n1, n2, n3, said, isTwice DEFAULT 0, PRIMARY KEY (k0, k1, k2, k3)) WITHOUT ROWID`,
    );
  }

  close(): void {
    this.#store.db.exec(`DROP TABLE IF EXISTS ${this.#table}`);
  }

  add(pairs: readonly NamePair[]): void {
    const put = this.#store.prepare(
      `INSERT INTO ${this.#table} (k0, k1, k2, k3, n0, n1, n2, n3, said) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET isTwice = 1 WHERE (n0, n1, n2, n3) <> (excluded.n0, excluded.n1, excluded.n2, excluded.n3)`,
    );
    this.#store.db.transaction(() => {
      for (const { former, present, said } of pairs)
        if (former !== undefined)
          put.run(...paddedKey(former), ...paddedKey(present), said === undefined ? null : JSON.stringify(said));
    })();
  }

  /** The present key for a former one, where the source has exactly one row, or with `isFirst` the first of several. */
  find(former: readonly string[], { isFirst = false } = {}): Omit<NamePair, "former"> | undefined {
    const row = this.#store
      .prepare<[string, string, string, string, string | null]>(
        `SELECT n0, n1, n2, n3, said FROM ${this.#table} WHERE k0 = ? AND k1 = ? AND k2 = ? AND k3 = ? AND isTwice <= ?`,
      )
      .raw(true)
      .get(...paddedKey(former), Number(isFirst));
    if (row === undefined) return undefined;
    const [n0, n1, n2, n3, said] = row;
    return { present: [n0, n1, n2, n3], said: said === null ? undefined : (JSON.parse(said) as string[]) };
  }
}

interface NamePair {
  former: readonly string[] | undefined;
  present: readonly string[];
  /** The former key's values in the row's record. */
  said: readonly string[] | undefined;
}
