import { describe, expect, it } from "vitest";
import { ORDER_IS_HERE } from "../../src/backup/carry-tables.ts";
import { openNewStore } from "../support/new-store.ts";
import { itWhole } from "../support/whole.ts";

function openEmpty() {
  const { store } = openNewStore();
  return store;
}

describe("whether an order of a batch was brought over", () => {
  it("is looked up by an index in every table, however much is quarantined", () => {
    const store = openEmpty();
    const plan = store.db.prepare(`EXPLAIN QUERY PLAN ${ORDER_IS_HERE}`).all({ id: "x" }) as { detail: string }[];
    const details = plan.map(({ detail }) => detail).filter((detail) => /^(SCAN|SEARCH)/.test(detail));
    expect(details.filter((detail) => detail.startsWith("SCAN"))).toEqual([]);
    expect(details.filter((detail) => detail.startsWith("SEARCH quarantine"))).toEqual([
      expect.stringContaining("INDEX quarantine_record (kind=? AND <expr>=?)"),
    ]);
  });

  itWhole("is asked under the id that was served, in any case, and of records of orders alone", () => {
    const store = openEmpty();
    const id = "3F2504E0-4F89-41D3-9A0C-0305E82C3301";
    const isHere = () => store.db.prepare(ORDER_IS_HERE).get({ id }) !== undefined;
    const hold = (kind: string, reference: string) =>
      store.db.exec(
        `DELETE FROM quarantine; INSERT INTO quarantine (kind, reference, reason, payload_hash, first_seen_at, last_seen_at)
         VALUES ('${kind}', '${reference}', 'bad', x'00', '', '')`,
      );
    expect(isHere()).toBe(false);
    for (const kind of ["order", "change", "snapshot"]) {
      for (const reference of [id, id.toLowerCase()]) {
        hold(kind, reference);
        expect(isHere()).toBe(true);
      }
    }
    hold("stocks", id);
    expect(isHere()).toBe(false);
  });
});
