import path from "node:path";
import type Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { findDamaged, isDamaged, isSuspicious, textFormOf } from "../../src/database/stored-text.ts";
import type { Settings } from "../support/bridge.ts";
import { ENCODINGS, type Encoding, encodedDatabase, encodedFolder } from "../support/encodings.ts";
import { type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { tempFolder } from "../support/temp.ts";

/** Half a character beyond the first plane at the end of a text, or in UTF-8 a byte that means nothing, after `A`. */
const DAMAGED: Record<Encoding, string> = { "UTF-8": "41ff", "UTF-16le": "41003dd8", "UTF-16be": "0041d83d" };
/** The same with a letter after it: in UTF-16 SQLite reads both as one character. */
const INSIDE: Record<Encoding, string> = { "UTF-8": "ff41", "UTF-16le": "3dd84100", "UTF-16be": "d83d0041" };

const SOURCES = ["table", "view", "query", "file and table", "file and query"] as const;
type Source = (typeof SOURCES)[number];

const GOODS = ["Größe", "Éclair – 2", "日本", "😀", "Чай", "A-1", "B/2"];

interface Shop extends PushedFeeds {
  /** The database that holds the table `goods`. */
  goods: Database.Database;
}

async function startShop(source: Source, encoding: Encoding, settings: Settings): Promise<Shop> {
  const isElsewhere = source.startsWith("file");
  const file = path.join(tempFolder("erp"), "erp.db");
  const from = {
    table: { table: "goods" },
    view: { table: "for_sale" },
    query: { query: "SELECT * FROM goods" },
    "file and table": { file, table: "goods" },
    "file and query": { file, query: "SELECT * FROM goods" },
  }[source];
  const own = encodedFolder(isElsewhere ? "UTF-8" : encoding);
  const test = await startFeeds({
    settings: { imports: { stocks: { ...from, ...settings } } },
    arm: [],
    folder: own,
  });
  const goods = isElsewhere ? encodedDatabase(file, encoding) : test.erp;
  if (isElsewhere) onTestFinished(() => void goods.close());
  expect(goods.pragma("encoding", { simple: true })).toBe(encoding);
  return Object.defineProperties({ goods }, Object.getOwnPropertyDescriptors(test)) as Shop;
}

const NAMED: Settings = {
  key: ["k"],
  available: "q",
  record: { sku: "{k}", quantity: "{available}", name: "{n}" },
};

/** The goods, each 5 of it, as the first pass has sent them. */
async function startGoods(source: Source, encoding: Encoding): Promise<Shop> {
  const shop = await startShop(source, encoding, NAMED);
  shop.goods.exec("CREATE TABLE goods (k TEXT PRIMARY KEY, q INTEGER, n TEXT)");
  shop.goods.exec("CREATE VIEW for_sale AS SELECT * FROM goods");
  const insert = shop.goods.prepare("INSERT INTO goods VALUES (?, 5, ?)");
  for (const sku of GOODS) insert.run(sku, `${sku} – ö`);
  // A guard of ten rows does not stand in the way.
  for (let i = 0; i < 30; i++) insert.run(`S-${i}`, "plain");
  await shop.minute();
  expect(GOODS.map((sku) => shop.level(sku))).toEqual(GOODS.map(() => 5));
  shop.requests();
  return shop;
}

const sentBy = ({ requests }: PushedFeeds) => requests().flatMap(({ records }) => records);

const CASES = ENCODINGS.flatMap((encoding) => SOURCES.map((source) => ({ encoding, source })));

describe.each(CASES)("rows of a $source in $encoding", ({ encoding, source }) => {
  it("go on beside one whose text holds the replacement character, and beside one whose text is none", async () => {
    const shop = await startGoods(source, encoding);
    const { goods, minute, compare, clock, quarantined } = shop;
    goods.prepare("UPDATE goods SET n = ? WHERE k = 'A-1'").run("Caf\ufffd");
    goods.exec("UPDATE goods SET q = 0 WHERE k = '日本'");
    await minute();
    await compare();
    clock.advance(180_000);
    await minute();
    expect(sentBy(shop)).toEqual([
      { sku: "日本", quantity: 0, name: "日本 – ö" },
      { sku: "A-1", quantity: 5, name: "Caf\ufffd" },
    ]);
    expect(quarantined()).toEqual([]);
    for (const bytes of [DAMAGED[encoding], INSIDE[encoding]]) {
      goods.exec(
        `UPDATE goods SET n = CAST(x'${bytes}' AS TEXT) WHERE k = 'B/2'; UPDATE goods SET q = q + 1 WHERE k = '😀'`,
      );
      await minute();
      expect(sentBy(shop)).toEqual([expect.objectContaining({ sku: "😀" })]);
      expect(quarantined().filter(({ state }) => state === "held")).toEqual([
        expect.objectContaining({ reference: '["B/2"]', reason: "n: binary data cannot be sent" }),
      ]);
    }
    await compare();
    clock.advance(180_000);
    await minute();
    expect(sentBy(shop)).toEqual([]);
  });

  it("that are missing are not sent as gone where a row whose key cannot be read may be they", async () => {
    const shop = await startGoods(source, encoding);
    const { goods, minute, compare, clock, level, logs } = shop;
    goods.exec(`INSERT INTO goods VALUES ('AA', 5, 'x'), ('A', 5, 'x')`);
    await minute();
    goods.exec(`UPDATE goods SET k = CAST(x'${DAMAGED[encoding]}' AS TEXT) WHERE k = 'AA'`);
    goods.exec(`UPDATE goods SET k = CAST('😀' AS BLOB) WHERE k = '😀'`);
    goods.exec(`DELETE FROM goods WHERE k = '日本'`);
    const pass = async () => {
      await minute();
      clock.advance(180_000);
      await minute();
    };
    await pass();
    await compare();
    await pass();
    // What begins with A may be the row of which no more can be read.
    expect(["AA", "A", "A-1", "😀", "日本", "Чай"].map(level)).toEqual([5, 5, 5, 5, 0, 5]);
    expect(logs.filter(({ message }) => message.includes("2 missing rows may be among those"))).not.toEqual([]);
    goods.exec(`DELETE FROM goods WHERE typeof(k) = 'blob'`);
    await pass();
    await pass();
    expect(["AA", "A-1", "😀", "日本", "Чай"].map(level)).toEqual([5, 5, 0, 0, 5]);
    goods.exec(`DELETE FROM goods WHERE k = CAST(x'${DAMAGED[encoding]}' AS TEXT)`);
    await pass();
    await pass();
    expect(["AA", "A-1", "😀", "日本", "Чай"].map(level)).toEqual([0, 5, 0, 0, 5]);
  });
});

describe.each(ENCODINGS)("one table, read as every kind of source, in %s", (encoding) => {
  /** The bytes of the requests that its rows, a change and a deletion come to. */
  async function bodiesOf(source: Source): Promise<(string | null)[]> {
    const { goods, minute, clock, sandbox } = await startShop(source, encoding, {
      key: ["k", "part"],
      available: "q",
      record: { sku: "{k}", part: "{part}", quantity: "{available}", q: "{q}", n: "{n}", real: "{r}" },
    });
    goods.exec(`CREATE TABLE goods (k INTEGER, part, q, n, r REAL, PRIMARY KEY (k, part));
      CREATE VIEW for_sale AS SELECT * FROM goods;
      INSERT INTO goods VALUES (7, 1, 5, 'Größe', 0.1), (8, '1', '5', NULL, 1e300), (9, 'ö', 1.0, '007', 2),
        (9007199254740993, 1.5, 9007199254740993, '😀', NULL), (-1, '', 0, '', 3)`);
    await minute();
    goods.exec("UPDATE goods SET q = 6 WHERE k = 7; DELETE FROM goods WHERE k = 9");
    await minute();
    clock.advance(180_000);
    await minute();
    return sandbox.ledger.ofKind("import").map(({ requestBody }) => requestBody ?? null);
  }

  it("comes to the same requests, byte for byte", async () => {
    const table = sorted(await bodiesOf("table"));
    expect(table.join("\n")).toContain('"sku":7,"part":1,"quantity":5');
    expect(table.join("\n")).toContain('"sku":9007199254740993,"part":1.5');
    for (const source of SOURCES.slice(1)) expect([source, sorted(await bodiesOf(source))]).toEqual([source, table]);
  });
});

/** Rows of one request stand in the order of the source, which differs; the rows themselves may not. */
function sorted(bodies: readonly (string | null)[]): string[] {
  return bodies.map((body) =>
    (body ?? "")
      .split(/(?<=\}),(?=\{)|(?<=\[)|(?=\])/)
      .sort()
      .join("\n"),
  );
}

describe.each(ENCODINGS)("text in %s", (encoding) => {
  it.each([
    ["plain", "'paid'", false, false],
    ["that holds the replacement character", "'caf' || char(65533)", true, false],
    ["with characters beyond the first plane", "char(128512)", encoding !== "UTF-8", false],
    ["that ends within a character", `CAST(x'${DAMAGED[encoding]}' AS TEXT)`, true, true],
    ["with half a character inside", `CAST(x'${INSIDE[encoding]}' AS TEXT)`, true, true],
    ["a number", "5", false, false],
    ["bytes", "x'ff'", false, false],
  ])("%s", (_, sql, suspicious, damaged) => {
    const db = encodedDatabase(":memory:", encoding);
    const [value, bytes] = db.prepare(`SELECT ${sql}, CAST(${sql} AS BLOB)`).raw(true).get() as unknown[];
    const form = textFormOf(db);
    expect([isSuspicious(form, value), isDamaged(form, value, bytes)]).toEqual([suspicious, damaged]);
    expect(findDamaged(form, { one: "x", two: value }, () => bytes as Buffer)).toBe(damaged ? "two" : null);
    db.close();
  });
});
