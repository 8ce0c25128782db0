import { describe, expect, it } from "vitest";
import { PATIENT, type Program } from "../support/program.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { inWhole, itWhole } from "../support/whole.ts";

const whole = inWhole("daemon/job-runner", "faults/lost-hand-out", "cli/approve", "cli/resume");
/** Once a year: after its first passes the daemon does only what it is asked to. */
const YEARLY = "0 0 1 1 *";
const IDLE = {
  orders: { schedule: YEARLY },
  updates: { schedule: YEARLY },
  imports: { stocks: { schedule: YEARLY } },
};

/** Resolves with the next request of a kind that the service has answered. */
function nextRequest(shop: Shop, part: string): Promise<void> {
  return new Promise((resolve) => {
    shop.hooks.onAnswer = ({ path }) => {
      if (path.includes(part)) resolve();
    };
  });
}

async function startDaemon(shop: Shop): Promise<Program> {
  const program = shop.start("run");
  await program.says("erp-bridge is running");
  // The passes of the start are over when `sync` has been answered.
  await shop.command("sync");
  return program;
}

async function stop(program: Program): Promise<void> {
  program.child.kill("SIGTERM");
  expect(await program.exited, program.stderr()).toEqual({ code: 0, signal: null });
}

describe("beside a running daemon", PATIENT, () => {
  itWhole("sync asks the daemon, follows it and reports what it did, for people and for programs", async () => {
    const shop = await startShop({ settings: IDLE });
    const daemon = await startDaemon(shop);
    for (let count = 0; count < 3; count++) shop.sandbox.service.createOrder();
    const first = await shop.command("sync", "orders", "stocks");
    expect(first).toEqual({
      code: 0,
      out: "orders: 3 created, 1 batch, 1 confirmed\nstocks: nothing to do",
      err: "A daemon is running; asking it.",
    });
    shop.sandbox.service.createOrder();
    const second = await shop.command("sync", "orders", "--json");
    expect(second.out.startsWith('{"version":1,')).toBe(true);
    expect(JSON.parse(second.out)).toMatchObject({
      jobs: [{ job: "orders", outcome: "done", counts: { created: 1 } }],
      holds: [],
    });
    expect(await shop.command("status")).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^Up to date\. Asked \d+ s ago; last order \d\d:\d\d; 4 orders not yet taken by the ERP, oldest \d+ s; no stock sent yet\.\n/,
      ),
    });
    await stop(daemon);
    expect((await shop.command("status")).out).toMatch(/^The daemon is not running\. Asked/);
  });

  whole.it("sync is answered at once where the daemon backs off, and says what it met", async () => {
    const shop = await startShop({ settings: IDLE });
    const daemon = await startDaemon(shop);
    shop.sandbox.faults.add({ match: { path: "orders" }, times: 2, do: { kind: "status", status: 500 } });
    for (let round = 0; round < 2; round++) {
      const failed = await shop.command("sync", "orders");
      expect(failed.code).toBe(69);
      expect(failed.out).toMatch(/^orders: failed: the service is out of order \(GET .* was answered with 500/);
    }
    shop.sandbox.service.createOrder();
    expect(await shop.command("sync", "orders")).toMatchObject({ code: 0, out: expect.stringContaining("1 created") });
    // One line when it began to fail, one when it worked again.
    await stop(daemon);
    expect(daemon.stderr().match(/"level":50.*"job":"orders"/g)).toHaveLength(1);
    expect(daemon.stderr().match(/orders: works again/g)).toHaveLength(1);
  });

  itWhole("sync tells when the daemon is killed while it is asked", async () => {
    const shop = await startShop({ settings: IDLE });
    const daemon = await startDaemon(shop);
    shop.hooks.onRequest = async () => {
      await daemon.kill();
      throw new Error("the daemon is dead");
    };
    const { code, err } = await shop.command("sync", "orders");
    expect(code).toBe(1);
    expect(err).toContain("The daemon ended before it had done everything that was asked.");
  });

  itWhole("resume lifts a hold, and the daemon tries at once", async () => {
    const shop = await startShop({ settings: IDLE });
    const daemon = await startDaemon(shop);
    shop.sandbox.service.setOptions({ refuse: ["1c"] });
    expect((await shop.command("sync", "orders")).code).toBe(77);
    shop.sandbox.service.setOptions({ refuse: [] });
    shop.sandbox.service.createOrder();
    const confirmed = nextRequest(shop, "confirm");
    expect((await shop.command("resume", "orders")).out).toBe("orders: goes on (credentials); the daemon tries now.");
    await confirmed;
    expect((await shop.command("resume", "orders")).out).toBe("orders: nothing was held.");
    await stop(daemon);
    expect(shop.rows("SELECT * FROM holds")).toEqual([]);
  });

  whole.it("resume gives up a hand-out that was lost, and the confirms go on", async () => {
    const shop = await startShop({
      settings: { ...IDLE, orders: { ...IDLE.orders, confirm: { body: {}, wait: "1s" } } },
      sandbox: {
        options: { handOut: "next", redeliverAfterMs: null, batchIdKind: "none", confirmForm: "all", batchSize: 2 },
      },
    });
    const daemon = await startDaemon(shop);
    for (let count = 0; count < 4; count++) shop.sandbox.service.createOrder();
    shop.sandbox.faults.add({ match: { path: "orders" }, when: "after", do: { kind: "reset" } });
    expect((await shop.command("sync", "orders")).code).toBe(69);
    // The time to wait is over.
    shop.write("UPDATE pull_mark SET opened_at = '2026-01-01T00:00:00.000Z'");
    const held = await shop.command("sync", "orders");
    expect(held.code).toBe(2);
    expect(held.err).toMatch(/^orders: held \(hand-out lost\): Answers of GET \/orders were lost from 2026-01-01/m);
    expect(shop.sandbox.ledger.ofKind("confirm")).toEqual([]);
    expect((await shop.command("status")).out).toContain("an answer with orders was lost, and confirms wait");
    // Another trouble beside it: to answer that one says nothing of the orders that were lost.
    shop.write(
      `INSERT INTO holds (area, reason, since, next_probe_at, scope)
       VALUES ('orders', 'credentials', '2026-01-01T00:00:00.000Z', '2126-01-01T00:00:00.000Z', 'area')`,
    );
    expect((await shop.command("status")).out).toContain('erp-bridge resume orders --hold "hand-out lost"');
    expect(await shop.command("resume", "orders")).toMatchObject({
      code: 2,
      out: [
        "orders: goes on (credentials); the daemon tries now.",
        'orders: "hand-out lost" stays. To lift it states that the orders on the site were compared with the database; then: ' +
          `erp-bridge resume orders --hold "hand-out lost" --config ${shop.configFile}`,
      ].join("\n"),
    });
    await shop.command("sync", "orders");
    expect(shop.sandbox.ledger.ofKind("confirm")).toEqual([]);
    expect(shop.rows("SELECT reason FROM holds")).toEqual([{ reason: "hand-out lost" }]);
    const confirmed = nextRequest(shop, "confirm");
    expect((await shop.command("resume", "orders")).out).toContain("goes on (hand-out lost)");
    await confirmed;
    await stop(daemon);
    expect(shop.rows("SELECT DISTINCT state FROM batches")).toEqual([{ state: "confirmed" }]);
  });

  whole.it("resume lets a feed try again whose template was refused, and approve lets guarded rows go", async () => {
    const shop = await startShop({ settings: IDLE });
    const daemon = await startDaemon(shop);
    const values = Array.from({ length: 30 }, (_, index) => `('S${index}', 5)`).join();
    shop.sandbox.service.setOptions({ reject: { skus: "all", how: "422" } });
    shop.write(`INSERT INTO stock (sku, quantity) VALUES ${values}`);
    const refused = await shop.command("sync", "stocks");
    expect(refused).toMatchObject({
      code: 1,
      out: expect.stringContaining("every record that is tried is refused (422"),
    });
    shop.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    const sent = nextRequest(shop, "stocks");
    expect((await shop.command("resume", "stocks")).out).toBe("stocks: goes on (refused); the daemon tries now.");
    await sent;
    await shop.command("sync", "stocks");
    expect(shop.sandbox.service.imported("stocks").size).toBe(30);

    shop.write("UPDATE stock SET quantity = 0");
    const guarded = await shop.command("sync", "stocks");
    expect(guarded).toMatchObject({ code: 2, err: expect.stringContaining("erp-bridge approve stocks --rows 30") });
    expect(await shop.command("approve", "stocks")).toMatchObject({
      code: 2,
      out: expect.stringContaining("none was let through. If that is right: erp-bridge approve stocks --rows 30"),
    });
    expect((await shop.command("approve", "stocks", "--rows", "29", "--json")).out).toBe(
      '{"version":1,"feed":"stocks","rows":0,"asked":false,"waiting":30}',
    );
    const approved = nextRequest(shop, "stocks");
    expect((await shop.command("approve", "stocks", "--rows", "30")).out).toBe(
      "stocks: 30 rows may go; the daemon sends them now.",
    );
    await approved;
    await shop.command("sync", "stocks");
    expect(
      new Set([...shop.sandbox.service.imported("stocks").values()].map((text) => JSON.parse(text).quantity)),
    ).toEqual(new Set([0]));
    expect((await shop.command("approve", "stocks", "--json")).out).toBe(
      '{"version":1,"feed":"stocks","rows":0,"asked":false}',
    );
    await stop(daemon);
  });
});

whole.describe("with no daemon", () => {
  it("sync leaves the lock free, also when it is interrupted in the middle", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    shop.sandbox.faults.add({ match: { path: "orders" }, do: { kind: "hang" } });
    const arrived = new Promise<void>((resolve) => {
      shop.hooks.onRequest = () => resolve();
    });
    const program = shop.start("sync", "orders");
    await arrived;
    program.child.kill("SIGINT");
    await program.says("once more to leave at once");
    program.child.kill("SIGINT");
    expect(await program.exited).toEqual({ code: null, signal: "SIGINT" });
    expect(await shop.command("sync", "orders")).toMatchObject({ code: 0, err: "" });
  });
});
