import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect } from "vitest";
import { main } from "../../src/main.ts";
import { addOrders } from "../support/running-shop.ts";
import { startShop } from "../support/shop.ts";
import { typingTerminal } from "../support/typing.ts";
import { itSome, itWhole } from "../support/whole.ts";

describe("sync updates of older orders", () => {
  itWhole(
    "reads changes from a time on, and single orders by ids and numbers, with what each command says",
    async () => {
      const shop = await startShop({ sandbox: { options: { updates: { scope: "all" } } } });
      const run = async (...args: string[]) => {
        const terminal = typingTerminal();
        const code = await main([...args, "--config", shop.configFile], terminal);
        return { code, said: terminal.seen() };
      };
      const early = await run("sync", "updates", "--since", "2026-01-01");
      expect(early).toMatchObject({ code: 78 });
      addOrders(shop, 1);
      expect((await run("sync", "orders")).code).toBe(0);
      const [known] = shop.rows<{ number: string }>("SELECT number FROM orders");
      // No batch has brought them.
      const [other] = [shop.sandbox.service.createOrder(), shop.sandbox.service.createOrder()];

      const file = path.join(shop.folder, "older.txt");
      writeFileSync(file, `\ufeff${other}\r\n\r\n${known!.number}\nNO-SUCH\n`);
      const listed = await run("sync", "updates", "--orders", file);
      expect(listed.said).toContain("1 number of no stored order (NO-SUCH)");
      expect(listed.code).toBe(2);
      expect(shop.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 2 }]);

      const since = await run("sync", "updates", "--since", "2026-01-01");
      expect([since.code, since.said]).toEqual([0, expect.stringContaining("updates:")]);
      expect(since.said).toContain("Changes since 2026-01-01 have been read");
      expect(shop.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 2 }]);
      expect((await run("status")).said).not.toMatch(/NO-SUCH|failing/);
    },
  );

  itSome(4)([
    [["sync", "--since", "2026-01-01"], "stand with updates alone"],
    [["sync", "orders", "updates", "--since", "2026-01-01"], "stand with updates alone"],
    [["sync", "updates", "--since", "yesterday"], "no time"],
    [["sync", "updates", "--since", "2999-01-01"], "still to come"],
    [["sync", "updates", "--orders", "/no/such/file"], "/no/such/file"],
  ])("is refused with what is wrong: %j", async (args, words) => {
    const shop = await startShop();
    const terminal = typingTerminal();
    expect(await main([...args, "--config", shop.configFile], terminal)).toBe(64);
    expect(terminal.seen()).toContain(words);
  });

  itWhole("reads nothing for an order that the service does not have, and says what waits", async () => {
    const shop = await startShop();
    const run = (...args: string[]) => main([...args, "--config", shop.configFile], typingTerminal());
    addOrders(shop, 1);
    expect(await run("sync", "orders")).toBe(0);
    const file = path.join(shop.folder, "older.txt");
    writeFileSync(file, randomUUID());
    await run("sync", "updates", "--orders", file);
    expect(shop.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 1 }]);
  });
});
