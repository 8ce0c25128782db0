import { existsSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { runCommand, type Shop, startShop } from "../support/shop.ts";
import { itWhole } from "../support/whole.ts";

/** Every command that uses the database. */
const COMMANDS = [
  "sync stocks",
  "sync stocks --again",
  "sync stocks --dry-run",
  "sync updates --since 2026-01-01",
  "check",
  "status",
  "status --json",
  "order 1001",
  "quarantine list",
  "quarantine show 1",
  "quarantine retry --all",
  "quarantine drop 1",
  "approve stocks",
  "approve stocks --rows 1",
  "resume orders",
  "resume observations",
  "backup copy.db",
  "remap",
  "remap --dry-run",
  "config check",
  "probe",
] as const;

async function shopWithoutDatabase(): Promise<Shop> {
  const shop = await startShop();
  await shop.command("sync", "stocks");
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${shop.database}${suffix}`, { force: true });
  return shop;
}

async function expectRefused(shop: Shop, words: string): Promise<void> {
  for (const command of COMMANDS) {
    const { code, out, err } = await shop.command(...command.split(" "));
    const said = `${out}\n${err}`;
    expect([command, code]).toEqual([command, 78]);
    expect(said, command).toContain(words);
    expect(said, command).toContain(
      "erp-bridge restore FILE brings back a copy, and erp-bridge init --force begins anew without its orders.",
    );
    expect(said, command).not.toMatch(/at the first|can be read/);
  }
}

describe("a database that is gone, where there was one before", () => {
  it("is named as such by every command, with its way out, and none makes another", async () => {
    const shop = await shopWithoutDatabase();
    await expectRefused(shop, "is gone, and there was one before");
    expect(existsSync(shop.database)).toBe(false);
    const reloaded = ["config", "check", "--config", shop.configFile];
    expect(await runCommand(reloaded, { MAINPID: "17" })).toMatchObject({
      code: 78,
      err: expect.stringContaining("is gone, and there was one before"),
    });
  });

  itWhole("is named as such where another program has made an empty file of that name", async () => {
    const shop = await shopWithoutDatabase();
    writeFileSync(shop.database, "");
    await expectRefused(shop, "another program has made this file");
  });

  itWhole("is begun anew by init only with --force", async () => {
    const shop = await shopWithoutDatabase();
    rmSync(shop.configFile);
    const given = ["--base-url", shop.sandbox.url, "--client-id", shop.sandbox.clientId];
    const secret = ["--client-secret-file", path.join(shop.folder, "client-secret")];
    const init = ["init", ...given, ...secret, "--database", shop.database, "--config", shop.configFile];
    expect(await runCommand(init)).toMatchObject({ code: 78, err: expect.stringContaining("init --force") });
    expect([existsSync(shop.database), existsSync(shop.configFile)]).toEqual([false, false]);
    expect(await runCommand([...init, "--force"])).toMatchObject({ code: 0 });
    // The former one may have known that an answer was lost.
    const [noted] = shop.rows<{ value: string }>("SELECT value FROM meta WHERE key = 'unanswered'");
    expect(JSON.parse(noted?.value ?? "null")).toMatchObject({ isLost: true });
  });
});
