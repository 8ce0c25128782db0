import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { block, CLI, ID, OTHER, openShop, UPPER, upsert } from "../support/marks.ts";
import { some } from "../support/whole.ts";

interface Row {
  way: string;
  /** What happens, in order: a statement of the ERP's, or a change of the order. */
  steps: (string | "change")[];
  pending?: string[];
  blocked?: string[];
}

const NEW = ["revision 1, seen 0"];

/** The table of ways to mark an order: what each one does to `orders_pending` and `orders_blocked`. */
const WAYS: Row[] = [
  { way: "nothing at all", steps: [], pending: NEW },
  { way: "the revision that was read", steps: [upsert(1)] },
  { way: "the revision that was read, twice", steps: [upsert(1), upsert(1)] },
  {
    way: "no revision, which is 0",
    steps: [`INSERT INTO erp_orders (order_id, erp_number) VALUES ('${ID}', 'E-1')`],
    pending: NEW,
  },
  { way: "a change after the mark", steps: [upsert(1), "change"], pending: ["revision 2, seen 1"] },
  { way: "a change before the mark of what was read", steps: ["change", upsert(1)], pending: ["revision 2, seen 1"] },
  { way: "an older revision after a newer one, by upsert with max()", steps: ["change", upsert(2), upsert(1)] },
  {
    way: "an older revision by plain UPDATE",
    steps: ["change", upsert(2), `UPDATE erp_orders SET seen_revision = 1`],
    pending: ["revision 2, seen 1"],
  },
  {
    way: "0 by plain UPDATE, to have it once more",
    steps: [upsert(1), `UPDATE erp_orders SET seen_revision = 0`],
    pending: NEW,
  },
  {
    way: "the revision by plain UPDATE",
    steps: [upsert(0), `UPDATE erp_orders SET seen_revision = 1 WHERE order_id = '${ID}'`],
  },
  { way: "an id in capitals", steps: [upsert(1, UPPER)] },
  { way: "an id in capitals over one in small letters", steps: [upsert(0), upsert(1, UPPER)] },
  {
    way: "INSERT OR REPLACE with the revision",
    steps: [upsert(1), "change", `INSERT OR REPLACE INTO erp_orders (order_id, seen_revision) VALUES ('${ID}', 2)`],
  },
  {
    way: "INSERT OR REPLACE without one, which is 0 again",
    steps: [upsert(1), `INSERT OR REPLACE INTO erp_orders (order_id, note) VALUES ('${ID}', 'x')`],
    pending: NEW,
  },
  {
    way: "INSERT OR REPLACE in capitals",
    steps: [upsert(1), "change", `INSERT OR REPLACE INTO erp_orders (order_id, seen_revision) VALUES ('${UPPER}', 2)`],
  },
  {
    way: "INSERT OR IGNORE over a mark, which does nothing",
    steps: [upsert(1), "change", `INSERT OR IGNORE INTO erp_orders (order_id, seen_revision) VALUES ('${ID}', 2)`],
    pending: ["revision 2, seen 1"],
  },
  {
    way: "INSERT OR REPLACE with recursive triggers",
    steps: [
      upsert(1),
      `PRAGMA recursive_triggers = ON; INSERT OR REPLACE INTO erp_orders (order_id, seen_revision) VALUES ('${ID}', 1)`,
    ],
  },
  { way: "DELETE", steps: [upsert(1), `DELETE FROM erp_orders WHERE order_id = '${ID}'`], pending: NEW },
  { way: "DELETE of everything", steps: [upsert(1), "DELETE FROM erp_orders"], pending: NEW },
  {
    way: "the row given to another order",
    steps: [upsert(1), `UPDATE erp_orders SET order_id = '${OTHER}'`],
    pending: NEW,
  },
  { way: "the row's id in another case", steps: [upsert(1), `UPDATE erp_orders SET order_id = '${UPPER}'`] },
  {
    way: "a note alone",
    steps: [upsert(1), "change", "UPDATE erp_orders SET note = 'x', erp_number = 7"],
    pending: ["revision 2, seen 1"],
  },
  {
    way: "NULL as the revision",
    steps: [`INSERT INTO erp_orders (order_id, seen_revision, state) VALUES ('${ID}', NULL, NULL)`],
    pending: NEW,
  },
  {
    way: "the revision over a NULL, by upsert with max()",
    steps: [`INSERT INTO erp_orders (order_id, seen_revision, state) VALUES ('${ID}', NULL, NULL)`, upsert(1)],
  },
  { way: "NULL over the revision, by upsert with max()", steps: [upsert(1), upsert("NULL")] },
  {
    way: "NULL over the revision, by plain UPDATE",
    steps: [upsert(1), "UPDATE erp_orders SET seen_revision = NULL, state = NULL"],
    pending: NEW,
  },
  { way: "the revision as text", steps: [upsert("'1'")] },
  { way: "blocked", steps: [block], blocked: NEW },
  { way: "blocked, twice", steps: [block, block], blocked: NEW },
  {
    way: "blocked with the revision that was read",
    steps: [`INSERT INTO erp_orders (order_id, seen_revision, state) VALUES ('${ID}', 1, 'blocked')`],
    blocked: ["revision 1, seen 1"],
  },
  { way: "blocked after it was taken", steps: [upsert(1), block], blocked: ["revision 1, seen 1"] },
  { way: "blocked, and a change", steps: [block, "change"], pending: ["revision 2, seen 0"] },
  {
    way: "blocked with its revision, and a change",
    steps: [`INSERT INTO erp_orders (order_id, seen_revision, state) VALUES ('${ID}', 1, 'blocked')`, "change"],
    pending: ["revision 2, seen 1"],
  },
  { way: "blocked, a change, and blocked again", steps: [block, "change", block], blocked: ["revision 2, seen 0"] },
  {
    way: "blocked, a change, and blocked again with the revision",
    steps: [block, "change", `${upsert(2)}, state = 'blocked'`],
    blocked: ["revision 2, seen 2"],
  },
  {
    way: "blocked, a change, and only a mark of what was read before",
    steps: [block, "change", upsert(1)],
    pending: ["revision 2, seen 1"],
  },
  { way: "blocked, a change, and taken", steps: [block, "change", upsert(2)] },
  { way: "blocked, and taken with the mark alone", steps: [block, upsert(1)] },
  { way: "blocked, and taken by state and mark", steps: [block, `${upsert(1)}, state = 'taken', error = NULL`] },
  {
    way: "blocked, and let go by the state alone",
    steps: [block, "UPDATE erp_orders SET state = 'taken'"],
    pending: NEW,
  },
  { way: "blocked, and let go by NULL", steps: [block, "UPDATE erp_orders SET state = NULL"], pending: NEW },
  { way: "blocked, and deleted", steps: [block, "DELETE FROM erp_orders"], pending: NEW },
  { way: "blocked, and another note", steps: [block, "UPDATE erp_orders SET error = 'still none'"], blocked: NEW },
  {
    way: "blocked by plain UPDATE, with a change in between",
    steps: [upsert(1), "change", "UPDATE erp_orders SET state = 'blocked'"],
    blocked: ["revision 2, seen 1"],
  },
  {
    way: "blocked by INSERT OR REPLACE",
    steps: [upsert(1), `INSERT OR REPLACE INTO erp_orders (order_id, state) VALUES ('${ID}', 'blocked')`],
    blocked: NEW,
  },
];

/** Ways that are refused, with what SQLite then says; nothing is changed by them. */
const REFUSED: { way: string; sql: string; says: RegExp }[] = [
  {
    way: "a revision of the future",
    sql: upsert(2),
    says: /this seen_revision does not exist; write the revision that was read/,
  },
  { way: "a negative revision", sql: upsert(-1), says: /this seen_revision does not exist/ },
  { way: "text that is no number", sql: upsert("'abc'"), says: /cannot store TEXT value in INTEGER column/ },
  { way: "a fraction", sql: upsert(0.5), says: /cannot store REAL value in INTEGER column/ },
  {
    way: "an unknown id",
    sql: upsert(1, "2f0e0d0c-0b0a-4908-8706-050403020100"),
    says: /there is no order with this order_id/,
  },
  {
    way: "no id",
    sql: "INSERT INTO erp_orders (seen_revision) VALUES (1)",
    says: /there is no order with this order_id|NOT NULL/,
  },
  {
    way: "an unknown state",
    sql: `INSERT INTO erp_orders (order_id, state) VALUES ('${ID}', 'later')`,
    says: /CHECK constraint failed/,
  },
  {
    way: "an unknown id, also with OR IGNORE",
    sql: "INSERT OR IGNORE INTO erp_orders (order_id) VALUES ('nobody')",
    says: /there is no order with this order_id/,
  },
];

const WRITERS = [["better-sqlite3"], ["sqlite3"]] as const;

describe.each(WRITERS)("the table of ways to mark an order, written with %s", (writer) => {
  const isThere = writer === "better-sqlite3" || existsSync(CLI);

  it.runIf(isThere).each(some(WAYS, writer === "better-sqlite3" ? 10 : 3))(
    "$way",
    ({ steps, pending = [], blocked = [] }) => {
      const shop = openShop(writer);
      for (const step of steps) {
        if (step === "change") shop.change();
        else shop.erp(step);
      }
      expect({ pending: shop.pending(), blocked: shop.blocked() }).toEqual({ pending, blocked });
      expect(shop.store.db.pragma("integrity_check", { simple: true })).toBe("ok");
    },
  );

  it.runIf(isThere).each(REFUSED)("refuses $way", ({ sql, says }) => {
    const shop = openShop(writer);
    expect(() => shop.erp(sql)).toThrow(says);
    expect(shop.pending()).toEqual(NEW);
    shop.erp(upsert(1));
    expect(() => shop.erp(sql)).toThrow(says);
    expect({ pending: shop.pending(), blocked: shop.blocked() }).toEqual({ pending: [], blocked: [] });
  });

  it.runIf(isThere)("shows an order again that a mark was moved away from, and hides the one that has it now", () => {
    const shop = openShop(writer);
    shop.erp(`${upsert(1)}; UPDATE erp_orders SET order_id = '${OTHER}'`);
    expect(shop.store.db.prepare("SELECT order_id FROM orders_pending").pluck().all()).toEqual([ID]);
  });

  it.runIf(isThere)("marks many orders with one statement", () => {
    const shop = openShop(writer);
    shop.erp(`INSERT INTO erp_orders (order_id, seen_revision) SELECT order_id, revision FROM orders_pending WHERE true
      ON CONFLICT (order_id) DO UPDATE SET seen_revision = max(seen_revision, excluded.seen_revision)`);
    expect(shop.store.db.prepare("SELECT count(*) FROM orders_pending").pluck().get()).toBe(0);
  });
});

describe("reading what is pending", () => {
  it("keeps an order pending whose header and lines were read apart with a change in between", () => {
    const shop = openShop("better-sqlite3");
    const header = shop.store.db.prepare("SELECT revision FROM orders_pending WHERE order_id = ?").get(ID) as {
      revision: number;
    };
    shop.change();
    const line = shop.store.db.prepare("SELECT revision FROM order_lines WHERE order_id = ?").get(ID) as {
      revision: number;
    };
    // Whoever compares sees it; whoever does not gets the order once more.
    expect(line.revision).not.toBe(header.revision);
    shop.erp(upsert(header.revision));
    expect(shop.pending()).toEqual(["revision 2, seen 1"]);
  });

  it("does not show a change again that only our own status has made", () => {
    const shop = openShop("better-sqlite3");
    shop.erp(upsert(1));
    shop.store.db.prepare("UPDATE orders SET revision = revision + 1 WHERE order_id = ?").run(ID);
    expect(shop.pending()).toEqual([]);
    shop.erp(upsert(2));
    shop.change();
    expect(shop.pending()).toEqual(["revision 3, seen 2"]);
  });

  it("counts the wait of an order that comes back from its block from the change on", () => {
    const shop = openShop("better-sqlite3");
    shop.erp(block);
    shop.change();
    const since = shop.store.db
      .prepare("SELECT q.since FROM erp_queue q JOIN orders o USING (order_key) WHERE o.order_id = ?")
      .pluck();
    expect(since.get(ID)).toBe("2026-03-02T00:00:00.000Z");
    // One that was waiting all the time goes on waiting since its first change.
    shop.change(OTHER);
    expect(since.get(OTHER)).toBe("2026-03-01T00:00:00.000Z");
  });

  it("says why each order is there", () => {
    const shop = openShop("better-sqlite3");
    const why = shop.store.db.prepare("SELECT why FROM orders_pending WHERE order_id = ?").pluck();
    expect(why.get(ID)).toBe("new");
    shop.erp(upsert(1));
    shop.change();
    expect(why.get(ID)).toBe("changed");
    shop.store.db.prepare("UPDATE orders SET is_cancelled = 1 WHERE order_id = ?").run(ID);
    expect(why.get(ID)).toBe("cancelled");
  });
});
