/*
 * Shows the status page as people see it: a real browser opens it in every state, light and dark, on a desk and on a
 * phone, in English and Russian; pictures go to a folder, and what the browser complains of is exit code 1.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Browser, findBrowser, type Seen, type Sight } from "./page/browser.ts";
import { type Language, openShop, SHOP_STATES, type ShopState } from "./page/shops.ts";

/** What the guidelines for accessible pages ask of ordinary text (WCAG 2.2, AA). */
const CONTRAST_MIN = 4.5;
const DESK = { width: 1200, height: 900 };
const PHONE = { width: 360, height: 740, isPhone: true };

const SIGHTS: { state: ShopState; language: Language; sight: Omit<Sight, "url">; name: string }[] = [
  ...SHOP_STATES.map((state) => picture(state, "en", "desk", "light")),
  picture("healthy", "en", "desk", "dark"),
  picture("ill", "en", "desk", "dark"),
  picture("healthy", "en", "phone", "light"),
  picture("ill", "en", "phone", "dark"),
  picture("healthy", "ru", "desk", "light"),
  picture("ill", "ru", "phone", "light"),
  picture("attention", "ru", "desk", "dark"),
  picture("empty", "ru", "phone", "dark"),
];

function picture(state: ShopState, language: Language, place: "desk" | "phone", scheme: "light" | "dark") {
  const sight = { ...(place === "desk" ? DESK : PHONE), scheme };
  return { state, language, sight, name: `${state}-${language}-${place}-${scheme}` };
}

function problemsOf({ complaints, overflowPx, contrast }: Seen): string[] {
  return [
    ...complaints,
    ...(overflowPx > 0 ? [`the page is ${overflowPx} px wider than the window`] : []),
    ...(contrast.ratio < CONTRAST_MIN ? [`contrast of ${contrast.ratio} at "${contrast.text}"`] : []),
  ];
}

async function main(): Promise<void> {
  const program = findBrowser();
  if (program === undefined) {
    console.error("There is no browser at /usr/bin/chromium (apt-get install chromium).");
    process.exitCode = 69;
    return;
  }
  const shots = path.resolve(process.argv[2] ?? path.join(os.tmpdir(), "erp-bridge-page"));
  mkdirSync(shots, { recursive: true });
  const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-shops-"));
  const browser = new Browser(program);
  try {
    for (const { state, language, sight, name } of SIGHTS) {
      const shop = await openShop(path.join(folder, name), state, language);
      const seen = await browser.look({ ...sight, url: shop.url });
      await shop.close();
      writeFileSync(path.join(shots, `${name}.png`), seen.png);
      const problems = problemsOf(seen);
      console.log(`${name.padEnd(26)} "${seen.heading}" (least contrast ${seen.contrast.ratio})`);
      for (const problem of problems) console.log(`  ! ${problem}`);
      if (problems.length > 0) process.exitCode = 1;
    }
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`Pictures: ${shots}`);
}

await main();
