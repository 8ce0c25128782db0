import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { startWebBridge, type WebBridge } from "../support/web.ts";
import { itWhole } from "../support/whole.ts";

interface Parsed {
  types: Map<string, string>;
  samples: Map<string, number>;
}

const LINE = /^([a-z0-9_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? (-?[\d.e+-]+|NaN|[+-]Inf)$/;

/** Everything of an answer, checked against the grammar of the format. */
function parseMetrics(text: string): Parsed {
  const types = new Map<string, string>();
  const samples = new Map<string, number>();
  let current = "";
  expect(text.endsWith("\n")).toBe(true);
  for (const line of text.slice(0, -1).split("\n")) {
    const help = /^# HELP ([a-z0-9_]+) \S.*\.$/.exec(line);
    const type = /^# TYPE ([a-z0-9_]+) (gauge|counter)$/.exec(line);
    if (help !== null) {
      current = help[1] ?? "";
      expect(types.has(current), `${current} comes in one piece`).toBe(false);
    } else if (type !== null) {
      expect(type[1]).toBe(current);
      types.set(current, type[2] ?? "");
    } else {
      const [, name, labels = "", value] = LINE.exec(line) ?? [];
      expect(name, line).toBe(current);
      expect(samples.has(`${name}${labels}`), `${line} comes once`).toBe(false);
      samples.set(`${name}${labels}`, Number(value));
    }
  }
  return { types, samples };
}

async function read(t: WebBridge): Promise<Parsed> {
  t.clock.advance(60_000);
  const { status, headers, body } = await t.ask("/metrics");
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  return parseMetrics(body);
}

describe("/metrics", () => {
  it("names and types everything by the conventions", async () => {
    const t = await startWebBridge();
    await t.run("orders");
    const { types } = await read(t);
    for (const [name, type] of types) {
      expect(name).toMatch(/^(erp_bridge|process|nodejs)_/);
      expect(name.endsWith("_total"), name).toBe(type === "counter");
    }
    expect([...types.keys()].filter((name) => /(milli|_ms|minutes|_mb|_kb)/.test(name))).toEqual([]);
  });

  itWhole("tells what waits, what is stored and when each flow succeeded", async () => {
    const t = await startWebBridge();
    const startS = t.clock.nowMs() / 1000;
    for (let n = 0; n < 3; n++) t.sandbox.service.createOrder();
    await t.run("orders");
    await t.run("updates");
    const { samples } = await read(t);
    expect(samples.get("erp_bridge_healthy")).toBe(1);
    expect(samples.get("erp_bridge_orders")).toBe(3);
    expect(samples.get("erp_bridge_orders_pending")).toBe(3);
    expect(samples.get("erp_bridge_orders_pending_age_seconds")).toBe(60);
    expect(samples.get('erp_bridge_waiting{flow="erp"}')).toBe(3);
    expect(samples.get('erp_bridge_batches{state="stored"}')).toBe(0);
    expect(samples.get('erp_bridge_last_success_timestamp_seconds{flow="orders"}')).toBe(startS);
    expect(samples.has('erp_bridge_last_success_timestamp_seconds{flow="stocks"}')).toBe(false);
    expect(samples.get('erp_bridge_stale_after_seconds{flow="orders"}')).toBe(300);
    expect(samples.get('erp_bridge_runs_total{flow="orders",outcome="done"}')).toBe(1);
    expect(samples.get('erp_bridge_items_total{flow="orders",what="created"}')).toBe(3);
    const watermark = samples.get('erp_bridge_watermark_timestamp_seconds{stream="updates"}') ?? 0;
    expect(Math.abs(watermark - startS)).toBeLessThan(3_600);
    for (const name of ["database_size_bytes", "wal_size_bytes", "disk_free_bytes"]) {
      expect(samples.get(`erp_bridge_${name}`), name).toBeGreaterThan(0);
    }
    expect(samples.get("nodejs_eventloop_lag_max_seconds")).toBeGreaterThanOrEqual(0);
    expect(samples.get("process_resident_memory_bytes")).toBeGreaterThan(1e7);
  });

  itWhole("counts runs up, over looks and rows that were removed in between", async () => {
    const t = await startWebBridge();
    const runs = 'erp_bridge_runs_total{flow="orders",outcome="idle"}';
    await t.run("orders");
    const first = (await read(t)).samples.get(runs);
    await t.run("orders");
    await t.run("orders");
    expect((await read(t)).samples.get(runs)).toBe((first ?? 0) + 2);
    t.bridge.store.db.exec("DELETE FROM runs");
    expect((await read(t)).samples.get(runs)).toBe((first ?? 0) + 2);
    await t.run("orders");
    expect((await read(t)).samples.get(runs)).toBe((first ?? 0) + 3);
  });

  itWhole("shows a hold while it stands, and the age of the stock on the site", async () => {
    const t = await startWebBridge();
    t.rows("INSERT INTO stock (sku, quantity) VALUES ('A', 1) RETURNING 1");
    await t.run("stocks");
    expect((await read(t)).samples.get('erp_bridge_site_age_seconds{feed="stocks"}')).toBe(60);
    const rule = t.sandbox.faults.add({
      match: { feed: "stocks" },
      times: "forever",
      do: { kind: "status", status: 402 },
    });
    t.rows("UPDATE stock SET quantity = 2 RETURNING 1");
    await t.run("stocks");
    const { samples } = await read(t);
    expect(samples.get('erp_bridge_hold{area="imports",reason="payment"}')).toBe(1);
    expect(samples.get('erp_bridge_waiting{flow="stocks"}')).toBe(1);
    expect(samples.get("erp_bridge_healthy")).toBe(0);
    t.sandbox.faults.remove(rule);
    t.clock.advance(3_600_000);
    await t.run("stocks");
    expect([...(await read(t)).samples.keys()].filter((key) => key.startsWith("erp_bridge_hold"))).toEqual([]);
  });

  it("has few labels, whatever the ERP and the service write", async () => {
    const t = await startWebBridge();
    await t.run("orders");
    const { samples } = await read(t);
    const labels = [...samples.keys()].flatMap((key) => [...key.matchAll(/([a-z_]+)="/g)].map(([, label]) => label));
    expect([...new Set(labels)].sort()).toEqual(
      ["code", "feed", "flow", "node", "outcome", "state", "stream", "subject", "version", "what"].filter((label) =>
        labels.includes(label),
      ),
    );
    expect(samples.size).toBeLessThan(200);
  });

  it("is described in the documents, every metric and none that does not exist", async () => {
    const t = await startWebBridge();
    const source = readFileSync("src/web/list-metrics.ts", "utf8");
    const known = new Set(
      [...source.matchAll(/"((?:erp_bridge|process|nodejs)_[a-z_0-9]+)"/g)].map(([, name]) => name),
    );
    const text = readFileSync("docs/monitoring.md", "utf8");
    const documented = new Set(
      [...text.matchAll(/^\| `((?:erp_bridge|process|nodejs)_[a-z_0-9]+)`/gm)].map(([, name]) => name),
    );
    expect([...documented].sort()).toEqual([...known].sort());
    const shown = (await read(t)).types.keys();
    expect([...shown].filter((name) => !known.has(name))).toEqual([]);
  });
});
