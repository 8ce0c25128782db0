import { expect, it } from "vitest";
import { applyRow, listKeys } from "../../src/mirror/up/apply-rows.ts";
import type { Key } from "../../src/mirror/up/erp-tables.ts";
import { startTestBridge } from "../support/bridge.ts";
import { itWhole } from "../support/whole.ts";

// Half a surrogate pair, read as a character that sorts before it; and text that is not UTF-8.
itWhole.each([
  ["UTF-16le", "41003dd80dff"],
  ["UTF-8", "41ff"],
])("%s: local keys that no string carries are passed, and their rows deleted", async (encoding, hex) => {
  const { bridge, rows } = await startTestBridge({ encoding });
  const { store } = bridge;
  store.db.exec(`INSERT INTO images (sku, position) VALUES ('A', 1), (CAST(x'${hex}' AS TEXT), 2), ('B', 3)`);
  const keys: Key[] = [];
  for (let after: Key | undefined; keys.length < 9; ) {
    [after] = listKeys(store, "images", after, 1);
    if (after === undefined) break;
    keys.push(after);
  }
  expect(keys).toHaveLength(3);
  for (const key of keys) applyRow(store, { ...key, table: "images", row: null });
  expect(rows("SELECT * FROM images")).toEqual([]);
});

it("local keys are read as they are", async () => {
  const { bridge } = await startTestBridge();
  bridge.store.db.exec("INSERT INTO products (sku) VALUES ('\ufffd'), ('\u{1f600}')");
  expect(listKeys(bridge.store, "products", undefined, 9)).toEqual([
    { k0: "\ufffd", k1: "" },
    { k0: "\u{1f600}", k1: "" },
  ]);
});
