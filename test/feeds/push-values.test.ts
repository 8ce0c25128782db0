import { describe, expect, it } from "vitest";
import { importKey } from "../../src/sandbox/imports.ts";
import { startFeeds } from "../support/pushed.ts";
import { itSome, itWhole } from "../support/whole.ts";

/** A literal of SQL, and the number that must reach the site with exactly these digits; undefined: quarantined. */
const QUANTITIES: [string, string | undefined, string?][] = [
  ["5", "5"],
  ["0", "0"],
  ["-3", "0"],
  ["0.125", "0.125"],
  ["1234567890.125", "1234567890.125"],
  ["0.1 + 0.2", "0.30000000000000004"],
  ["9007199254740993", "9007199254740993"],
  ["'12.500'", "12.5"],
  ["' 7 '", "7"],
  ["'007'", "7"],
  ["'1e3'", "1000"],
  ["1e20", "100000000000000000000"],
  ["CAST('NaN' AS REAL) * 1e999 * 0", undefined, "is NULL"],
  ["NULL", undefined, "is NULL"],
  ["9e999", undefined, "Infinity"],
  ["-9e999", undefined, "-Infinity"],
  ["'1e400'", undefined, "does not hold a number"],
  ["'many'", undefined, "does not hold a number"],
  ["'1,5'", undefined, "does not hold a number"],
  ["''", undefined, "does not hold a number"],
  ["x'31'", undefined, "binary data"],
];

describe("quantities", () => {
  itSome(1)(QUANTITIES)("%s arrives as %s", async (sql, expected, reason) => {
    const { erp, run, sandbox, quarantined, rows } = await startFeeds();
    erp.exec(`INSERT INTO stock (sku, quantity) VALUES ('A', ${sql}), ('GOOD', 1)`);
    await run("stocks");
    const site = sandbox.service.imported("stocks");
    expect(site.get(importKey("GOOD", ""))).toBe('{"sku":"GOOD","warehouse":"","quantity":1}');
    if (expected !== undefined) {
      expect(site.get(importKey("A", ""))).toBe(`{"sku":"A","warehouse":"","quantity":${expected}}`);
      expect(quarantined()).toEqual([]);
      return;
    }
    expect(site.has(importKey("A", ""))).toBe(false);
    expect(quarantined()).toEqual([{ reference: "A", reason: expect.stringContaining(reason ?? "?"), state: "held" }]);
    expect(quarantined()[0]?.reason).toContain("quantity");
    expect(rows("SELECT state FROM stock_sent WHERE sku = 'A'")).toEqual([{ state: "refused" }]);
  });

  itWhole("count NULL in reserved as 0, and quarantine text in it", async () => {
    const { erp, run, level, quarantined } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity, reserved) VALUES ('A', 5, NULL), ('B', 5, 'two')");
    await run("stocks");
    expect([level("A"), level("B")]).toEqual([5, undefined]);
    expect(quarantined()).toEqual([
      expect.objectContaining({ reference: "B", reason: expect.stringContaining("reserved") }),
    ]);
  });

  itWhole("below zero are sent as 0", async () => {
    const { erp, run, level } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity, reserved) VALUES ('A', 5, 7.5)");
    await run("stocks");
    expect(level("A")).toBe(0);
  });

  itWhole("keep three decimals through sums of reals", async () => {
    const { erp, run, sandbox } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity, reserved) VALUES ('A', 10.005, 0.004)");
    await run("stocks");
    expect(sandbox.service.imported("stocks").get(importKey("A", ""))).toContain('"quantity":10.001}');
  });
});

describe("a row that cannot be sent", () => {
  it("is quarantined with its newest reason only, and released when it can", async () => {
    const { erp, run, level, quarantined, compare, rows } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 'many')");
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = NULL");
    await run("stocks");
    await compare();
    expect(quarantined().filter(({ state }) => state === "held")).toEqual([
      expect.objectContaining({ reference: "A", reason: "quantity: is NULL" }),
    ]);
    expect(rows("SELECT times FROM quarantine WHERE state = 'held'")).toEqual([{ times: 1 }]);
    erp.exec("UPDATE stock SET quantity = 3");
    await run("stocks");
    expect(level("A")).toBe(3);
    expect(quarantined().filter(({ state }) => state === "held")).toEqual([]);
  });

  itWhole("is held again where somebody had it tried again and it is as bad as before", async () => {
    const { erp, run, quarantined, bridge } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 'many')");
    await run("stocks");
    bridge.store.db.exec(
      "UPDATE quarantine SET state = 'released'; INSERT INTO feed_dirty VALUES (1, 'A', '', '', '')",
    );
    await run("stocks");
    expect(quarantined()).toEqual([expect.objectContaining({ reference: "A", state: "held" })]);
  });

  itWhole("stays dropped where somebody dropped it", async () => {
    const { erp, run, quarantined, bridge, compare } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 'many')");
    await run("stocks");
    bridge.store.db.exec("UPDATE quarantine SET state = 'dropped'");
    await compare();
    expect(quarantined()).toEqual([expect.objectContaining({ reference: "A", state: "dropped" })]);
  });

  itWhole("is held again where it comes back to what was dropped after it was good", async () => {
    const { erp, run, quarantined, bridge } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 'none')");
    await run("stocks");
    bridge.store.db.exec("UPDATE quarantine SET state = 'dropped'");
    for (const quantity of ["7", "'none'"]) {
      erp.exec(`UPDATE stock SET quantity = ${quantity}`);
      await run("stocks");
    }
    expect(quarantined()).toEqual([expect.objectContaining({ reference: "A", state: "held" })]);
  });

  itWhole("is held again where it comes back to what was dropped after it was bad otherwise", async () => {
    const { erp, run, rows, bridge } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 'none')");
    await run("stocks");
    bridge.store.db.exec("UPDATE quarantine SET state = 'dropped'");
    for (const quantity of ["'many'", "'none'"]) {
      erp.exec(`UPDATE stock SET quantity = ${quantity}`);
      await run("stocks");
    }
    expect(rows("SELECT payload ->> '$[0].quantity' AS quantity FROM quarantine WHERE state = 'held'")).toEqual([
      { quantity: "none" },
    ]);
  });

  itWhole("is released where the ERP deletes it", async () => {
    const { erp, run, quarantined } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 'many')");
    await run("stocks");
    erp.exec("DELETE FROM stock");
    await run("stocks");
    expect(quarantined()).toEqual([expect.objectContaining({ state: "released" })]);
  });
});

describe("skus", () => {
  const SKUS = [
    "007",
    " padded ",
    "tab\tand\nline",
    `it's "quoted"`,
    "🛒 тележка",
    "ЙÉ́",
    "a/b",
    "100",
    "1e3",
    "",
    "\\",
    "{sku}",
    "a'; DROP TABLE stock; --",
  ];

  it("arrive as they were written, and only what differs is sent again", async () => {
    const { erp, run, sandbox, requests, compare } = await startFeeds();
    const insert = erp.prepare("INSERT INTO stock (sku, quantity) VALUES (?, 1)");
    for (const sku of SKUS.filter((sku) => sku !== "")) insert.run(sku);
    await run("stocks");
    expect(
      [...sandbox.service.imported("stocks").values()]
        .map((record) => (JSON.parse(record) as { sku: string }).sku)
        .sort(),
    ).toEqual(SKUS.filter((sku) => sku !== "").sort());
    requests();
    await compare();
    expect(requests()).toEqual([]);
    erp.exec("UPDATE stock SET quantity = 2");
    await run("stocks");
    expect(requests()[0]?.records).toHaveLength(SKUS.length - 1);
  });

  itWhole("of bytes that are no UTF-8 are quarantined and never make the feed run in circles", async () => {
    const { erp, run, level, quarantined, compare, requests } = await startFeeds();
    erp.exec(
      "INSERT INTO stock (sku, quantity) VALUES (CAST(x'CFF0E8E2E5F2' AS TEXT), 1), (CAST(x'FF41' AS TEXT), 1), ('GOOD', 1)",
    );
    await run("stocks");
    expect(level("GOOD")).toBe(1);
    expect(quarantined()).toHaveLength(2);
    expect(quarantined()[0]?.reason).toContain("no valid text");
    requests();
    await compare();
    expect(quarantined()).toHaveLength(2);
    erp.exec("DELETE FROM stock WHERE sku <> 'GOOD'");
    expect(await run("stocks")).toMatchObject({ error: null });
    await compare();
    expect(quarantined().map(({ state }) => state)).toEqual(["released", "released"]);
    expect(requests()).toEqual([]);
  });

  itWhole("that hold the replacement character themselves are text like any other", async () => {
    const { erp, run, level, quarantined } = await startFeeds();
    erp.prepare("INSERT INTO stock (sku, quantity) VALUES (?, 4)").run("a\uFFFDb");
    await run("stocks");
    expect([level("a\uFFFDb"), quarantined()]).toEqual([4, []]);
  });
});

describe("texts", () => {
  it("of bytes that are no UTF-8 are quarantined instead of being sent as something else", async () => {
    const settings = {
      imports: { catalog: { path: "/api/v1/import/catalog", record: { sku: "{sku}", name: "{name}" } } },
    };
    const { erp, run, site, quarantined } = await startFeeds({ settings, arm: ["catalog"] });
    erp.exec("INSERT INTO products (sku, name) VALUES ('A', CAST(x'CFF0' AS TEXT)), ('B', 'Чай')");
    await run("catalog");
    expect(site("catalog")).toEqual({ B: { sku: "B", name: "Чай" } });
    expect(quarantined()).toEqual([{ reference: "A", reason: expect.stringContaining("name"), state: "held" }]);
  });

  itWhole("nested too deeply in a |json column hold back their own row only", async () => {
    const settings = {
      imports: { catalog: { path: "/api/v1/import/catalog", record: { sku: "{sku}", data: "{data|json}" } } },
    };
    const { erp, run, site, quarantined } = await startFeeds({ settings, arm: ["catalog"] });
    const insert = erp.prepare("INSERT INTO products (sku, data) VALUES (?, ?)");
    insert.run("DEEP", `${"[".repeat(5_000)}${"]".repeat(5_000)}`);
    insert.run("GOOD", '{"a":[1.10]}');
    await run("catalog");
    erp.exec("UPDATE products SET data = '[2]' WHERE sku = 'GOOD'");
    await run("catalog");
    expect(site("catalog")).toEqual({ GOOD: { sku: "GOOD", data: [2] } });
    expect(quarantined()).toEqual([expect.objectContaining({ reference: "DEEP" })]);
  });
});
