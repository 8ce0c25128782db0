import { describe, expect, it } from "vitest";
import type { Condition } from "../../src/health/conditions.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { loadConditions, replaceConditions } from "../../src/health/health-rows.ts";
import { SaveConditions } from "../../src/health/save-conditions.ts";
import { describeFreshness } from "../../src/health/status.ts";
import type { Watched } from "../../src/health/watched.ts";
import { render } from "../../src/messages/message.ts";
import { deleteHoldsFor } from "../../src/pass/hold-rows.ts";
import type { JobContext } from "../../src/pass/job.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;

const codes = (t: TestBridge) => loadConditions(t.bridge.store).map(({ code, subject }) => `${code} ${subject}`);

function sentenceOf(t: TestBridge, flow: string): string {
  const row = t.bridge.store.db.prepare("SELECT sentence FROM sync_status WHERE flow = ?").get(flow);
  return (row as { sentence: string }).sentence;
}

describe("the table conditions", () => {
  itWhole(
    "holds what the daemon sees, most important first, and is written when that changes or gets old",
    async () => {
      const t = await startTestBridge();
      for (const job of ["orders", "updates", "stocks"] as const) await t.run(job);
      const hidden = t.sandbox.faults.add({
        match: { path: "orders" },
        times: "forever",
        do: { kind: "status", status: 401 },
      });
      await t.run("orders");
      await t.bridge.watch.look();
      expect(codes(t)).toEqual(["hold_credentials orders"]);
      const [row] = loadConditions(t.bridge.store);
      expect(row).toMatchObject({ rank: 1, severity: "critical", command: "erp-bridge resume orders" });
      expect(row?.params).toEqual({ reason: "credentials" });
      expect(row?.text).toMatch(/^Orders held since .*: the service refuses the credentials\.$/);
      t.clock.advance(MINUTE_MS);
      await t.bridge.watch.look();
      expect(loadConditions(t.bridge.store)[0]?.seenAt).toBe(row?.seenAt);
      t.clock.advance(4 * MINUTE_MS);
      await t.bridge.watch.look();
      expect(loadConditions(t.bridge.store)[0]?.seenAt).not.toBe(row?.seenAt);
      t.sandbox.faults.remove(hidden);
      t.clock.advance(MINUTE_MS);
      for (const job of ["orders", "updates", "stocks"] as const) await t.run(job);
      await t.bridge.watch.look();
      expect(codes(t)).toEqual([]);
    },
  );

  it("begins the sentence of its flow in sync_status while the daemon lives", async () => {
    const t = await startTestBridge();
    await t.run("orders");
    const refused = {
      rank: 1,
      code: "refused_statuses",
      severity: "warning" as const,
      subject: "orders",
      since: null,
      params: { count: 4 },
      text: "4 status requests refused.",
      command: null,
      seenAt: new Date().toISOString(),
    };
    const { store } = t.bridge;
    store.write(() => replaceConditions(store, [{ ...refused, rank: 2, text: "Second." }, refused]));
    expect(sentenceOf(t, "orders")).toMatch(/^4 status requests refused\. Succeeded /);
    expect(sentenceOf(t, "stocks")).not.toContain("refused");
    const seenAt = new Date(Date.now() - 11 * MINUTE_MS).toISOString();
    store.write(() => replaceConditions(store, [{ ...refused, seenAt }]));
    expect(sentenceOf(t, "orders")).toMatch(/^Succeeded /);
    const { last_success_at: at } =
      t.rows<{ last_success_at: string }>("SELECT * FROM flows WHERE flow = 'orders'")[0] ?? {};
    t.rows(
      "INSERT INTO holds (area, reason, since, scope) VALUES ('orders', 'credentials', '' || ?, 'area') RETURNING 1".replace(
        "?",
        `'${at}'`,
      ),
    );
    expect(sentenceOf(t, "updates")).toMatch(/^Held \(credentials\)\. /);
    const held = { ...refused, code: "hold_credentials", params: { reason: "credentials" }, text: "Orders held." };
    store.write(() => replaceConditions(store, [held]));
    expect(sentenceOf(t, "updates")).toMatch(/^Orders held\. /);
    expect(sentenceOf(t, "stocks")).not.toContain("held");
  });
});

describe("a flow that a hold has stopped", () => {
  it("says nothing of the hold once that has ended, before its next pass as well", async () => {
    const t = await startTestBridge();
    const { store } = t.bridge;
    t.sandbox.faults.add({ match: { path: "orders" }, times: "forever", do: { kind: "status", status: 401 } });
    await t.run("orders");
    await t.run("updates");
    const updates = () => {
      const { flows, holds } = loadFacts(store);
      const { errorCode, error } = flows.find(({ flow }) => flow === "updates") ?? {};
      return { holds: holds.length, errorCode, error: error == null ? null : render("en", error) };
    };
    expect(updates()).toMatchObject({
      ...{ holds: 1, errorCode: "held" },
      error: expect.stringContaining("next try") as string,
    });
    store.write(() => deleteHoldsFor(store, "credentials"));
    expect(updates()).toEqual({
      ...{ holds: 0, errorCode: null },
      error: "the hold that stopped it has ended; the next pass is to come",
    });
  });
});

describe("a feed of which nothing was ever accepted", () => {
  it("shows nothing on the site, whatever its passes end with", async () => {
    const t = await startTestBridge();
    await t.run("stocks");
    const facts = () => loadFacts(t.bridge.store);
    expect(facts().flows.find(({ flow }) => flow === "stocks")).toMatchObject({ asOf: null });
    expect(describeFreshness(facts(), t.clock.nowMs())).toContain("no stock sent yet");
    t.bridge.store.db.exec("INSERT INTO stock (sku, quantity) VALUES ('A-1', 5)");
    await t.run("stocks");
    expect(facts().flows.find(({ flow }) => flow === "stocks")?.asOf).not.toBeNull();
    expect(describeFreshness(facts(), t.clock.nowMs())).toContain("stock on the site as of");
  });
});

describe("conditions that only get older", () => {
  it("are not written again", async () => {
    const t = await startTestBridge();
    const { store } = t.bridge;
    const stale = (ageS: number): Condition => ({
      ...{ code: "flow_stale", subject: "orders", since: null },
      params: { ageS, error: null, why: null },
    });
    let ageS = 600;
    const context = { store, clock: t.clock } as unknown as JobContext;
    const saving = new SaveConditions(context, () => ({ conditions: [stale(ageS)] }) as unknown as Watched);
    await saving.look(new AbortController().signal);
    const written = loadConditions(store);
    ageS = 660;
    t.clock.advance(MINUTE_MS);
    await saving.look(new AbortController().signal);
    expect(written).toHaveLength(1);
    expect(loadConditions(store)).toEqual(written);
  });
});

describe("a first pass", () => {
  it("is noted while it runs, and not the next one", async () => {
    const t = await startTestBridge();
    const since = () => loadFacts(t.bridge.store).flows.find(({ flow }) => flow === "orders")?.firstPassSince ?? null;
    const seen: (string | null)[] = [];
    const { store } = t.bridge;
    const secure = store.secure.bind(store);
    store.secure = () => {
      seen.push(since());
      secure();
    };
    t.sandbox.service.createOrder();
    await t.run("orders");
    expect(seen[0]).toMatch(/^\d{4}-/);
    expect(since()).toBeNull();
    seen.length = 0;
    t.sandbox.service.createOrder();
    await t.run("orders");
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.every((at) => at === null)).toBe(true);
  });
});
