import { expect, it } from "vitest";
import { LOSS_MS } from "../../src/confirm/plan-loss.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import type { Settings } from "../support/bridge.ts";
import { crashOnce, type Moment } from "../support/crash.ts";
import { expectConverged, expectDurable, expectNothingLost } from "../support/ledger.ts";
import { PATIENT } from "../support/program.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { inWhole } from "../support/whole.ts";

const STYLES: [name: string, options: SandboxOptionsPatch, settings: Settings][] = [
  ["the same batch until it is confirmed, by its id", { handOut: "repeat" }, {}],
  [
    "the following batch each time, by a confirm that names nothing",
    { handOut: "next", redeliverAfterMs: "cycle", batchIdKind: "none", confirmForm: "all" },
    { orders: { confirm: { body: {} } } },
  ],
];

/** One crash after the other on one database: each start is a recovery from the one before. */
const CRASHES: Moment[] = [
  { kind: "orders", at: "answer" }, // the batch is handed out, nothing is stored
  { kind: "orders", at: "request" }, // during the recovery from that
  { kind: "confirm", at: "request" }, // stored, not confirmed
  { kind: "orders", at: "answer" }, // during the recovery from that
  { kind: "confirm", at: "answer" }, // confirmed, not marked
];

const whole = inWhole("orders/pull-random", "updates/follow-properties");
/** After a lost answer, ten answers within an hour have confirms wait. */
const POLLS_MAX = 24;

/**
 * A drain ends at the first batch that it has seen before, so a lost one may take another poll or two. A batch whose confirm was accepted
 * before the program was killed is served no more: its confirm goes once the lost answers are an hour old.
 */
async function converge(shop: Shop): Promise<void> {
  const { service } = shop.sandbox;
  const isLeft = () =>
    service.orders().some(({ confirmed }) => !confirmed) ||
    shop.rows("SELECT 1 FROM batches WHERE state <> 'confirmed'").length > 0;
  for (let polls = 0; polls === 0 || (polls < POLLS_MAX && isLeft()); polls++) {
    if (polls > 0) makeLossOld(shop);
    const program = shop.start("sync", "orders", "updates");
    expect(await program.exited, program.stderr()).toEqual({ code: 0, signal: null });
  }
}

function makeLossOld(shop: Shop): void {
  const hourAgo = new Date(Date.now() - LOSS_MS).toISOString();
  shop.write(`UPDATE meta SET value = json_set(value, '$.loss.since', '${hourAgo}', '$.loss.at', '${hourAgo}')
    WHERE key = 'unanswered' AND json_extract(value, '$.loss') IS NOT NULL`);
}

/** A confirm that names nothing may be carried out until its time limit is over, and nothing is asked for: that time is let pass at once. */
function endOpenConfirm(shop: Shop): void {
  shop.write("DELETE FROM meta WHERE key = 'open_confirm'");
}

whole.describe.each(STYLES)("a service that hands out %s", PATIENT, (_, options, settings) => {
  it("loses and doubles no order when the program is killed at every step", async () => {
    const shop = await startShop({ settings, sandbox: { options: { batchSize: 10, ...options } } });
    for (let count = 0; count < 35; count++) shop.sandbox.service.createOrder();
    for (const moment of CRASHES) {
      await crashOnce(shop, moment, ["sync", "orders"], (request) => expectDurable(shop, request));
      expectNothingLost(shop);
      endOpenConfirm(shop);
    }
    await converge(shop);
    expectConverged(shop);
  });
});

whole.describe("following changes", PATIENT, () => {
  it("forgets no change when the program is killed between the changes, their orders and the watermark", async () => {
    let now = Date.now();
    const sandbox = { now: () => now++, options: { updates: { pageLimit: 20 } } };
    const shop = await startShop({ sandbox });
    const ids = Array.from({ length: 30 }, () => shop.sandbox.service.createOrder());
    await converge(shop);
    for (const id of ids) shop.sandbox.service.changeOrder(id, { status: "paid" });
    for (const moment of [
      { kind: "updates", at: "answer" },
      { kind: "updates", at: "answer", skip: 1 },
      { kind: "snapshot", at: "answer", skip: 12 },
      { kind: "updates", at: "request" },
    ] satisfies Moment[]) {
      await crashOnce(shop, moment, ["sync", "updates"], () => {});
      expectNothingLost(shop);
    }
    await converge(shop);
    expectConverged(shop);
    expect(shop.rows("SELECT DISTINCT revision FROM orders")).toEqual([{ revision: 2 }]);
  });
});
