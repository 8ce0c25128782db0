import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect } from "vitest";
import { startShop } from "../support/shop.ts";
import { itSome, itWhole } from "../support/whole.ts";

const PATIENT = { timeout: 30_000 };

describe("check, of the folders of copies", PATIENT, () => {
  itSome(1)(["dir", "journal"])("names what can be no folder in the place of backup.%s", async (key) => {
    const shop = await startShop({ settings: { backup: { [key]: "copies" } } });
    const folder = path.join(shop.folder, "copies");
    await shop.command("sync", "orders");
    const lines = async () => {
      const { code, out } = await shop.command("check");
      return { code, found: out.split("\n").filter((line) => line.includes("no copy can be kept there")) };
    };
    // One that is not there yet is made.
    expect(await lines()).toEqual({ code: 0, found: [] });
    writeFileSync(folder, "");
    expect(await lines()).toMatchObject({ code: 2, found: [expect.stringContaining(`${folder} is not a folder`)] });
  });

  itWhole("accepts a folder that is there", async () => {
    const shop = await startShop({ settings: { backup: { dir: "copies" } } });
    mkdirSync(path.join(shop.folder, "copies"));
    await shop.command("sync", "orders");
    const { out } = await shop.command("check");
    expect(out).not.toContain("no copy can be kept there");
  });
});
