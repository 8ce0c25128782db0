import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import path from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished } from "vitest";
import type { Settings } from "./bridge.ts";
import type { Program } from "./program.ts";
import { type Shop, startShop } from "./shop.ts";

/** The daemon in these tests polls every second. */
const SETTINGS = { orders: { schedule: "* * * * * *" } };
const LOOK_MS = 20;

/** A daemon in its own process that has stored and confirmed ten orders. */
export async function startDaemon(settings: Settings = {}): Promise<{ shop: Shop; program: Program }> {
  const shop = await startShop({ settings: { ...SETTINGS, ...settings } });
  addOrders(shop, 10);
  const program = shop.start("run");
  await program.says("erp-bridge is running");
  await confirmed(shop, 10);
  return { shop, program };
}

export function addOrders(shop: Shop, count: number): void {
  for (let made = 0; made < count; made++) shop.sandbox.service.createOrder();
}

export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}

/** Resolves when so many orders are confirmed. */
export function confirmed(shop: Shop, count: number): Promise<void> {
  return until(() => shop.sandbox.ledger.confirmedOrderIds().size >= count);
}

export function stored(shop: Shop): Set<string> {
  return new Set(shop.rows<{ id: string }>("SELECT order_id AS id FROM orders").map(({ id }) => id));
}

/** Confirmed orders that are not in the database. */
export function lost(shop: Shop): string[] {
  const kept = stored(shop);
  return [...shop.sandbox.ledger.confirmedOrderIds()].filter((id) => !kept.has(id));
}

export async function backUpTo(shop: Shop, file: string): Promise<void> {
  const { code, err } = await shop.command("backup", file);
  expect(code, err).toBe(0);
}

/**
 * Copies into the open database with SQLite's backup function. better-sqlite3 does not wait for locks of the target:
 * where another connection writes at its first step, it copies nothing and still resolves.
 */
export async function bringIn(copy: string, database: string): Promise<void> {
  const from = new Database(copy, { readonly: true });
  try {
    await until(async () => (await from.backup(database)).totalPages > 0);
  } finally {
    from.close();
  }
}

/** Opens a read transaction, so that later changes are in the WAL only. */
export function startReading(shop: Shop): Database.Database {
  const erp = new Database(shop.database);
  onTestFinished(() => void erp.close());
  erp.exec("BEGIN");
  erp.prepare("SELECT count(*) FROM orders").get();
  return erp;
}

/**
 * A port of 127.0.0.1 that is currently free. It lies below the range from which the system itself assigns ports, so that
 * no server of another test takes it before the program does.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_768);
    const server = createServer();
    try {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    } catch {
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}

export async function stop(program: Program): Promise<void> {
  program.child.kill("SIGTERM");
  expect((await program.exited).code, program.stderr()).toBe(0);
}

/** Starts the program. `code`: undefined where it runs, else its exit code; null after a signal. */
export async function startAgain(shop: Shop): Promise<{ program: Program; code: number | null | undefined }> {
  const program = shop.start("run");
  const ended = await Promise.race([program.exited, program.says("erp-bridge is running")]);
  return { program, code: ended?.code };
}

/**
 * Call after files were damaged: a start either continues and prints these words, or refuses the damaged database, and
 * then the copy named in the refusal is restored. In both cases the next start holds orders with the reason `restored`,
 * because some may be missing, and confirms again.
 */
export async function startOrRestore(shop: Shop, { copy, words }: { copy: string; words: string }): Promise<Program> {
  const { program, code } = await startAgain(shop);
  if (code === undefined) {
    expect(program.stderr()).toContain(words);
  } else {
    expect(code).toBe(78);
    expect(program.stderr()).toContain(`erp-bridge restore ${path.dirname(copy)}`);
    const restored = await shop.command("restore", copy, "--yes");
    expect(restored.code, restored.err).toBe(2);
  }
  await program.kill();
  const last = shop.start("run");
  await last.says("erp-bridge is running");
  const told = await shop.command("status", "--json");
  expect(told.code).toBe(2);
  const isHeld = expect.arrayContaining([expect.objectContaining({ area: "orders", reason: "restored" })]);
  expect(JSON.parse(told.out)).toMatchObject({ holds: isHeld });
  return last;
}
