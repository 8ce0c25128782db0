import { describe, expect, it } from "vitest";
import { fillStock, IMPORT_TIMEOUT_MS, startFeeds } from "../support/pushed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const RESULT = { imports: { stocks: { result: { rejected: "$.errors", key: "$.sku", message: "$.message" } } } };

describe("a 200 that accepts", () => {
  itSome(1)(["counts", "success", "empty", "text"] as const)("as %s acknowledges the rows", async (importAnswer) => {
    const { erp, run, requests, rows } = await startFeeds({ sandbox: { options: { importAnswer } } });
    fillStock(erp, 3);
    await run("stocks");
    expect(requests()).toHaveLength(1);
    await run("stocks");
    expect(requests()).toEqual([]);
    expect(rows("SELECT accepted_by FROM feeds WHERE name = 'stocks'")).toEqual([{ accepted_by: "status" }]);
  });

  itWhole("says that it reports records where the configuration says where", async () => {
    const { erp, run, rows } = await startFeeds({ settings: RESULT });
    fillStock(erp, 3);
    await run("stocks");
    expect(rows("SELECT accepted_by FROM feeds WHERE name = 'stocks'")).toEqual([{ accepted_by: "records" }]);
  });
});

describe("a 200 with errors of single records", () => {
  it("acknowledges the others and quarantines those, in one request where the configuration names their place", async () => {
    const { erp, run, requests, level, quarantined, sandbox } = await startFeeds({ settings: RESULT });
    fillStock(erp, 50);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-7", "S-30"], how: "per-record" } });
    erp.exec("UPDATE stock SET quantity = 3");
    requests();
    await run("stocks");
    expect(requests()).toHaveLength(1);
    expect([level("S-1"), level("S-7")]).toEqual([3, 10]);
    expect(quarantined()).toEqual([
      { reference: "S-30", reason: "the record S-30 is not accepted", state: "held" },
      { reference: "S-7", reason: "the record S-7 is not accepted", state: "held" },
    ]);
  });

  itWhole.each([
    ["as an object of reasons by key", '{"errors":{"S-2":"locked"}}'],
    ["as a number, which names none", '{"errors":1}'],
    ["as a text", '{"errors":"S-2"}'],
  ])("never acknowledges what is refused %s", async (_, body) => {
    const { erp, run, level, rows, sandbox } = await startFeeds({
      settings: { imports: { stocks: { result: { rejected: "$.report.errors", key: "$.sku" } } } },
    });
    fillStock(erp, 1);
    erp.exec("UPDATE stock SET sku = 'S-2'");
    sandbox.faults.add({
      match: { path: "import" },
      do: { kind: "raw", contentType: "application/json", body: `{"report":${body}}` },
    });
    await run("stocks");
    expect(rows("SELECT count(*) AS n FROM feed_sent")).toEqual([{ n: 0 }]);
    sandbox.faults.clear();
    expect(level("S-2")).toBeUndefined();
  });

  itWhole.each([{}, { scope: "whole" }])(
    "sends the others again where an error stands beside those: %j",
    async (stocks) => {
      const settings = { imports: { stocks: { ...RESULT.imports.stocks, ...stocks } } };
      const { erp, run, requests, rows, level, quarantined, sandbox } = await startFeeds({ settings });
      fillStock(erp, 4);
      await run("stocks");
      erp.exec("UPDATE stock SET quantity = 3");
      requests();
      const body = '{"success":false,"error":"nothing was saved","errors":[{"sku":"S-2","message":"locked"}]}';
      sandbox.faults.add({
        match: { path: "import" },
        when: "before",
        do: { kind: "raw", contentType: "application/json", body },
      });
      await run("stocks");
      expect(requests()).toHaveLength(2);
      expect(quarantined()).toEqual([{ reference: "S-2", reason: "locked", state: "held" }]);
      expect([level("S-1"), level("S-4")]).toEqual([3, 3]);
      expect(rows("SELECT sku, state FROM stock_sent WHERE state <> 'refused' ORDER BY sku")).toEqual(
        ["S-1", "S-3", "S-4"].map((sku) => ({ sku, state: "sent" })),
      );
    },
  );

  itWhole("is split where it does not, until the bad one stands alone", async () => {
    const { erp, run, level, quarantined, sandbox } = await startFeeds();
    fillStock(erp, 50);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-7"], how: "per-record" } });
    erp.exec("UPDATE stock SET quantity = 3");
    await run("stocks");
    expect([level("S-1"), level("S-7"), level("S-50")]).toEqual([3, 10, 3]);
    expect(quarantined().map(({ reference }) => reference)).toEqual(["S-7"]);
  });

  itWhole("is split where a name stands for two of the records sent", async () => {
    const { erp, run, site, quarantined, sandbox } = await startFeeds({ settings: RESULT });
    erp.exec("INSERT INTO stock (sku, warehouse, quantity) VALUES ('A', 'west', 1), ('A', 'east', 2), ('B', '', 3)");
    await run("stocks");
    sandbox.faults.add({
      match: { path: "import" },
      when: "after",
      do: { kind: "raw", contentType: "application/json", body: '{"errors":[{"sku":"A","message":"no"}]}' },
    });
    erp.exec("UPDATE stock SET quantity = quantity + 10");
    await run("stocks");
    expect(quarantined()).toEqual([]);
    expect(site()).toMatchObject({ "A west": { quantity: 11 }, "A east": { quantity: 12 }, B: { quantity: 13 } });
  });

  itWhole("leaves in doubt what it may have taken: a value set back is sent again", async () => {
    const { erp, run, level, sandbox, clock } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5), ('BAD', 5)");
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["BAD"], how: "per-record" } });
    erp.exec("UPDATE stock SET quantity = 4");
    // The first request is taken for A; before A goes alone, the service has had enough, and the ERP sets A back.
    sandbox.faults.add({
      match: { path: "import" },
      skip: 1,
      do: { kind: "status", status: 429, headers: { "retry-after": "1" } },
    });
    await run("stocks");
    expect(level("A")).toBe(4);
    erp.exec("UPDATE stock SET quantity = 5 WHERE sku = 'A'");
    clock.advance(60_000);
    await run("stocks");
    expect(level("A")).toBe(5);
  });
});

describe("a 200 that tells of a failure", () => {
  itSome(1)([
    '{"success":false,"message":"no"}',
    '{"errors":["no"]}',
    '{"error":"no"}',
    '[{"error":"no"}]',
    '{"data":{"Error":"no"}}',
    '{"code":500,"message":"internal error"}',
    '{"accepted":false}',
    "Fatal error: Uncaught PDOException",
  ])("%s is no acceptance", async (body) => {
    const { erp, run, rows, sandbox } = await startFeeds();
    fillStock(erp, 2);
    sandbox.faults.add({
      match: { path: "import" },
      times: "forever",
      do: { kind: "raw", contentType: "application/json", body },
    });
    await run("stocks");
    expect(rows("SELECT count(*) AS n FROM feed_sent")).toEqual([{ n: 0 }]);
    expect(rows("SELECT refusal, tries FROM feed_outbox")).toEqual([
      { refusal: "unproven", tries: 1 },
      { refusal: "unproven", tries: 1 },
    ]);
  });

  itWhole("success: false for one of several quarantines that one", async () => {
    const { erp, run, level, quarantined, sandbox } = await startFeeds();
    fillStock(erp, 8);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-5"], how: "success-false" } });
    erp.exec("UPDATE stock SET quantity = 3");
    await run("stocks");
    expect([level("S-4"), level("S-5"), level("S-6")]).toEqual([3, 10, 3]);
    expect(quarantined().map(({ reference }) => reference)).toEqual(["S-5"]);
  });
});

describe("a 200 whose outcome nobody knows", () => {
  itSome(1)([
    ["a web page", { kind: "html" }],
    ["JSON that breaks off", { kind: "raw", contentType: "application/json", body: '{"accepted":2,"err' }],
    ["a body that breaks off", { kind: "cut", bytes: 5 }],
  ] as const)("%s leaves the rows in doubt and sends them again after the time-out", async (_, action) => {
    const { erp, run, level, rows, sandbox, clock } = await startFeeds();
    fillStock(erp, 2);
    sandbox.faults.add({ match: { path: "import" }, do: action });
    expect(await run("stocks")).toMatchObject({ outcome: "failed" });
    expect(rows("SELECT state FROM stock_sent")).toEqual([{ state: "doubt" }, { state: "doubt" }]);
    clock.advance(IMPORT_TIMEOUT_MS);
    await run("stocks");
    expect(level("S-1")).toBe(10);
  });
});
