import { mkdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { BASE64 } from "../support/images.ts";
import { startShop } from "../support/shop.ts";

describe("a folder of images that is missing", () => {
  it("is named by check and by sync, refuses no image, and is over once it is there", async () => {
    const images = { path: "/api/v1/import/images", folder: "photos", ...BASE64 };
    const shop = await startShop({ settings: { imports: { images } } });
    const folder = path.join(shop.folder, "photos");
    expect((await shop.command("sync", "images")).code).toBe(0);
    shop.write("INSERT INTO images (sku, position, source) VALUES ('A', 1, 'a.jpg')");
    expect(await shop.command("check")).toMatchObject({
      code: 2,
      out: expect.stringContaining(`FAIL images: ${folder} is not a folder; no image is sent`),
    });
    const sync = await shop.command("sync", "images");
    expect(sync.code).toBe(1);
    expect(sync.out).toContain(`images: failed: The folder of the images ${folder} is not there`);
    expect(shop.rows("SELECT count(*) AS n FROM quarantine")).toEqual([{ n: 0 }]);
    mkdirSync(folder);
    expect(await shop.command("check")).toMatchObject({
      code: 0,
      out: expect.stringContaining(`ok   images: ${folder}`),
    });
    expect((await shop.command("sync", "images")).code).toBe(2);
    expect(shop.rows("SELECT reason FROM quarantine")).toEqual([{ reason: "source: the file is not there" }]);
  });
});
