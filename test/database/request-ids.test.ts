import path from "node:path";
import { expect, it } from "vitest";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";
import { formerMigrations } from "../support/former-migrations.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const ORDER = "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde";
const INSERT = "INSERT INTO status_requests (id, order_id, status) VALUES (?, ?, 'packed')";
const LAST = 9_200_000_000_000_000_000n;
const LARGEST = 2n ** 63n - 1n;

function open(file: string, migrationsFolder = MIGRATIONS_FOLDER) {
  return openStore({ path: file, migrationsFolder, mode: "daemon", now: () => 0 });
}

function idsOf({ db }: ReturnType<typeof open>): bigint[] {
  return db.prepare<[], bigint>("SELECT id FROM status_requests ORDER BY id").pluck().safeIntegers(true).all();
}

it("an id that leaves no number for later requests is refused with words, and others are taken", () => {
  const store = open(path.join(tempFolder("ids"), "bridge.db"));
  const insert = store.db.prepare(INSERT);
  for (const id of [LAST + 1n, LARGEST])
    expect(() => insert.run(id, ORDER)).toThrow(/leaves no number .* leave the id out/);
  for (const id of [null, 1_795_383_600_123_456_789n, LAST, null]) insert.run(id, ORDER);
  expect(() => store.db.exec(`UPDATE status_requests SET id = ${LARGEST} WHERE id = 1`)).toThrow("leaves no number");
  expect(idsOf(store)).toEqual([1n, 1_795_383_600_123_456_789n, LAST, LAST + 1n]);
  store.close();
});

itWhole.each([
  ["that is there", false, [5n, LARGEST - 100_000_000_000_000_000n]],
  ["of a row that is gone", true, [5n]],
])("an id %s and left no number is brought down, and later requests are taken", (_, isDeleted, expected) => {
  const folder = tempFolder("ids");
  const file = path.join(folder, "bridge.db");
  const former = open(file, formerMigrations(folder, "request_ids"));
  const insert = former.db.prepare(INSERT);
  insert.run(5, ORDER);
  insert.run(LARGEST, ORDER);
  if (isDeleted) former.db.exec("DELETE FROM status_requests WHERE id > 5");
  expect(() => insert.run(null, ORDER)).toThrow("full");
  former.close();
  const store = open(file);
  store.db.prepare(INSERT).run(null, ORDER);
  const last = expected.at(-1)!;
  expect(idsOf(store)).toEqual([...expected, last + 10_000_001n]);
  store.close();
});
