import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { runCommand, startShop } from "../support/shop.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const RUSSIAN = { LANG: "ru_RU.UTF-8" };

function writeConfig(text: string): string {
  const file = path.join(tempFolder("language"), "config.yaml");
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

const MINIMAL = `service:
  base_url: https://api.example.com
  client_id: shop-1
  client_secret: a-secret-of-some-length
database: { path: bridge.db }
`;

describe("the language of a command", () => {
  it("is that of the locale, also for a configuration that is wrong", async () => {
    const file = writeConfig(MINIMAL.replace("https", "http").replace("client_id", "cleint_id"));
    const { code, err } = await runCommand(["check", "--config", file], RUSSIAN);
    expect(code).toBe(78);
    expect(err).toContain(`${file}:2:13 service.base_url: должно начинаться с https://`);
    expect(err).toContain("cleint_id: неизвестный ключ; возможно, имелось в виду «client_id»?");
    expect(err).toContain("    base_url: http://api.example.com");
    expect(err).toContain("Исправьте файл и проверьте его: erp-bridge check");
    expect(err).not.toMatch(/\b(must|known|meaning|Correct)\b/);
  });

  it("names what is wrong with the file as a whole", async () => {
    const { err } = await runCommand(["check", "--config", writeConfig(`${MINIMAL}http:\n\tlisten: off\n`)], RUSSIAN);
    expect(err).toMatch(/:\d+:1: файл: отступ сделан табуляцией/);
  });

  it("is that of the configuration where one is written there", async () => {
    const inEnglish = writeConfig(`${MINIMAL}language: en\n`);
    expect((await runCommand(["status", "--config", inEnglish], RUSSIAN)).err).toContain("There is no database at");
    const inRussian = writeConfig(`${MINIMAL}language: ru\n`);
    expect((await runCommand(["status", "--config", inRussian])).err).toContain("ещё нет.\n  Она появится при первом");
  });

  it("is English without either", async () => {
    const { err } = await runCommand(["status", "--config", writeConfig(MINIMAL)]);
    expect(err).toContain("There is no database at");
  });

  it("tells of a command that does not exist, and of what was probably meant", async () => {
    const { code, err } = await runCommand(["stauts"], RUSSIAN);
    expect(code).toBe(64);
    expect(err).toBe("ошибка: неизвестная команда «stauts»\n(Возможно, имелось в виду status?)");
    const job = await runCommand(["sync", "ordrs", "--config", writeConfig(MINIMAL)], RUSSIAN);
    expect(job.err).toBe("erp-bridge: Нет задания ordrs.\n  Возможно, имелось в виду orders?");
  });

  itWhole("says how all is, and what a pass did", async () => {
    const shop = await startShop({ settings: { language: "ru" } });
    shop.sandbox.service.createOrder();
    const sync = await shop.command("sync", "orders");
    expect(sync.out).toBe("orders: новых: 1, пачек: 1, подтверждено: 1");
    const { out } = await shop.command("status");
    expect(out).toMatch(/^Служба не запущена\. Опрос \d+ с назад; последний заказ/);
    expect(out).toMatch(/\n {2}orders {5}Удачный обмен \d+ с назад\./);
    expect(out).toContain("\n  erp        В ERP ещё не забрано заказов: 1, самый старый ждёт 0 мин.");
    const [order] = shop.rows<{ number: string }>("SELECT number FROM orders");
    const story = await shop.command("order", order?.number ?? "");
    expect(story.out).toContain("пачка подтверждена");
    expect(story.out).toContain("в ERP ещё не забран; ревизия 1 ждёт с");
  });

  itWhole("says why a row would be sent, and shows the row as it is", async () => {
    const shop = await startShop({ settings: { language: "ru" } });
    await shop.command("sync", "orders");
    shop.write("INSERT INTO stock (sku, quantity) VALUES ('nothing to do', 5), ('B-2', 'many')");
    const { out } = await shop.command("sync", "stocks", "--dry-run");
    expect(out).toContain('stocks  nothing to do  → {"sku":"nothing to do","warehouse":"","quantity":5}  новое');
    expect(out).toContain("stocks  B-2  –  отправить нельзя: в столбце «quantity» не число");
  });

  itWhole("tells of a service that is down, and stores it in English", async () => {
    const shop = await startShop({ settings: { language: "ru" } });
    await shop.sandbox.close();
    const { code, out } = await shop.command("sync", "orders");
    expect(code).toBe(69);
    expect(out).toMatch(/^orders: сбой: нет связи с сервисом \(GET \/api\/v1\/1c\/orders: .*\)\.$/);
    expect(shop.rows<{ error: string }>("SELECT error FROM runs WHERE job = 'orders'")[0]?.error).toMatch(
      /^the service cannot be reached/,
    );
    const status = await shop.command("status");
    expect(status.out).toMatch(/Заказы: ошибки с [^:]+:\d\d — нет связи с сервисом/);
  });

  itWhole("never changes what programs read", async () => {
    const shop = await startShop();
    shop.sandbox.service.createOrder();
    await shop.command("sync");
    for (const args of [["check"], ["config", "show"], ["config", "schema"], ["quarantine", "list"], ["stauts"]]) {
      const call = [...args, "--json", ...(args[0] === "stauts" ? [] : ["--config", shop.configFile])];
      const results = [await runCommand(call, {}), await runCommand(call, RUSSIAN)].map(({ code, out }) => ({
        code,
        out,
      }));
      const [english, russian] = results.map(({ code, out }) => ({
        code,
        // The space on the disk is another one at each look.
        out: out.replace("language: ru", "language: en").replace(/\d+ MB free/, "some MB free"),
      }));
      expect(russian).toEqual(english);
    }
    const schema = ["config", "schema", "--config", shop.configFile];
    expect((await runCommand(schema, RUSSIAN)).out).toBe((await runCommand(schema)).out);
    shop.writeConfig({ language: "en" });
    const english = await shop.command("config", "show");
    shop.writeConfig({ language: "ru" });
    const russian = await shop.command("config", "show");
    expect(russian.out.replace("language: ru", "language: en")).toBe(english.out);
  });
});

describe("--help", () => {
  const groups = [[], ["config"], ["quarantine"]];

  async function commandsOf(group: string[]): Promise<string[]> {
    const { out } = await runCommand([...group, "--help"]);
    const list = out.slice(out.indexOf("Commands:"));
    return [...list.matchAll(/^ {2}([a-z]+)/gm)].map((match) => match[1] ?? "").filter((name) => name !== "help");
  }

  itWhole("shows an example of every command, in both languages", async () => {
    for (const group of groups) {
      const commands = await commandsOf(group);
      expect(commands.length).toBeGreaterThan(1);
      for (const call of [group, ...commands.map((name) => [...group, name])]) {
        const [english, russian] = [
          await runCommand([...call, "--help"]),
          await runCommand([...call, "--help"], RUSSIAN),
        ];
        expect(english.out).toContain("\nExample:\n  erp-bridge ");
        expect(russian.out).toContain("\nПример:\n  erp-bridge ");
        expect(russian.out).toContain("Использование: erp-bridge");
        expect(russian.code).toBe(0);
      }
    }
  });

  it("leaves no description in English", async () => {
    for (const group of groups) {
      for (const name of await commandsOf(group)) {
        const { out } = await runCommand([...group, name, "--help"], RUSSIAN);
        const described = out.replace(/^Использование:.*$|--[a-z-]+|<[a-z]+>/gm, "").replace(/Пример:[\s\S]*/, "");
        expect(described).not.toMatch(/\b(the|of|what|and|its|from|without|only|do not)\b/);
      }
    }
  });
});
