import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, inject, it } from "vitest";
import { expectConverged } from "../support/ledger.ts";
import { PATIENT, startProgram } from "../support/program.ts";
import { startShop } from "../support/shop.ts";
import { inWhole, itWhole } from "../support/whole.ts";

describe("the program as it is installed", PATIENT, () => {
  itWhole("keeps a shop in step from its bundle, with its migrations beside it", async () => {
    const shop = await startShop();
    for (let count = 0; count < 5; count++) shop.sandbox.service.createOrder();
    const daemon = shop.start("run");
    await daemon.says("1 confirmed");
    shop.write("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    const sync = shop.start("sync");
    expect(await sync.exited, sync.stderr()).toEqual({ code: 0, signal: null });
    expect(sync.stdout()).toMatch(/^stocks: .*1 sent/m);
    const status = shop.start("status", "--json");
    await status.exited;
    expect(JSON.parse(status.stdout())).toMatchObject({ version: 1, running: true, sentence: expect.any(String) });
    daemon.child.kill("SIGTERM");
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
    expectConverged(shop);
  });

  inWhole("launch", "cli/failures").it("does the same from its sources", async () => {
    const shop = await startShop({ bin: path.resolve("bin/erp-bridge.mjs") });
    shop.sandbox.service.createOrder();
    const sync = shop.start("sync");
    expect(await sync.exited, sync.stderr()).toEqual({ code: 0, signal: null });
    expectConverged(shop);
  });

  inWhole("cli/language").it("reads Russian where the configuration or whoever calls it asks for it", async () => {
    const shop = await startShop({ settings: { language: "en" } });
    const daemon = shop.start("run");
    await daemon.says("erp-bridge is running.");
    shop.writeConfig({ language: "ru" });
    daemon.child.kill("SIGHUP");
    await daemon.says("daemon.reloaded");
    const status = shop.start("status");
    await status.exited;
    expect(status.stdout()).toMatch(/[А-Я][а-я]+ .*заказ/);
    const help = startProgram(["--help"], { env: { LANG: "ru_RU.UTF-8" } });
    await help.exited;
    expect(help.stdout()).toMatch(/Команды:/);
  });

  it("is read by Node as text of one byte a letter, which any letter beyond ASCII would double", () => {
    const files = globSync(path.join(path.dirname(inject("program")), "../dist/**/*.cjs"));
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter((file) => readFileSync(file).some((byte) => byte > 0x7f))).toEqual([]);
  });

  itWhole("ends quietly where its reader has seen enough", async () => {
    const program = startProgram(["config", "schema"]);
    program.child.stdout?.destroy();
    const { code } = await program.exited;
    expect({ code, err: program.stderr() }).toEqual({ code: 0, err: "" });
  });
});
