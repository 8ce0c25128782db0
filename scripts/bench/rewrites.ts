/* What an ERP's rewrite of its whole table costs with the triggers on it, against without them. */
import Database from "better-sqlite3";
import { atMost, median, print } from "./print.ts";

/** Row by row, as an ERP's driver binds them, and in single statements, which are the least that a rewrite can cost. */
export function benchRewrites(file: string, rows: number): void {
  const db = new Database(file);
  db.pragma("wal_autocheckpoint = 0");
  db.exec("CREATE TABLE IF NOT EXISTS copy AS SELECT * FROM stock");
  const source = db.prepare("SELECT sku, warehouse, quantity, reserved FROM copy").raw(true).all() as unknown[][];
  const each =
    (sql: string, change = 0) =>
    () => {
      const statement = db.prepare(sql);
      for (const [sku, warehouse, quantity, reserved] of source)
        statement.run(sku, warehouse, Number(quantity) + change, reserved);
    };
  const insert = "INSERT INTO stock (sku, warehouse, quantity, reserved) VALUES (?, ?, ?, ?)";
  const upsert = `${insert} ON CONFLICT DO UPDATE SET quantity = excluded.quantity, reserved = excluded.reserved`;
  const ways: [string, () => void][] = [
    ["row by row, upsert, equal", each(upsert)],
    ["row by row, upsert, different", each(upsert, 1)],
    ["row by row, REPLACE", each(insert.replace("INSERT", "INSERT OR REPLACE"))],
    [
      "row by row, after DELETE",
      () => [() => db.exec("DELETE FROM stock"), each(insert)].forEach((step) => void step()),
    ],
    ["one statement, REPLACE", () => db.exec("INSERT OR REPLACE INTO stock SELECT * FROM copy")],
    ["one statement, UPDATE", () => db.exec("UPDATE stock SET quantity = quantity + 1")],
    ["one statement, after DELETE", () => db.exec("DELETE FROM stock; INSERT INTO stock SELECT * FROM copy")],
  ];
  const triggers = db
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'erp_bridge%'")
    .all() as { name: string; sql: string }[];
  /** CPU seconds: what the ERP's own statements cost, whatever the disk does. */
  const time = (rewrite: () => void): number => {
    db.exec("DELETE FROM feed_dirty; DELETE FROM stock; INSERT INTO stock SELECT * FROM copy; DELETE FROM feed_dirty");
    db.pragma("wal_checkpoint(TRUNCATE)");
    const from = process.cpuUsage();
    db.transaction(rewrite)();
    const { user, system } = process.cpuUsage(from);
    return (user + system) / 1e6;
  };
  for (const [name, rewrite] of ways) {
    const tracked = median([time(rewrite), time(rewrite), time(rewrite)]);
    const measure = () => median([time(rewrite), time(rewrite), time(rewrite)]);
    for (const trigger of triggers) db.exec(`DROP TRIGGER ${trigger.name}`);
    const plain = measure();
    // What SQLite asks for any trigger at all, of which no tracking can be rid.
    for (const { sql } of triggers) db.exec(sql.replace(/ BEGIN .*END$/, " BEGIN SELECT 1; END"));
    const bare = measure();
    for (const trigger of triggers) db.exec(`DROP TRIGGER ${trigger.name}`);
    for (const trigger of triggers) db.exec(trigger.sql);
    const ratio = tracked / plain;
    const perRow = ((tracked - plain) / rows) * 1e6;
    print(
      `rewrite of ${rows}: ${name}`,
      `CPU ${tracked.toFixed(2)} s with tracking, ${plain.toFixed(2)} s without: ${ratio.toFixed(2)} (${perRow.toFixed(1)} µs a row; triggers that do nothing: ${(bare / plain).toFixed(2)})`,
      atMost(ratio, 5),
    );
  }
  db.close();
}
