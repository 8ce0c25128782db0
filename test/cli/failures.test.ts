import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { expectConverged } from "../support/ledger.ts";
import { type CommandResult, type Shop, startShop } from "../support/shop.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

/** `sync` says it once, on one line of its own, with the command that comes next where there is one, and shows neither a stack nor a secret. */
function expectOneSentence(shop: Shop, { out, err }: CommandResult, words: RegExp, next?: string): void {
  const lines = `${out}\n${err}`.split("\n").filter((line) => words.test(line));
  expect(lines, `${out}\n--\n${err}`).toHaveLength(1);
  expect(err).toBe(next === undefined ? "" : `Next: ${next} --config ${shop.configFile}`);
  expect(out).not.toMatch(/^\s+at .*:\d+/m);
  expect(out).not.toContain(shop.sandbox.clientSecret);
}

async function shopWithOrders(): Promise<Shop> {
  const shop = await startShop();
  for (let count = 0; count < 5; count++) shop.sandbox.service.createOrder();
  return shop;
}

/** After the cause is gone nothing is missing. */
async function expectRecovery(shop: Shop): Promise<void> {
  const { code, out, err } = await shop.command("sync", "orders", "updates");
  expect(code, `${out}\n${err}`).toBe(0);
  expectConverged(shop);
}

describe("sync where the service does not let it work", () => {
  itWhole("names wrong credentials, ends with 77, holds only the orders, and goes on after resume", async () => {
    const shop = await shopWithOrders();
    shop.sandbox.service.setOptions({ refuse: ["1c"] });
    const result = await shop.command("sync");
    expect(result.code).toBe(77);
    expectOneSentence(
      shop,
      result,
      /^orders: failed: the service refuses the credentials \(GET \/api/,
      "erp-bridge resume orders",
    );
    expect(result.out).toMatch(/^updates: orders held since .* \(credentials\): .*: erp-bridge resume orders\.$/m);
    expect(result.out).toMatch(/^stocks: nothing to do$/m);

    const status = await shop.command("status");
    expect(status.code).toBe(77);
    expect(status.out).toContain("Orders held since");
    expect(status.out).toContain("the service refuses the credentials");
    const check = await shop.command("check", "--online");
    expect(check.code).toBe(77);
    expect(check.out).toMatch(/^FAIL orders: credentials: the service refuses the credentials/m);
    expect(check.out).toMatch(/^ok {3}imports: credentials and subscription/m);

    shop.sandbox.service.setOptions({ refuse: [] });
    expect((await shop.command("sync", "orders")).code).toBe(77);
    expect((await shop.command("resume", "orders")).out).toBe("orders: goes on (credentials).");
    await expectRecovery(shop);
  });

  itWhole(
    "names an unpaid subscription in sync, status and check, with 77, and pulls orders all the same",
    async () => {
      const shop = await shopWithOrders();
      await shop.command("sync", "stocks");
      shop.sandbox.service.setOptions({ paid: false });
      shop.write("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
      const result = await shop.command("sync");
      expect(result.code).toBe(77);
      expectOneSentence(
        shop,
        result,
        /^stocks: failed: the import subscription is not paid \(POST \/api/,
        "erp-bridge resume imports",
      );
      expect(await shop.command("status")).toMatchObject({
        code: 77,
        out: expect.stringMatching(/Imports held since .*subscription is not paid/),
      });
      expect(await shop.command("check", "--online")).toMatchObject({
        code: 77,
        out: expect.stringMatching(/FAIL imports: .*subscription is not paid/),
      });

      const reconcile = await shop.command("sync", "reconcile");
      expect(reconcile.code, "a hold of the imports stops no comparison of orders").toBe(0);
      expect(reconcile.err).not.toContain("imports");
      const next = `! Imports held since .* Next: erp-bridge resume imports --config ${shop.configFile}`;
      expect((await shop.command("status")).out).toMatch(new RegExp(`^${next}$`, "m"));

      shop.sandbox.service.setOptions({ paid: true });
      expect((await shop.command("resume", "imports")).code).toBe(0);
      await shop.command("sync", "stocks");
      expect(shop.sandbox.service.imported("stocks").size).toBe(1);
      await expectRecovery(shop);
    },
  );

  itSome(1)([
    ["a captive portal", { kind: "html" } as const, /is a web page instead of JSON/, undefined],
    [
      "a renamed key",
      { kind: "raw", contentType: "application/json", body: '{"batch_id":"b","items":[]}' } as const,
      /has no \$\.orders: .*batch_id, items/,
      "erp-bridge probe --write",
    ],
    [
      "an empty object",
      { kind: "raw", contentType: "application/json", body: "{}" } as const,
      /has no \$\.orders/,
      "erp-bridge probe --write",
    ],
    [
      "an answer that was cut",
      { kind: "cut", bytes: 200 } as const,
      /GET \/api\/v1\/1c\/orders was cut off/,
      undefined,
    ],
  ])("names %s, confirms nothing and recovers", async (_, action, words, next) => {
    const shop = await shopWithOrders();
    shop.sandbox.faults.add({ match: { path: "orders" }, do: action });
    const result = await shop.command("sync", "orders");
    expect(result.code).toBe(action.kind === "cut" ? 69 : 1);
    expectOneSentence(shop, result, words, next);
    expect(shop.sandbox.ledger.ofKind("confirm")).toEqual([]);
    const status = await shop.command("status");
    expect(status.code).not.toBe(0);
    expect(status.out).toMatch(words);
    await expectRecovery(shop);
  });

  itWhole("says that the service is down, with 69", async () => {
    const shop = await shopWithOrders();
    shop.writeConfig({ service: { base_url: "http://127.0.0.1:1" } });
    const result = await shop.command("sync", "orders");
    expect(result.code).toBe(69);
    expectOneSentence(
      shop,
      result,
      /^orders: failed: the service cannot be reached \(GET .* did not reach the service/,
    );
    expect((await shop.command("status")).code).toBe(69);
  });

  itWhole("ends with 2 where a record had to be put aside", async () => {
    const shop = await shopWithOrders();
    shop.sandbox.service.createOrder({ raw: '{"order_id":"no uuid","status":"new","items":[]}' });
    const result = await shop.command("sync", "orders");
    expect(result).toMatchObject({ code: 2, out: expect.stringContaining("1 quarantined") });
    expect((await shop.command("status")).code).toBe(2);
    expect((await shop.command("quarantine", "list")).code).toBe(2);
    expect(shop.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 5 }]);
  });
});

const isRoot = process.geteuid?.() === 0;

(isRoot ? inWhole("daemon/run-job", "orders/pull-disk").describe : describe.skip)("a full disk", () => {
  it("is named in one sentence, confirms nothing, and is over when there is space", async () => {
    const shop = await startShop({ settings: { database: { path: "disk/bridge.db" } } });
    const disk = path.join(shop.folder, "disk");
    execFileSync("mkdir", [disk]);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=3m", "tmpfs", disk]);
    onTestFinished(() => void execFileSync("umount", ["-l", disk]));
    await shop.start("sync", "updates").exited;
    for (let count = 0; count < 100; count++) shop.sandbox.service.createOrder();
    try {
      writeFileSync(path.join(disk, "filler"), Buffer.alloc(4 * 1024 * 1024));
    } catch {
      // That is what it is for: nothing is left.
    }
    const program = shop.start("sync", "orders");
    expect((await program.exited).code, program.stdout() + program.stderr()).toBe(1);
    const lines = `${program.stdout()}\n${program.stderr()}`
      .split("\n")
      .filter((line) => /the disk of .* is full/.test(line));
    expect(lines, program.stdout() + program.stderr()).toHaveLength(1);
    expect(program.stderr()).not.toMatch(/^\s+at /m);
    expect(shop.sandbox.ledger.ofKind("confirm")).toEqual([]);

    execFileSync("rm", [path.join(disk, "filler")]);
    expect((await shop.start("sync", "orders").exited).code).toBe(0);
    expect(shop.sandbox.service.orders().every(({ confirmed }) => confirmed)).toBe(true);
  });
});
