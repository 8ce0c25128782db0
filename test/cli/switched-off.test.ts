import { expect } from "vitest";
import { startShop } from "../support/shop.ts";
import { itSome, itWhole } from "../support/whole.ts";

const OFF = { imports: { stocks: { path: null } }, statuses: { path: null } };
const ON = {
  imports: { catalog: { path: "/api/v1/import/catalog" } },
  statuses: { path: "/api/v1/1c/orders/{order_id}/status" },
};

/** Stock and statuses are held, rows wait, and then both are switched off. */
async function startHeld() {
  const shop = await startShop({ settings: ON });
  await shop.command("sync");
  shop.write(`INSERT INTO holds (area, reason, since) VALUES
    ('stocks', 'guard', '2026-01-01T00:00:00.000Z'), ('statuses', 'refused', '2026-01-01T00:00:00.000Z')`);
  shop.write("UPDATE feeds SET guard_since = '2026-01-01T00:00:00.000Z' WHERE name = 'stocks'");
  shop.write(
    `INSERT INTO quarantine (kind, reference, reason, payload, payload_hash, first_seen_at, last_seen_at)
     VALUES ('stocks', 'A', 'r', '{}', x'00', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')`,
  );
  shop.write(
    `INSERT INTO feed_former (feed_id, former, key, record, sent_at, live, since, state) VALUES
       (1, '{"keys":["sku"],"record":{}}', '["b"]', '{"sku":"b","quantity":5}', '', 1, '2026-01-01T00:00:00.000Z', 'waiting')`,
  );
  const standing = () => [
    shop.rows("SELECT area, reason FROM holds ORDER BY area"),
    shop.rows("SELECT approved_round, guard_since FROM feeds WHERE name = 'stocks'"),
    shop.rows("SELECT state FROM quarantine"),
    shop.rows("SELECT state FROM feed_former"),
  ];
  const before = standing();
  return { ...shop, standing, before };
}

itWhole("status asks for nothing about what was switched off, and for all of it once it is on again", async () => {
  const { command, writeConfig } = await startHeld();
  const codes = async () => {
    const { conditions } = JSON.parse((await command("status", "--json")).out) as {
      conditions: { code: string; subject: string }[];
    };
    return conditions.flatMap(({ code, subject }) => (subject === "daemon" ? [] : [`${subject} ${code}`])).sort();
  };
  const on = ["statuses hold_refused", "stocks former_rows", "stocks hold_guard", "stocks quarantined"];
  expect(await codes()).toEqual(on);
  writeConfig(OFF);
  await command("sync", "orders");
  expect(await codes()).toEqual([]);
  expect((await command("status")).out).toMatch(/^ {2}stocks +Switched off\.$/m);
  writeConfig();
  await command("sync", "orders");
  expect(await codes()).toEqual(on);
});

itSome(1)([
  [["approve", "stocks"], "stocks is switched off."],
  [["approve", "stocks", "--former", "gone"], "stocks is switched off."],
  [["resume", "stocks"], "stocks is switched off."],
  [["resume", "statuses"], "statuses is switched off."],
  [["sync", "stocks"], "stocks is switched off."],
])("%j of something switched off says so, changes nothing and ends with 64", async (words, said) => {
  const { command, writeConfig, standing, before } = await startHeld();
  writeConfig(OFF);
  const { code, err } = await command(...words);
  expect([code, err]).toEqual([64, expect.stringContaining(said)]);
  expect(standing()).toEqual(before);
});

itWhole("quarantine retry leaves its records as they are; what is on beside it is resumed", async () => {
  const { command, writeConfig, standing, before } = await startHeld();
  writeConfig(OFF);
  expect(await command("quarantine", "retry", "--all")).toMatchObject({
    code: 2,
    out: expect.stringContaining("stocks is switched off"),
  });
  expect(standing()).toEqual(before);
  expect((await command("resume", "imports")).code).toBe(0);
});

itWhole("approve mirror says that there is none where rows wait that a mirror has left", async () => {
  const { command, write, rows } = await startHeld();
  write("INSERT INTO mirror_state (key, value) VALUES ('kept', '{\"stock\":3}')");
  const { code, err } = await command("approve", "mirror", "--rows", "3");
  expect([code, err]).toEqual([64, expect.stringMatching(/mirror is switched off.*mirror\.url/s)]);
  expect(rows("SELECT 1 FROM mirror_state WHERE key = 'approved'")).toEqual([]);
});

itWhole("approve mirror covers as many rows as were shown", async () => {
  const { command, write, rows } = await startHeld();
  const approved = () => rows("SELECT value FROM mirror_state WHERE key = 'approved'");
  write("INSERT INTO mirror_state (key, value) VALUES ('kept', '{\"stock\":3,\"prices\":1}')");
  write("INSERT INTO meta (key, value) VALUES ('mirror_on', '1')");
  for (const shown of [[], ["--rows", "3"]]) {
    const { code, out } = await command("approve", "mirror", ...shown);
    expect([code, out]).toEqual([2, expect.stringContaining("approve mirror --rows 4")]);
    expect(approved()).toEqual([]);
  }
  expect((await command("approve", "mirror", "--rows", "4", "--json")).out).toContain('"rows":4');
  expect(approved()).toEqual([{ value: "4" }]);
});
