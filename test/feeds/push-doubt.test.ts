import { describe, expect, it } from "vitest";
import type { SandboxRequest } from "../../src/sandbox/messages.ts";
import { fillStock, IMPORT_TIMEOUT_MS, startFeeds } from "../support/pushed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const LOST_AFTER = { match: { path: "import" }, when: "after", do: { kind: "reset" } } as const;
const LOST_BEFORE = { match: { path: "import" }, do: { kind: "reset" } } as const;

describe("a row that changes while its push is in flight", () => {
  it("is sent again with the newest value", async () => {
    let erpWrites: (() => void) | undefined;
    const { erp, run, level, levels } = await startFeeds({ sandbox: { onRequest: () => erpWrites?.() } });
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    erpWrites = () => {
      erpWrites = undefined;
      erp.exec("UPDATE stock SET quantity = 3");
    };
    await run("stocks");
    await run("stocks");
    expect(levels("A")).toEqual([5, 3]);
    expect(level("A")).toBe(3);
  });

  itWhole("is sent again where it is set back to the value that was acknowledged before", async () => {
    let erpWrites: (() => void) | undefined;
    const { erp, run, levels } = await startFeeds({ sandbox: { onRequest: () => erpWrites?.() } });
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 4");
    erpWrites = () => {
      erpWrites = undefined;
      erp.exec("UPDATE stock SET quantity = 5");
    };
    await run("stocks");
    await run("stocks");
    expect(levels("A")).toEqual([5, 4, 5]);
  });

  itWhole("is deleted on the site where the ERP deletes it meanwhile", async () => {
    let erpWrites: (() => void) | undefined;
    const { erp, run, levels, minutes } = await startFeeds({ sandbox: { onRequest: () => erpWrites?.() } });
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    erpWrites = () => {
      erpWrites = undefined;
      erp.exec("DELETE FROM stock");
    };
    await run("stocks");
    await minutes(3);
    expect(levels("A")).toEqual([5, 0]);
  });
});

describe("a push that was applied and whose answer was lost", () => {
  itWhole(
    "is followed by the newest value, although that equals what was acknowledged, and not before the time-out",
    async () => {
      const { erp, run, level, sandbox, clock, requests } = await startFeeds();
      erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
      await run("stocks");
      erp.exec("UPDATE stock SET quantity = 4");
      sandbox.faults.add(LOST_AFTER);
      expect(await run("stocks")).toMatchObject({ outcome: "failed" });
      const lostAt = clock.monotonicMs();
      erp.exec("UPDATE stock SET quantity = 5");
      expect(level("A")).toBe(4);
      requests();
      while (clock.monotonicMs() + 10_000 < lostAt + IMPORT_TIMEOUT_MS) {
        clock.advance(10_000);
        await run("stocks");
      }
      expect(requests()).toEqual([]);
      clock.advance(10_000);
      await run("stocks");
      expect(level("A")).toBe(5);
      expect(clock.monotonicMs()).toBeGreaterThanOrEqual(lostAt + IMPORT_TIMEOUT_MS);
    },
  );

  itWhole("waits for the time-out across a restart, also where the wall clock jumps ahead by a day", async () => {
    const { erp, run, level, sandbox, clock, restart, requests } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    sandbox.faults.add(LOST_BEFORE);
    await run("stocks");
    const mayGoAt = clock.monotonicMs() + IMPORT_TIMEOUT_MS;
    requests();
    await restart();
    clock.jump(24 * 3_600_000);
    await run("stocks");
    await restart();
    clock.advance(mayGoAt - 1 - clock.monotonicMs());
    await run("stocks");
    expect(requests()).toEqual([]);
    clock.advance(1);
    await run("stocks");
    expect(level("A")).toBe(5);
  });

  itWhole("waits for the time-out from the restart where the process died with its request under way", async () => {
    const { erp, run, level, sandbox, clock, restart, requests, bridge } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    sandbox.faults.add(LOST_BEFORE);
    await run("stocks");
    // As a SIGKILL would have left it: the mark of the request is there, its end is not.
    bridge.store.db.exec("UPDATE feed_outbox SET doubt_until_ms = NULL");
    clock.advance(10 * IMPORT_TIMEOUT_MS);
    await restart();
    requests();
    await run("stocks");
    clock.advance(IMPORT_TIMEOUT_MS - 1_000);
    await run("stocks");
    expect(requests()).toEqual([]);
    clock.advance(1_000);
    await run("stocks");
    expect(level("A")).toBe(5);
  });

  itWhole("does not wait for ever where the machine's monotonic clock has begun anew", async () => {
    const { erp, run, level, sandbox, clock, restart, bridge } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    sandbox.faults.add(LOST_BEFORE);
    await run("stocks");
    bridge.store.db.exec("UPDATE feed_outbox SET doubt_until_ms = 1e12");
    await restart();
    await run("stocks");
    clock.advance(IMPORT_TIMEOUT_MS);
    await run("stocks");
    expect(level("A")).toBe(5);
  });

  it("keeps other rows from nothing", async () => {
    const { erp, run, level, sandbox } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    sandbox.faults.add(LOST_BEFORE);
    await run("stocks");
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('B', 6)");
    await run("stocks");
    expect([level("A"), level("B")]).toEqual([undefined, 6]);
  });

  itWhole("never lets its late effect stand over a newer value", async () => {
    const stale: SandboxRequest[] = [];
    const { erp, run, level, sandbox, clock } = await startFeeds({
      sandbox: { onRequest: (request) => void (stale.length === 0 && stale.push(request)) },
    });
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    sandbox.faults.add(LOST_BEFORE);
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 3");
    clock.advance(IMPORT_TIMEOUT_MS - 1);
    await run("stocks");
    sandbox.service.handle(stale[0] ?? { method: "", path: "", headers: {}, body: Buffer.alloc(0) });
    expect(level("A")).toBe(5);
    clock.advance(1);
    await run("stocks");
    expect(level("A")).toBe(3);
  });
});

describe("a request that was refused", () => {
  itSome(1)([302, 400, 401, 402, 403, 404, 409, 413, 422, 423, 425, 429])(
    "may have been taken all the same: a value set back is sent (%i)",
    async (status) => {
      const { erp, run, minute, level, sandbox, requests, minutes } = await startFeeds();
      fillStock(erp, 3, 0);
      await run("stocks");
      const refused = { match: { path: "import" as const }, when: "after" as const, times: 30 };
      const headers = { location: "https://elsewhere.example/", "retry-after": "30" };
      sandbox.faults.add({ ...refused, do: { kind: "status", status, headers } });
      erp.exec("UPDATE stock SET quantity = 10");
      await run("stocks");
      expect(level("S-1")).toBe(10);
      sandbox.faults.clear();
      erp.exec("UPDATE stock SET quantity = 0");
      await minutes(35);
      expect([level("S-1"), level("S-2"), level("S-3")]).toEqual([0, 0, 0]);
      requests();
      await minute();
      expect(requests()).toEqual([]);
    },
  );

  itWhole("may have been taken in part: a new row that goes away is taken off", async () => {
    const { erp, run, minutes, level, sandbox } = await startFeeds();
    sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "status", status: 403 } });
    fillStock(erp, 2);
    await run("stocks");
    erp.exec("DELETE FROM stock");
    await minutes(12);
    expect([level("S-1"), level("S-2")]).toEqual([0, 0]);
  });
});

describe("a request that cannot have had an effect", () => {
  it("leaves no doubt: a value set back is not owed", async () => {
    const { erp, run, sandbox, clock, rows } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 4");
    await sandbox.close();
    await run("stocks");
    expect(rows("SELECT doubt_record FROM feed_outbox")).toEqual([{ doubt_record: null }]);
    erp.exec("UPDATE stock SET quantity = 5");
    clock.advance(60_000);
    await run("stocks");
    expect(rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
  });

  itWhole("does not take away a doubt that was there before", async () => {
    const { erp, run, level, sandbox, clock } = await startFeeds();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 4");
    sandbox.faults.add(LOST_AFTER);
    await run("stocks");
    clock.advance(IMPORT_TIMEOUT_MS);
    sandbox.faults.add({
      match: { path: "import" },
      do: { kind: "status", status: 429, headers: { "retry-after": "5" } },
    });
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 5");
    clock.advance(IMPORT_TIMEOUT_MS);
    await run("stocks");
    expect(level("A")).toBe(5);
  });
});
