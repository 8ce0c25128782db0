import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { startTestBridge } from "../support/bridge.ts";
import { PAGES } from "../support/pages.ts";
import { statementsOf } from "../support/recipes.ts";

/** Statements in blocks and in single lines. `…` and `NAME` in capitals stand for a value. */
function statementsIn(page: string): string[] {
  const text = readFileSync(page, "utf8");
  const blocks = [...text.matchAll(/^ *```sql\n([\s\S]*?)^ *```/gm)].map(([, sql = ""]) => sql);
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```/gm, "");
  const spans = [...prose.matchAll(/`((?:SELECT|INSERT|UPDATE|DELETE) [^`]+)`/g)].map(([, sql = ""]) => sql);
  return [...blocks.flatMap(statementsOf), ...spans.filter((sql) => / FROM | INTO | SET /.test(sql))];
}

/** Its statements are PostgreSQL's, and tried there: test/mirror/many-shops.test.ts. */
const OF_POSTGRES = "docs/many-shops.";

describe("the pages", () => {
  it("show statements that fit the database as it is", async () => {
    const { bridge } = await startTestBridge({ settings: { orders: { extra: { phone: "$.customer.phone" } } } });
    const { db } = bridge.store;
    db.exec("CREATE TABLE my_orders (order_id PRIMARY KEY, total); CREATE TABLE my_goods (article, on_hand, on_order)");
    const all = PAGES.filter((page) => !page.startsWith(OF_POSTGRES)).flatMap((page) =>
      statementsIn(page).map((sql) => ({ page, sql })),
    );
    expect(all.length).toBeGreaterThan(40);
    const wrong = all.flatMap(({ page, sql }) => {
      try {
        db.prepare(sql.replaceAll(/= …/g, "= 1"));
        return [];
      } catch (error) {
        return [`${page}: ${sql}: ${(error as Error).message}`];
      }
    });
    expect(wrong).toEqual([]);
  });
});
