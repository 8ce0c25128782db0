import { describe, expect, it } from "vitest";
import { main } from "../../src/main.ts";
import { startShop } from "../support/shop.ts";
import { typingTerminal } from "../support/typing.ts";
import { itWhole } from "../support/whole.ts";

async function startFormer() {
  const shop = await startShop();
  await shop.command("sync");
  for (const sku of ["b", "c"])
    shop.write(
      `INSERT INTO feed_former (feed_id, former, key, record, sent_at, live, since, state) VALUES
         (1, '{"keys":["sku"],"record":{}}', '["${sku}"]', '{"sku":"${sku}","quantity":5}', '', 1, '2026-01-01T00:00:00.000Z', 'waiting')`,
    );
  const states = () => shop.rows<{ state: string }>("SELECT state FROM feed_former").map(({ state }) => state);
  return { ...shop, states };
}

describe("approve --former", () => {
  itWhole("lists each row with what was sent, and a command for each way", async () => {
    const { command } = await startFormer();
    const { code, out } = await command("approve", "stocks", "--former", "list");
    expect(code).toBe(2);
    expect(out).toContain('{"sku":"c"}  waits for a person  {"sku":"c","quantity":5}');
    expect(out).toMatch(/approve stocks --former gone.*approve stocks --former keep/);
    expect(JSON.parse((await command("approve", "stocks", "--former", "list", "--json")).out)).toMatchObject({
      former: [{ name: '{"sku":"b"}', state: "waiting" }, { name: '{"sku":"c"}' }],
    });
    expect((await command("status")).out).toContain("Stocks: 2 rows on the site cannot be named by the new key: b, c.");
  });

  itWhole.each([
    ["gone", "gone", "stocks: 2 rows may go at the next pass."],
    ["keep", "kept", "stocks: 2 rows of a former key stay on the site as they are."],
  ])("%s decides about all that wait, once", async (word, state, said) => {
    const { command, states } = await startFormer();
    expect(await command("approve", "stocks", "--former", word, "--rows", "1")).toMatchObject({
      code: 2,
      out: expect.stringContaining(`approve stocks --former ${word} --rows 2`),
    });
    expect(await command("approve", "stocks", "--former", word)).toMatchObject({ code: 0, out: said });
    expect(states()).toEqual([state, state]);
    expect((await command("approve", "stocks", "--former", word)).out).toBe("stocks: nothing waits for approval.");
    expect((await command("approve", "stocks", "--former", "list")).code).toBe(0);
  });

  it("decides about rows that began to wait after the others only where it is given again", async () => {
    const { command, states, write } = await startFormer();
    write("UPDATE feed_former SET since = '2026-01-02T00:00:00.000Z' WHERE key = '[\"c\"]'");
    const gone = () => command("approve", "stocks", "--former", "gone", "--rows", "2");
    expect(await gone()).toMatchObject({ code: 2, out: expect.stringContaining("not all may have been shown") });
    write("UPDATE feed_former SET key = '[\"d\"]', since = '2026-01-03T00:00:00.000Z' WHERE key = '[\"b\"]'");
    const { code, out } = await command("approve", "stocks", "--former", "gone", "--rows", "2", "--json");
    expect([code, JSON.parse(out)]).toMatchObject([2, { rows: 0, waiting: 2, unseen: true }]);
    expect(states()).toEqual(["waiting", "waiting"]);
    expect((await gone()).code).toBe(0);
    expect(states()).toEqual(["gone", "gone"]);
  });

  itWhole("leaves them where only the guard is meant, and refuses another word", async () => {
    const { command, states } = await startFormer();
    await command("approve", "stocks");
    expect(states()).toEqual(["waiting", "waiting"]);
    expect((await command("approve", "stocks", "--former", "kep")).err).toContain("Did you mean keep?");
  });
});

describe("approve of what the guard holds", () => {
  async function startGuarded() {
    const shop = await startShop({ settings: { imports: { stocks: { guard: { from: 2 } } } } });
    await shop.command("sync");
    shop.write("INSERT INTO stock (sku, quantity) VALUES ('a', 1), ('b', 2), ('c', 3), ('d', 4)");
    await shop.command("sync", "stocks");
    shop.write("UPDATE stock SET quantity = 0 WHERE sku < 'c'");
    expect((await shop.command("sync", "stocks")).err).toContain("erp-bridge approve stocks --rows 2");
    const zeros = async () => {
      await shop.command("sync", "stocks");
      return [...shop.sandbox.service.imported("stocks").values()].filter((text) => text.includes('"quantity":0'))
        .length;
    };
    const typed = async (answer: string) => {
      const terminal = typingTerminal({ answers: [answer] });
      const code = await main(["approve", "stocks", "--config", shop.configFile], terminal);
      return { code, asked: terminal.asked, said: terminal.seen() };
    };
    return { ...shop, zeros, typed };
  }

  it("lets no row go where more wait than were shown", async () => {
    const { command, write, zeros } = await startGuarded();
    write("UPDATE stock SET quantity = 0 WHERE sku < 'd'");
    expect(await zeros()).toBe(0);
    const { code, out } = await command("approve", "stocks", "--rows", "2");
    expect([code, out]).toEqual([2, expect.stringContaining("2 rows were shown, 3 wait by now")]);
    expect(await zeros()).toBe(0);
    expect((await command("approve", "stocks", "--rows", "3")).code).toBe(0);
    expect(await zeros()).toBe(3);
  });

  itWhole("lets other rows of the same number go only where it is given again after it has told of them", async () => {
    const { command, write, zeros } = await startGuarded();
    const swap = async (zero: string) => {
      write(`UPDATE stock SET quantity = iif(sku IN (${zero}), 0, 5)`);
      expect(await zeros()).toBe(0);
    };
    await swap("'c', 'd'");
    const { code, out } = await command("approve", "stocks", "--rows", "2");
    expect([code, out]).toEqual([2, expect.stringContaining("began to wait after that number was shown")]);
    expect(out).toContain("erp-bridge sync stocks --dry-run");
    await swap("'a', 'b'");
    expect(JSON.parse((await command("approve", "stocks", "--rows", "2", "--json")).out)).toMatchObject({
      rows: 0,
      waiting: 2,
      unseen: true,
    });
    expect((await command("approve", "stocks", "--rows", "2")).code).toBe(0);
    expect(await zeros()).toBe(2);
  });

  itWhole("takes a number that is larger than any before as seen, and one that was named before as not", async () => {
    const { command, write, zeros } = await startGuarded();
    const empty = async (zero: string) => {
      write(`UPDATE stock SET quantity = iif(sku IN (${zero}), 0, 5)`);
      expect(await zeros()).toBe(0);
    };
    await empty("'a', 'b', 'c'");
    await empty("'b', 'c'");
    expect((await command("approve", "stocks", "--rows", "2")).out).toContain("began to wait after");
    await empty("'a', 'b', 'c', 'd'");
    expect((await command("approve", "stocks", "--rows", "4")).code).toBe(0);
    expect(await zeros()).toBe(4);
  });

  itWhole("asks about the number of the moment at a terminal", async () => {
    const { typed, zeros } = await startGuarded();
    expect(await typed("n")).toMatchObject({ code: 2, said: expect.stringContaining("none was let through") });
    expect(await zeros()).toBe(0);
    expect(await typed("y")).toMatchObject({ code: 0, asked: [expect.stringContaining("2 rows would go to zero")] });
    expect(await zeros()).toBe(2);
  });
});
