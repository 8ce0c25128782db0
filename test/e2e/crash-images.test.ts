import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { crashOnce } from "../support/crash.ts";
import { BASE64, FORM, jpeg, shaOf } from "../support/images.ts";
import { PATIENT } from "../support/program.ts";
import { startShop } from "../support/shop.ts";
import { inWhole } from "../support/whole.ts";

inWhole("feeds/images/push-images-model").describe("a kill during a push of images", PATIENT, () => {
  it.each([
    { at: "request", settings: BASE64, name: "before the service has acted, in records" },
    { at: "answer", settings: FORM, name: "after the service has acted, as forms" },
  ] as const)("sends the newest content $name", async ({ at, settings }) => {
    const images = { path: "/api/v1/import/images", folder: "photos", ...settings };
    const shop = await startShop({ settings: { imports: { images } } });
    mkdirSync(path.join(shop.folder, "photos"));
    // Of yesterday: what was written a moment ago would be waited for.
    const put = (words: string, seconds: number) => {
      const file = path.join(shop.folder, "photos", "a.jpg");
      writeFileSync(file, jpeg(words));
      utimesSync(file, seconds, seconds);
      return shaOf(jpeg(words));
    };
    await shop.start("sync", "images").exited;
    const first = put("first", 1_700_000_000);
    shop.write("INSERT INTO images (sku, position, source) VALUES ('A', 1, 'a.jpg')");
    await crashOnce(shop, { kind: "import", at }, ["sync", "images"], () => {});
    const [doubt] = shop.rows<{ record: string }>("SELECT doubt_record AS record FROM feed_outbox");
    expect(doubt?.record).toContain(first);
    // Nobody writes the row: the content alone has changed, and the doubt is reason enough to look.
    const newest = put("newest", 1_700_000_001);
    expect((await shop.start("sync", "images").exited).code).toBe(0);
    shop.write("UPDATE feed_outbox SET doubt_until_ms = 0 WHERE doubt_record IS NOT NULL");
    expect((await shop.start("sync", "images").exited).code).toBe(0);
    const [shown] = shop.sandbox.service.imported("images").values();
    expect(shown).toContain(newest);
    expect(shop.rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
    const [sent] = shop.rows<{ sent: string }>("SELECT sent FROM images_sent");
    expect(sent?.sent).toContain(newest);
  });
});
