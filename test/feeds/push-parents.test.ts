import { describe, expect, it } from "vitest";
import type { Settings } from "../support/bridge.ts";
import { type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const CATALOG = { path: "/api/v1/import/catalog", property: "products" };

async function startCatalog(settings: Settings = {}): Promise<PushedFeeds> {
  return await startFeeds({ settings: { imports: { catalog: { ...CATALOG, ...settings } } }, arm: ["catalog"] });
}

function put({ erp }: PushedFeeds, rows: readonly (readonly [sku: string, parent: string | null])[]): void {
  const insert = erp.prepare("INSERT INTO products (sku, parent, name) VALUES (?, ?, ?)");
  erp.transaction(() => {
    for (const [sku, parent] of rows) insert.run(sku, parent, `Name of ${sku}`);
  })();
}

/** The skus of each request, in the order in which they arrived. */
const sent = ({ requests }: PushedFeeds) =>
  requests().map(({ records }) => records.map((record) => String(record["sku"])));

/** Every record whose parent is on the site, by the time it arrives. */
function expectParentsFirst(requests: readonly string[][], parents: ReadonlyMap<string, string>): void {
  const before = new Set<string>();
  for (const skus of requests) {
    expect(skus.filter((sku) => parents.has(sku) && !before.has(parents.get(sku) ?? ""))).toEqual([]);
    for (const sku of skus) before.add(sku);
  }
}

describe("a catalog with groups", () => {
  itWhole("sends each group before what is in it, whatever the order of the rows, and in few requests", async () => {
    const test = await startCatalog({ chunk: 50 });
    const parents = new Map<string, string>();
    for (let group = 0; group < 10; group++) parents.set(`z-${group}`, `zz-${group % 3}`);
    for (let item = 0; item < 300; item++) parents.set(`a-${item}`, `z-${item % 10}`);
    put(test, [...parents, ...[0, 1, 2].map((top) => [`zz-${top}`, null] as const)]);
    await test.run("catalog");
    const requests = sent(test);
    expect(requests.flat()).toHaveLength(313);
    expectParentsFirst(requests, parents);
    expect(requests.length).toBeLessThanOrEqual(2 + 300 / 50);
  });

  it("sends a product that moves into a new group after the group", async () => {
    const test = await startCatalog();
    put(test, [
      ["A", "G"],
      ["G", null],
    ]);
    await test.run("catalog");
    sent(test);
    test.erp.exec("UPDATE products SET parent = 'H' WHERE sku = 'A'");
    put(test, [["H", null]]);
    await test.run("catalog");
    expect(sent(test)).toEqual([["H"], ["A"]]);
  });

  itWhole("keeps what is in a group back while nobody knows whether the group arrived", async () => {
    const test = await startCatalog();
    put(test, [
      ["A", "G"],
      ["B", null],
      ["G", null],
    ]);
    test.sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
    await test.run("catalog");
    sent(test);
    await test.run("catalog");
    expect(sent(test)).toEqual([]);
    test.clock.advance(121_000);
    await test.run("catalog");
    expect(sent(test)).toEqual([["B"], ["G"], ["A"]]);
  });

  itWhole(
    "sends what is in a group that is on the site while the service fails at the group's new record",
    async () => {
      const test = await startCatalog();
      put(test, [
        ["G", null],
        ["P", "G"],
        ["Q", "G"],
        ["R", null],
      ]);
      await test.run("catalog");
      sent(test);
      test.sandbox.faults.add({ match: { path: "import" }, times: 1, do: { kind: "reset" } });
      test.erp.exec("UPDATE products SET name = 'New' WHERE sku = 'G'");
      await test.run("catalog");
      test.erp.exec("UPDATE products SET active = 0 WHERE sku = 'P'; UPDATE products SET name = 'New' WHERE sku = 'Q'");
      sent(test);
      await test.run("catalog");
      expect(sent(test)).toEqual([["P", "Q"]]);
      expect(test.site("catalog")).toMatchObject({
        P: { active: false },
        Q: { name: "New" },
        G: { name: "Name of G" },
      });
    },
  );

  itWhole(
    "keeps what is in a group back while the group, accepted at another address, is not accepted at this one",
    async () => {
      const test = await startCatalog();
      put(test, [
        ["G", null],
        ["P", "G"],
      ]);
      await test.run("catalog");
      sent(test);
      await test.restart({ imports: { catalog: { ...CATALOG, property: "items" } } });
      test.sandbox.faults.add({ match: { path: "import" }, times: 1, do: { kind: "reset" } });
      await test.minute("catalog");
      expect(sent(test)).toEqual([["G"]]);
      await test.minute("catalog");
      expect(sent(test)).toEqual([]);
      for (let passed = 0; passed < 2; passed++) await test.minute("catalog");
      expect(sent(test)).toEqual([["G"], ["P"]]);
    },
  );

  itWhole("tries again what was refused below a group once the group is accepted", async () => {
    const test = await startCatalog();
    const { sandbox, quarantined } = test;
    put(test, [["X", null]]);
    await test.run("catalog");
    sandbox.service.setOptions({ reject: { skus: ["G", "A"] } });
    put(test, [
      ["A", "G"],
      ["G", null],
      ["Z", null],
    ]);
    await test.run("catalog");
    expect(
      quarantined()
        .map(({ reference }) => reference)
        .sort(),
    ).toEqual(["A", "G"]);
    sandbox.service.setOptions({ reject: { skus: [] } });
    test.erp.exec("UPDATE products SET name = 'better' WHERE sku = 'G'");
    await test.run("catalog");
    expect(Object.keys(test.site("catalog")).sort()).toEqual(["A", "G", "X", "Z"]);
    expect(quarantined().filter(({ state }) => state === "held")).toEqual([]);
  });

  it("goes on with all others while what is below a refused group is refused as well", async () => {
    const test = await startCatalog();
    const { sandbox, quarantined } = test;
    put(test, [
      ["X", null],
      ["Y", null],
    ]);
    await test.run("catalog");
    sandbox.service.setOptions({ reject: { skus: ["G", "A", "B", "C", "D"] } });
    put(test, [
      ["G", null],
      ["A", "G"],
      ["B", "G"],
      ["C", "A"],
      ["D", "C"],
    ]);
    for (let passed = 0; passed < 5; passed++) await test.minute("catalog");
    expect(test.holds()).toEqual([]);
    test.erp.exec("UPDATE products SET active = 0 WHERE sku = 'X'");
    await test.minute("catalog");
    expect(test.site("catalog")["X"]).toMatchObject({ active: false });
    // The service takes them once it has their group.
    sandbox.service.setOptions({ reject: { skus: [] } });
    test.erp.exec("UPDATE products SET name = 'better' WHERE sku = 'G'");
    for (let passed = 0; passed < 2; passed++) await test.minute("catalog");
    expect(Object.keys(test.site("catalog")).sort()).toEqual(["A", "B", "C", "D", "G", "X", "Y"]);
    expect(quarantined().filter(({ state }) => state === "held")).toEqual([]);
  });

  itWhole("sends rows that are their own ancestors all the same", async () => {
    const test = await startCatalog();
    put(test, [
      ["A", "B"],
      ["B", "A"],
      ["C", "C"],
      ["D", "A"],
      ["E", null],
    ]);
    await test.run("catalog");
    expect(sent(test).flat().sort()).toEqual(["A", "B", "C", "D", "E"]);
  });

  itWhole("takes no notice of parents where the record does not name them, or where it is told so", async () => {
    for (const settings of [{ record: { sku: "{sku}", name: "{name}" } }, { parent: null }]) {
      const test = await startCatalog(settings);
      put(test, [
        ["A", "G"],
        ["G", null],
      ]);
      await test.run("catalog");
      expect(sent(test)).toEqual([["A", "G"]]);
    }
  });

  itWhole("are in the same request where the table is sent whole, parents before children", async () => {
    const test = await startCatalog({ scope: "whole" });
    put(test, [
      ["A", "G"],
      ["B", "A"],
      ["G", null],
      ["C", "OTHER"],
      ["X", "Y"],
      ["Y", "X"],
    ]);
    await test.run("catalog");
    const [request = []] = sent(test);
    expect(request.toSorted()).toEqual(["A", "B", "C", "G", "X", "Y"]);
    expect(["G", "A", "B"].map((sku) => request.indexOf(sku))).toEqual([0, 1, 2]);
    test.erp.exec("UPDATE products SET name = 'other' WHERE sku IN ('G', 'B')");
    put(test, [["D", "G"]]);
    await test.run("catalog");
    const [again = []] = sent(test);
    expect(again.toSorted()).toEqual(["A", "B", "C", "D", "G", "X", "Y"]);
    // Those that were acknowledged before keep the order as well.
    expect(
      ["G", "A", "B"].map((sku) => again.indexOf(sku)).every((at, place, all) => at > (all[place - 1] ?? -1)),
    ).toBe(true);
    expect(again.indexOf("D")).toBeGreaterThan(again.indexOf("G"));
  });
});

const FAULTS = { "500": { kind: "status", status: 500 }, reset: { kind: "reset" } } as const;

describe("a group that the service fails at", () => {
  /** The site has the group G with P and Q; from then on every request that has the group's new name fails. */
  async function startFailing(fault: keyof typeof FAULTS, settings: Settings = {}) {
    const test = await startCatalog(settings);
    put(test, [
      ["G", null],
      ["P", "G"],
      ["Q", "G"],
      ["R", null],
    ]);
    await test.run("catalog");
    await test.run("catalog");
    const { service } = test.sandbox;
    const handle = service.handle.bind(service);
    const trouble = { isOn: true, key: "Kitchen" };
    service.handle = (request) => {
      if (!trouble.isOn || !request.body.includes(trouble.key)) return handle(request);
      // Nothing arrives: what the connection breaks off at was not for the site.
      test.sandbox.faults.add({ match: { path: "import" }, when: "after", times: 1, do: FAULTS[fault] });
      return handle({ ...request, body: Buffer.from('{"products":[]}') });
    };
    const shown = (sku: string) => test.site("catalog")[sku] as { name: string; active: boolean } | undefined;
    /** As passes follow each other while requests fail, until the group alone is left. */
    const passes = async (count: number) => {
      for (let pass = 0; pass < count; pass++) {
        test.clock.advance(121_000);
        await test.run("catalog").catch(() => {});
        await test.run("catalog").catch(() => {});
      }
    };
    return { ...test, trouble, shown, passes };
  }

  itSome(1)(["500", "reset"] as const)(
    "(%s) keeps nothing on the site from being changed, or taken off sale",
    async (fault) => {
      const { erp, shown, passes, rows, trouble, clock, minute } = await startFailing(fault);
      erp.exec("UPDATE products SET name = 'Kitchen' WHERE sku = 'G'");
      await passes(3);
      expect(rows("SELECT k0 FROM feed_outbox")).toEqual([{ k0: "G" }]);
      erp.exec("UPDATE products SET active = 0 WHERE sku = 'P'; UPDATE products SET name = 'better' WHERE sku = 'Q'");
      await minute("catalog");
      expect([shown("P")?.active, shown("Q")?.name]).toEqual([false, "better"]);
      trouble.isOn = false;
      clock.advance(3_600_000);
      await passes(3);
      expect([shown("G")?.name, rows("SELECT 1 FROM feed_outbox")]).toEqual(["Kitchen", []]);
    },
  );

  itWhole("keeps no row on sale that is moved into it, and a row that is new there waits", async () => {
    const { erp, shown, passes, rows, minute } = await startFailing("500");
    erp.exec("INSERT INTO products (sku, name) VALUES ('H', 'Kitchen')");
    await passes(2);
    erp.exec("UPDATE products SET parent = 'H', active = 0 WHERE sku = 'P'");
    erp.exec("INSERT INTO products (sku, parent, name) VALUES ('N', 'H', 'new')");
    await minute("catalog");
    expect([shown("P")?.active, shown("N")]).toEqual([false, undefined]);
    expect(rows("SELECT k0 FROM feed_outbox ORDER BY k0")).toEqual([{ k0: "H" }, { k0: "N" }]);
  });

  itWhole("is told of for as long as nothing has shown that it is over", async () => {
    const { erp, passes, rows, clock, run, trouble } = await startFailing("500");
    erp.exec("INSERT INTO products (sku, name) VALUES ('H', 'Kitchen')");
    erp.exec("INSERT INTO products (sku, parent, name) VALUES ('N', 'H', 'new')");
    await passes(3);
    const told = () => rows("SELECT failing_since IS NOT NULL AS failing FROM flows WHERE flow = 'catalog'");
    for (let seconds = 0; seconds < 100; seconds += 10) {
      clock.advance(10_000);
      await run("catalog").catch(() => {});
      expect(told()).toEqual([{ failing: 1 }]);
    }
    trouble.isOn = false;
    await passes(3);
    expect([told(), rows("SELECT 1 FROM feed_outbox")]).toEqual([[{ failing: 0 }], []]);
  });
});
