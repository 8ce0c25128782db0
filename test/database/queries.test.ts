import { describe, expect, it, vi } from "vitest";
import {
  columnList,
  deleteRows,
  findRow,
  insertRow,
  listRows,
  updateRows,
  upsertRow,
} from "../../src/database/queries.ts";
import type { NamedRow } from "../../src/database/row.ts";
import { conditions, flows, runs, syncRequests } from "../../src/database/schema.ts";
import { openNewStore } from "../support/new-store.ts";

function begin() {
  const { store } = openNewStore();
  return store;
}

const RUN = { job: "orders", startedAt: "a", finishedAt: "b", outcome: "done" as const, counts: { created: 2 } };

describe("the everyday statements", () => {
  it("give back what was written, in the schema's types", () => {
    const store = begin();
    const id = insertRow(store, runs, { ...RUN, error: undefined });
    expect(findRow(store, runs, { id })).toEqual({ ...RUN, id, errorCode: null, error: null });
    expect(findRow(store, runs, { id: id + 1 })).toBeUndefined();
    insertRow(store, flows, { flow: "orders", enabled: true });
    expect(findRow(store, flows, { enabled: true })).toMatchObject({ flow: "orders", staleAfterS: 0 });
    expect(findRow(store, flows, { enabled: false })).toBeUndefined();
  });

  it("find and write NULL as NULL", () => {
    const store = begin();
    const id = insertRow(store, syncRequests, { jobs: "[]", requestedAt: "a" });
    expect(findRow(store, syncRequests, { id, takenAt: null })?.id).toBe(id);
    expect(updateRows(store, syncRequests, { id, takenAt: null }, { takenAt: "b" })).toBe(1);
    expect(updateRows(store, syncRequests, { id, takenAt: null }, { takenAt: "c" })).toBe(0);
    expect(findRow(store, syncRequests, { takenAt: "b" })?.id).toBe(id);
    expect(updateRows(store, syncRequests, { takenAt: "b" }, { takenAt: null })).toBe(1);
    expect(findRow(store, syncRequests, { id })?.takenAt).toBeNull();
    const row = { rank: 1, code: "x", severity: "notice" as const, subject: "", text: "", seenAt: "" };
    expect(() => insertRow(store, conditions, { ...row, params: null as never })).toThrow("NOT NULL");
  });

  it("change a row of the same key, and write nothing where it is so already", () => {
    const store = begin();
    const save = (flow: string, enabled: boolean, staleAfterS: number) =>
      upsertRow(store, flows, { flow, enabled, staleAfterS }, { key: ["flow"], set: ["enabled"] });
    expect([save("orders", true, 1), save("orders", true, 2), save("orders", false, 3)]).toEqual([true, false, true]);
    expect(findRow(store, flows, { flow: "orders" })).toMatchObject({ enabled: false, staleAfterS: 1 });
    insertRow(store, flows, { flow: "erp" });
    expect(listRows(store, flows, {}, ["flow"]).map(({ flow }) => flow)).toEqual(["erp", "orders"]);
    expect(listRows(store, flows, { enabled: true }, ["flow"])).toEqual([]);
    expect(deleteRows(store, flows, { flow: "stocks" })).toBe(0);
    expect(deleteRows(store, flows, { flow: "orders" })).toBe(1);
  });

  it("are prepared once", () => {
    const store = begin();
    const prepare = vi.spyOn(store.db, "prepare");
    for (const flow of ["a", "b", "c"]) insertRow(store, flows, { flow });
    for (const flow of ["a", "b"]) updateRows(store, flows, { flow }, { failures: 1 });
    for (const flow of ["a", "b"]) deleteRows(store, flows, { flow });
    expect(prepare).toHaveBeenCalledTimes(3);
  });
});

it("a list of columns gives rows under the schema's names", () => {
  const store = begin();
  insertRow(store, flows, { flow: "orders", enabled: true });
  const names = ["flow", "enabled", "lastRunAt"] as const;
  const [row] = store
    .prepare<NamedRow<typeof flows, (typeof names)[number]>>(`SELECT ${columnList(flows, names, "f")} FROM flows f`)
    .all();
  expect(row).toEqual({ flow: "orders", enabled: 1, lastRunAt: null });
});
