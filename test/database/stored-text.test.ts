import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { findAltered, storedText } from "../../src/database/stored-text.ts";
import { runs } from "../support/whole.ts";

/** Units that stand for every kind: letters, both halves of pairs, what looks like a mark or a replacement. */
const UNITS = [0x41, 0x31, 0, 0xd83d, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xfeff, 0xfffd, 0xfffe, 0xffff];

function openIn(encoding: string) {
  const db = new Database(":memory:");
  onTestFinished(() => void db.close());
  db.exec(`PRAGMA encoding = '${encoding}'; CREATE TABLE t (a TEXT)`);
  const read = db.prepare<[], { text: string; bytes: Buffer }>("SELECT a AS text, CAST(a AS BLOB) AS bytes FROM t");
  return {
    db,
    store: (bytes: Buffer) => {
      db.exec("DELETE FROM t");
      db.prepare("INSERT INTO t VALUES (CAST(? AS TEXT))").run(bytes);
      return read.get() as { text: string; bytes: Buffer };
    },
    isFound: (text: string) => db.prepare("SELECT count(*) FROM t WHERE a = ?").pluck().get(text) === 1,
    isFoundBy: (bytes: Buffer) =>
      db.prepare("SELECT count(*) FROM t WHERE a = CAST(? AS TEXT)").pluck().get(bytes) === 1,
  };
}

describe("a stored text", () => {
  it.each(["UTF-16le", "UTF-16be"])(
    "is exact in %s where SQLite finds it by what was read, and is found by its bytes",
    (encoding) => {
      const { db, store, isFound, isFoundBy } = openIn(encoding);
      const texts = storedText(db);
      fc.assert(
        fc.property(fc.array(fc.constantFrom(...UNITS), { maxLength: 5 }), (units) => {
          const written = Buffer.from(Uint16Array.from(units).buffer);
          const { text, bytes } = store(encoding === "UTF-16le" ? written : written.swap16());
          const isExact = !texts.mayDiffer(text) || texts.isExact(text, bytes);
          expect([isExact, isFoundBy(bytes)]).toEqual([isFound(text), true]);
        }),
        { numRuns: runs(80, 2_000) },
      );
    },
  );

  it("is exact in UTF-8 where its bytes are UTF-8", () => {
    const { db, store, isFound } = openIn("UTF-8");
    const texts = storedText(db);
    for (const hex of ["41", "f09f9880", "efbfbd", "eda0bd", "41ff", "c3", "00"]) {
      const { text, bytes } = store(Buffer.from(hex, "hex"));
      expect([hex, !texts.mayDiffer(text) || texts.isExact(text, bytes)]).toEqual([hex, isFound(text)]);
    }
    expect(texts.mayDiffer("\u{1f600}")).toBe(false);
  });

  it("is named by its column", () => {
    const { db } = openIn("UTF-8");
    const values = { status: "pa\ufffdd", comment: null, data: 7n };
    expect(findAltered(db, values, () => Buffer.from("7061ff64", "hex"))).toBe("status");
    expect(findAltered(db, values, () => Buffer.from("pa\ufffdd"))).toBeNull();
  });
});
