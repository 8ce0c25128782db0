import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { Browser, findBrowser } from "../../scripts/page/browser.ts";
import { type Language, openShop, type ShopState } from "../../scripts/page/shops.ts";
import { tempFolder } from "../support/temp.ts";

const PROGRAM = findBrowser();

describe.skipIf(PROGRAM === undefined)(
  "the status page in a real browser (skipped where there is no /usr/bin/chromium)",
  () => {
    let browser: Browser;
    beforeAll(() => {
      browser = new Browser(PROGRAM ?? "");
    });
    afterAll(() => browser.close());

    it.each<[ShopState, Language, "light" | "dark", number, RegExp]>([
      ["healthy", "en", "light", 1200, /^All is well – /],
      ["ill", "ru", "dark", 320, /^Не всё в порядке – /],
    ])(
      "shows a shop that is %s in %s, %s, without a complaint, at %i px without scrolling sideways",
      async (...given) => {
        const [state, language, scheme, width, title] = given;
        const shop = await openShop(tempFolder("page"), state, language);
        onTestFinished(() => shop.close());
        const seen = await browser.look({ url: shop.url, width, height: 800, scheme, isPhone: width < 500 });
        expect(seen.complaints).toEqual([]);
        expect(seen.overflowPx).toBeLessThanOrEqual(0);
        expect(seen.contrast.ratio).toBeGreaterThanOrEqual(4.5);
        expect(seen.title).toMatch(title);
        expect(seen.language).toBe(language);
        expect(seen.png.length).toBeGreaterThan(10_000);
      },
    );
  },
);
