import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Store } from "../../src/database/store.ts";
import { CLI, upsert } from "../support/marks.ts";
import { openNewStore } from "../support/new-store.ts";

/** 20,000 orders of which the ERP has taken all but 100, spread over all of them. */
function openLargeShop(): { store: Store; file: string } {
  const { file, store } = openNewStore();
  store.write(() => {
    store.db.exec(`
      INSERT INTO orders (order_id, received_at, changed_at, payload_source, payload_hash, payload)
      WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      SELECT printf('%08x-0000-4000-8000-%012x', (i * 2654435761) % 4294967296, i), '2026-03-01T00:00:00.000Z',
        '2026-03-01T00:00:00.000Z', 'batch', x'00', '{}' FROM n;
      INSERT INTO erp_orders (order_id, seen_revision) SELECT order_id, 1 FROM orders WHERE order_key % 200 <> 0;`);
  });
  return { store, file };
}

describe("the cost of what is pending", () => {
  const read = "SELECT order_id, revision, why, payload FROM orders_pending LIMIT 100";
  const readLines = `SELECT p.order_id, (SELECT json_group_array(l.sku) FROM order_lines l WHERE l.order_id = p.order_id) FROM orders_pending p LIMIT 100`;

  it("scans neither orders nor erp_orders", () => {
    const { store } = openLargeShop();
    for (const sql of [
      read,
      readLines,
      "SELECT count(*) FROM orders_pending",
      "SELECT * FROM orders_blocked",
      `${read.replace(" LIMIT 100", "")} WHERE order_id = 'x'`,
    ]) {
      const plan = (store.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(
        ({ detail }) => detail,
      );
      expect(plan.filter((detail) => /\bSCAN (o|e|orders|erp_orders|order_line_rows|l)\b/.test(detail))).toEqual([]);
      expect(plan.some((detail) => detail.includes("TEMP B-TREE"))).toBe(false);
    }
  });

  it.runIf(existsSync(CLI))("touches what is pending and not what is stored, in reading and in marking", () => {
    const { file } = openLargeShop();
    const steps = (sql: string) => {
      const out = execFileSync(CLI, [file], { input: `.stats vmstep\n${sql};\n` }).toString();
      return Number(/VM-steps: (\d+)/.exec(out)?.[1]);
    };
    expect(steps("SELECT count(*) FROM orders WHERE payload <> ''")).toBeGreaterThan(60_000);
    expect(steps(read)).toBeLessThan(6_000);
    expect(steps(readLines)).toBeLessThan(12_000);
    const [id] = execFileSync(CLI, [file, "SELECT order_id FROM orders_pending LIMIT 1"]).toString().trim().split("\n");
    expect(steps(upsert(1, id))).toBeLessThan(1_000);
    expect(steps(`UPDATE erp_orders SET state = 'blocked' WHERE order_id = '${id}'`)).toBeLessThan(1_000);
    expect(steps(`DELETE FROM erp_orders WHERE order_id = '${id}'`)).toBeLessThan(1_000);
  });
});
