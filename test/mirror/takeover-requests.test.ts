import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { type FormerOrder, planFormer } from "../../src/mirror/up/former-orders.ts";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { mergeSettings, type Settings, startTestBridge, type TestBridge } from "../support/bridge.ts";
import { type MirroredShop, SHOP, startMirroredShop } from "../support/mirror.ts";
import { describeWithPostgres } from "../support/postgres.ts";
import { runCommand } from "../support/shop.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE = 60_000;
const SETTINGS: Settings = { statuses: { path: STATUS_PATH, body: { status: "{status}", comment: "{comment}" } } };
const LOST: FaultAction = { kind: "reset" };

interface Former {
  shop: MirroredShop;
  /** The order that is in PostgreSQL, with the status `new`. */
  id: string;
  ask(status?: string): Promise<void>;
  /** Sends the status, which is lost before the service acts, or with its answer. */
  lose(when?: "before" | "after"): Promise<void>;
  /** PostgreSQL's words for the requests. */
  states(): Promise<string[]>;
}

/** A server that works for the shop, with an order that both databases have. */
async function startFormer(): Promise<Former> {
  const shop = await startMirroredShop({ settings: SETTINGS });
  // Commands have the real time.
  shop.clock.jump(Date.now() - shop.clock.nowMs());
  const { service, faults } = shop.sandbox;
  const id = service.createOrder({ status: "new" });
  await shop.run("orders");
  await shop.mirror();
  const ask = async (status = "shipped") => {
    shop.clock.advance(MINUTE);
    await shop.run("updates");
    await shop.there(
      `INSERT INTO status_requests (id, shop, order_id, status, comment) VALUES (gen_random_uuid(), '${SHOP}', '${id}', '${status}', 'parcel 1')`,
    );
    await shop.mirror();
  };
  const lose = async (when: "before" | "after" = "after") => {
    faults.add({ match: { path: "status" }, when, do: LOST });
    faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 502 } });
    await shop.run("statuses");
    faults.clear();
  };
  return { shop, id, ask, lose, states: () => shop.there("SELECT state FROM status_requests ORDER BY seq") };
}

/** What another server takes the shop over with: nothing, a copy, or a database of its own from before. */
type Older = { how: "copy" | "here" | "restore"; file: string } | undefined;

/** Another server takes the shop over and works for some minutes. Returns what became of the requests. */
async function takeOver(
  { shop, states }: Former,
  minutes = 4,
  older: Older = undefined,
): Promise<{ states: string[]; next: TestBridge }> {
  await shop.bridge.stop();
  const folder = tempFolder("next");
  const { url, clientId, clientSecret } = shop.sandbox;
  const service = { base_url: url, client_id: clientId, client_secret: clientSecret, requests_per_second: 10_000 };
  const settings = mergeSettings({ service, mirror: { shop: SHOP, url: shop.database.url } }, SETTINGS);
  const config = path.join(folder, "config.yaml");
  mkdirSync(folder, { recursive: true });
  const files = { database: { path: "bridge.db" }, backup: { dir: "backups" }, http: { listen: "off" } };
  writeFileSync(config, stringify({ ...settings, ...files }), { mode: 0o600 });
  if (older?.how === "here") copyFileSync(older.file, path.join(folder, "bridge.db"));
  const commands = {
    here: ["takeover"],
    copy: ["takeover", "--from", older?.file ?? ""],
    restore: ["restore", older?.file ?? ""],
  };
  const taken = await runCommand([...commands[older?.how ?? "here"], "--yes", "--config", config]);
  expect(taken.code, taken.err).toBe(older?.how === "restore" ? 2 : 0);
  const next = await startTestBridge({ folder, settings });
  next.clock.jump(shop.clock.nowMs() - next.clock.nowMs());
  for (let passed = 0; passed < minutes; passed++) {
    for (const clock of [shop.clock, next.clock]) clock.advance(MINUTE);
    // The order is read before PostgreSQL is, and before its status is decided.
    for (const job of ["orders", "updates", "mirror", "statuses"] as const) await next.run(job);
  }
  await next.run("mirror");
  return { states: await states(), next };
}

/** A copy of the former server's database as it is now. */
function copyOf({ shop }: Former): string {
  const file = path.join(tempFolder("copy"), "copy.db");
  mkdirSync(path.dirname(file), { recursive: true });
  shop.bridge.store.db.prepare("VACUUM INTO ?").run(file);
  return file;
}

const OUTCOME = "SELECT state, attempts, http_status, answered_at, last_error FROM status_requests";
const postsOf = ({ shop }: Former) => shop.sandbox.ledger.ofKind("status").length;
const statusOf = ({ shop, id }: Former) => shop.sandbox.service.statusOf(id);

describeWithPostgres("a status that the former server may have sent", () => {
  itWhole("is not sent again by the server that takes the shop over, where the order has it", async () => {
    const former = await startFormer();
    await former.ask();
    await former.lose();
    expect(await former.states()).toEqual(["pending"]);
    expect((await takeOver(former)).states).toEqual(["sent"]);
    expect([postsOf(former), statusOf(former)]).toEqual([1, "shipped"]);
  });

  itWhole("was answered, which PostgreSQL does not have yet: it is not sent again", async () => {
    const former = await startFormer();
    await former.ask();
    await former.shop.run("statuses");
    expect(former.shop.rows("SELECT state FROM status_requests")).toEqual([{ state: "sent" }]);
    expect(await former.states()).toEqual(["pending"]);
    expect((await takeOver(former)).states).toEqual(["sent"]);
    expect([postsOf(former), statusOf(former)]).toEqual([1, "shipped"]);
  });

  itWhole(
    "is on its way in PostgreSQL too, whether or not the order was read with it: it is not sent again",
    async () => {
      for (const isSeen of [false, true]) {
        const former = await startFormer();
        await former.ask();
        await former.lose();
        former.shop.clock.advance(1_000);
        if (isSeen) await former.shop.run("updates");
        await former.shop.mirror();
        expect(await former.states()).toEqual(["sending"]);
        const status = isSeen ? "shipped" : "new";
        expect(await former.shop.there("SELECT status FROM orders")).toEqual([status]);
        expect((await takeOver(former)).states).toEqual(["sent"]);
        expect([postsOf(former), statusOf(former)]).toEqual([1, "shipped"]);
      }
    },
  );

  itWhole("does not take the order back where it was moved on, before or after the server was lost", async () => {
    for (const isSeen of [false, true]) {
      const former = await startFormer();
      await former.ask();
      await former.lose();
      const { shop, id } = former;
      shop.clock.advance(1_000);
      shop.sandbox.service.changeOrder(id, { status: "delivered" });
      shop.clock.advance(1_000);
      if (isSeen) await shop.run("updates");
      if (isSeen) await shop.mirror();
      expect(await former.states()).toEqual([isSeen ? "sending" : "pending"]);
      const { states, next } = await takeOver(former, 16);
      expect(states).toEqual(["refused"]);
      expect(next.rows("SELECT last_error FROM status_requests")).toEqual([
        { last_error: expect.stringContaining("delivered") },
      ]);
      expect([postsOf(former), statusOf(former)]).toEqual([1, "delivered"]);
    }
  });

  itWhole("was seen on the order before that was moved on: it was sent", async () => {
    const former = await startFormer();
    await former.ask();
    await former.lose();
    const { shop, id } = former;
    shop.clock.advance(1_000);
    await shop.run("updates");
    shop.sandbox.service.changeOrder(id, { status: "delivered" });
    shop.clock.advance(1_000);
    await shop.run("updates");
    await shop.mirror();
    expect(await former.states()).toEqual(["sending"]);
    expect((await takeOver(former)).states).toEqual(["sent"]);
    expect([postsOf(former), statusOf(former)]).toEqual([1, "delivered"]);
  });

  itWhole("has not arrived, or never left: it is sent once, and those after it too", async () => {
    for (const isLost of [false, true]) {
      const former = await startFormer();
      await former.ask("packed");
      await former.ask();
      if (isLost) {
        await former.lose("before");
        await former.shop.mirror();
      }
      expect(await former.states()).toEqual([isLost ? "sending" : "pending", "pending"]);
      expect((await takeOver(former)).states).toEqual(["sent", "sent"]);
      expect(former.shop.sandbox.ledger.effects("status").map(({ status }) => status)).toEqual(["packed", "shipped"]);
    }
  });

  const older = (["copy", "here", "restore"] as const).flatMap((how) =>
    (["pending", "sending"] as const).map((state) => ({ how, state })),
  );
  itWhole.each(older)(
    "was sent, as PostgreSQL has it, and is $state in the older database ($how): it was sent, wherever the order is now",
    async ({ how, state }) => {
      const former = await startFormer();
      await former.ask();
      if (state === "sending") await former.lose();
      const file = copyOf(former);
      const { shop, id } = former;
      shop.clock.advance(MINUTE);
      for (const job of ["updates", "statuses", "mirror"] as const) await shop.run(job);
      expect(await former.states()).toEqual(["sent"]);
      const outcome = await former.shop.there(OUTCOME);
      shop.sandbox.service.changeOrder(id, { status: "delivered" });
      const { states, next } = await takeOver(former, 16, { how, file });
      expect(states).toEqual(["sent"]);
      expect(next.rows("SELECT state FROM status_requests")).toEqual([{ state: "sent" }]);
      expect(await former.shop.there(OUTCOME)).toEqual(outcome);
      expect([postsOf(former), statusOf(former)]).toEqual([1, "delivered"]);
    },
  );

  itWhole.each(older)(
    "was refused, as PostgreSQL has it, and is $state in the older database ($how): it stays refused",
    async ({ how, state }) => {
      const former = await startFormer();
      await former.ask();
      const { shop } = former;
      if (state === "sending") await former.lose("before");
      const posts = postsOf(former);
      const file = copyOf(former);
      shop.bridge.store.db.exec(
        `UPDATE status_requests SET state = 'refused', attempts = 2, http_status = 422, answered_at = '${new Date(shop.clock.nowMs()).toISOString()}',
           last_error = 'no parcel'`,
      );
      await shop.mirror();
      const outcome = await shop.there(OUTCOME);
      expect(outcome).toEqual([expect.stringMatching(/^refused\|2\|422\|.+\|no parcel$/)]);
      const { next } = await takeOver(former, 4, { how, file });
      expect(await shop.there(OUTCOME)).toEqual(outcome);
      expect(next.rows("SELECT state, attempts, http_status, last_error FROM status_requests")).toEqual([
        { state: "refused", attempts: 2, http_status: 422, last_error: "no parcel" },
      ]);
      expect([postsOf(former), statusOf(former)]).toEqual([posts, "new"]);
    },
  );

  itWhole("is of an order that PostgreSQL does not have: it is not sent again", async () => {
    const former = await startFormer();
    await former.ask();
    await former.lose();
    // The first round that has brought anything from there was the last.
    await former.shop.there("DELETE FROM orders; DELETE FROM order_events; UPDATE positions SET up_no = 0");
    expect((await takeOver(former)).states).toEqual(["sent"]);
    expect([postsOf(former), statusOf(former)]).toEqual([1, "shipped"]);
  });

  it("is compared with the order of before it left", () => {
    const changes = [
      { was: "new", status: "packed" },
      { was: "packed", status: "Shipped" },
      { was: "Shipped", status: "delivered" },
    ];
    const delivered = { status: "delivered", revision: 7, updatedAt: "2026-03-01" };
    const before = (wanted: string, hasLeft: boolean, own: Partial<FormerOrder> = {}) => {
      const request = { wanted, hasLeft };
      const former = { ...delivered, changes };
      const { status, hasComeBack } = planFormer({ request, former, own: { ...delivered, changes: [], ...own } });
      return [status, hasComeBack];
    };
    expect(before("shipped", false)).toEqual(["packed", true]);
    expect(before("returned", false)).toEqual(["delivered", false]);
    // Whether they were made before it left is not known.
    expect(before("returned", true)).toEqual(["new", false]);
    // Changes that this database has made are later; PostgreSQL has them already, or not yet.
    const own = [{ was: "paid", status: "delivered" }];
    expect(before("returned", false, { changes: own })).toEqual(["paid", false]);
    expect(before("returned", false, { changes: own, revision: 8 })).toEqual(["delivered", false]);
    expect(before("delivered", false, { changes: own })).toEqual(["Shipped", true]);
    const unknown = planFormer({ request: { wanted: "shipped", hasLeft: false }, former: undefined, own: undefined });
    expect(unknown).toEqual({ status: null, revision: null, updatedAt: null, hasComeBack: false });
  });
});
