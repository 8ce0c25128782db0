import path from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { OPEN_QUESTIONS } from "../../scripts/docs/open-questions.ts";
import { loadable, proposalLines } from "../../src/config/proposal.ts";
import { exploreService, probeService } from "../../src/daemon/ask-outside.ts";
import { m } from "../../src/messages/messages.ts";
import { EXIT } from "../../src/platform/errors.ts";
import type { Finding, ProbeQuestion } from "../../src/probe/probe-report.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { configFor, type Settings, startTestBridge } from "../support/bridge.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const FOREIGN: SandboxOptionsPatch = {
  shape: {
    batch: ["data", "list"],
    batchId: ["data", "batch"],
    updates: ["changes"],
    snapshot: ["result", "order"],
    order: { number: "num", status: "state", total: "sum", items: "positions", updated_at: "modified_at" },
    line: { sku: "article", name: "title", quantity: "qty", price: "cost" },
  },
  updates: { since: "unix" },
  timestamps: "unix",
  precision: "s",
};

interface Probed {
  findings: Finding[];
  keys: Record<string, unknown>;
  choices: Record<string, unknown>;
  asked: string[];
  /** What became of a question, its facts in English. */
  of(question: ProbeQuestion): { state: Finding["state"]; facts: string[] };
}

async function setUp(options: SandboxOptionsPatch = {}, settings: Settings = {}) {
  const folder = tempFolder();
  const test = await startTestBridge({ folder, sandbox: { options }, settings });
  const probe = async (yes = false, changed = settings): Promise<Probed> => {
    const asked: string[] = [];
    const { findings, keys, choices } = await exploreService(configFor(test.sandbox, folder, changed), {
      clock: test.clock,
      signal: new AbortController().signal,
      consent: async (what) => {
        asked.push(String(what));
        return yes;
      },
      progress: () => {},
    });
    const of = (question: ProbeQuestion) => {
      const { state, facts } = findings.find((finding) => finding.question === m.questions[question])!;
      return { state, facts: facts.map(String) };
    };
    return { findings, keys, choices, asked, of };
  };
  return { ...test, bridge: () => test.bridge, folder, probe };
}

/** Orders that were pulled and changed, so that every answer has something in it. */
async function withChanges(test: Awaited<ReturnType<typeof setUp>>): Promise<void> {
  const ids = Array.from({ length: 3 }, () => test.sandbox.service.createOrder());
  await test.run("orders");
  for (const id of ids) {
    test.clock.advance(60_000);
    test.sandbox.service.changeOrder(id, { status: "paid" });
  }
  test.clock.advance(60_000);
}

describe("probe", () => {
  it("answers every question that the interface document leaves open", () => {
    expect(Object.values(m.questions)).toEqual(OPEN_QUESTIONS.map(({ question }) => question));
  });

  itWhole("asks a service that writes DD.MM.YYYY in that form, before any of its times is known", async () => {
    const test = await setUp({ timestamps: "dotted", precision: "s", updates: { since: "dotted" } });
    await withChanges(test);
    const { state, facts } = (await test.probe()).of("since");
    expect(facts.join("\n")).toContain("timestamps are DD.MM.YYYY, without a zone");
    expect(facts.join("\n")).not.toContain("iso: refused");
    expect(state).toBe("needs you");
  });

  itWhole("finds the default service as configured, proposes nothing, and has no effect", async () => {
    const test = await setUp();
    await withChanges(test);
    const before = test.sandbox.ledger.entries.length;
    const { of, keys, asked } = await test.probe();
    const made = test.sandbox.ledger.entries.slice(before);
    expect(made.every(({ effect }) => effect === null)).toBe(true);
    expect(made.filter(({ kind }) => kind === "orders" || kind === "confirm" || kind === "unknown")).toEqual([]);
    expect(keys).toEqual({});
    expect(of("since").facts).toEqual(
      expect.arrayContaining([
        "iso: understood (the past brings changes, tomorrow brings none)",
        "unix: understood (the past brings changes, tomorrow brings none)",
        "a change with exactly the timestamp of since is in the answer (inclusive)",
        "changes come oldest first",
      ]),
    );
    expect(of("bodies").facts).toEqual(
      expect.arrayContaining([
        "GET /orders/updates keeps its changes under $.updates, as configured",
        "GET /orders/{order_id} keeps the order under $, as configured",
        expect.stringMatching(/^a change lacks \d+ fields of the whole order/),
      ]),
    );
    expect(of("confirm")).toMatchObject({ state: "found", facts: ["batches with an id: 1 confirmed (auto)"] });
    expect(of("errors").facts.join()).toMatch(/404[\s\S]*stocks: a body without its array is 400/);
    expect(asked).toHaveLength(1);
    expect(of("scope").state).toBe("skipped");
  });

  itWhole(
    "proposes, for a service that names everything differently, a configuration with which everything is read",
    async () => {
      const test = await setUp(FOREIGN);
      const ids = Array.from({ length: 3 }, () => test.sandbox.service.createOrder());
      expect(await test.run("orders")).toMatchObject({ outcome: "failed" });
      for (const id of ids) {
        test.clock.advance(60_000);
        test.sandbox.service.changeOrder(id, { status: "отменён" });
      }
      test.clock.advance(60_000);
      const { keys } = await test.probe();
      expect(loadable(keys)).toEqual(keys);
      expect(keys).toMatchObject({
        "orders.batch.orders": "$.data.list",
        "orders.batch.id": "$.data.batch",
        "updates.changes": "$.changes",
        "updates.since": "unix",
        "updates.snapshot": "$.result.order",
        "orders.fields.status": "$.state",
        "orders.fields.lines": "$.positions",
        "orders.line.sku": "$.article",
      });
      const settings: Settings = {};
      Object.assign(settings, parse(proposalLines(keys)));
      await test.restart(settings);
      expect(await test.run("orders")).toMatchObject({ error: null });
      expect(await test.run("updates")).toMatchObject({ error: null });
      expect(
        test.rows("SELECT count(*) AS n, min(number IS NOT NULL) AS named, min(status) AS status FROM orders"),
      ).toEqual([{ n: 3, named: 1, status: "отменён" }]);
      expect((await test.probe(false, settings)).of("orderFields").facts.join()).not.toContain("nothing was found at");
    },
  );

  itWhole("recognises an exclusive boundary, whole changes and a since that nobody heeds", async () => {
    const exclusive = await setUp({ updates: { boundary: "exclusive", carry: "whole" } });
    await withChanges(exclusive);
    const first = await exclusive.probe();
    expect(first.of("since").facts.join()).toContain("(exclusive)");
    expect(first).toMatchObject({ keys: {}, choices: { "updates.carry": "whole" } });
    const deaf = await setUp({ updates: { stuck: "same-page" } });
    await withChanges(deaf);
    const second = await deaf.probe();
    expect(second.of("since")).toMatchObject({ state: "needs you" });
    expect(second.of("since").facts.join()).toContain("iso: ignored, tomorrow brings changes too");
  });

  it("is no matter of credentials where the service refuses the form of since", async () => {
    const test = await setUp({ updates: { since: "unix" } });
    const checks = await probeService(configFor(test.sandbox, test.folder), test.clock);
    expect(checks.filter(({ ok }) => !ok)).toMatchObject([{ check: "orders: credentials", exitCode: EXIT.attention }]);
    expect(String(checks[0]?.message)).toContain("takes updates.since in another form");
  });

  itWhole("sends what could have an effect only after a yes, and no record beside a running bridge", async () => {
    const test = await setUp();
    test.bridge().store.db.prepare("INSERT INTO stock (sku, quantity) VALUES ('A-1', 5), ('A-2', 6)").run();
    await test.run("stocks");
    const beside = await test.probe(true);
    expect(beside.asked).toEqual([expect.stringMatching(/^Send \{"stocks":\[\]\} to/)]);
    expect(beside.of("stockRecord")).toMatchObject({
      state: "skipped",
      facts: [expect.stringContaining("a bridge is running")],
    });
    expect(beside.of("importAnswer").facts).toContain(
      'the empty array {"stocks":[]} is accepted with 200 and an object with accepted (number), errors (list)',
    );
    const site = [...test.sandbox.service.imported("stocks")];
    await test.bridge().stop();
    const alone = await test.probe(true);
    expect(alone.asked).toHaveLength(2);
    expect(alone.of("importAnswer").facts.join()).toContain("one record is accepted with 200");
    expect([...test.sandbox.service.imported("stocks")]).toEqual(site);
  });

  itWhole("leaves a half of the service alone that is held or refuses, and says so", async () => {
    const test = await setUp();
    test.sandbox.service.setOptions({ refuse: ["1c"], paid: false });
    await test.run("orders");
    const before = test.sandbox.ledger.entries.length;
    const { of } = await test.probe(true);
    const made = test.sandbox.ledger.entries.slice(before);
    expect(made.map(({ kind }) => kind)).toEqual(["import"]);
    expect(of("since")).toMatchObject({ state: "skipped" });
    expect(of("since").facts.join()).toContain("held (credentials)");
    expect(of("refusals").facts.join()).toContain("stocks: the answer is 402");
  });

  itWhole(
    "keeps a slow pace of its own beside a daemon, tells no value of an order, and needs no database",
    async () => {
      const test = await setUp();
      await withChanges(test);
      const startedMs = test.clock.monotonicMs();
      const { findings } = await test.probe();
      expect(test.clock.monotonicMs() - startedMs).toBeGreaterThan(8_000);
      expect(JSON.stringify(findings)).not.toMatch(/Ivanova|Иванова|\+7 900|ЗК-|sandbox-secret/);
      const config = configFor(test.sandbox, path.join(tempFolder(), "new"));
      const options = {
        clock: test.clock,
        signal: new AbortController().signal,
        consent: async () => false,
        progress: () => {},
      };
      const { findings: blind } = await exploreService(config, options);
      expect(blind.find(({ question }) => question === m.questions.confirm)?.facts).toEqual([m.probe.noDatabase]);
    },
  );
});
