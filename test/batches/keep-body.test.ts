import { hash } from "node:crypto";
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { migrateDatabase } from "../../src/database/migrate.ts";
import { loadMigrations, MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { loadUnreadBatch } from "../../src/pass/held-rows.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import {
  addFormerBatches,
  batchStates,
  confirmBodies,
  createOrders,
  expectComplete,
  orderCount,
} from "../support/pull.ts";
import { startScene } from "../support/restored.ts";
import { inWhole, itSome, itWhole, some } from "../support/whole.ts";

const whole = inWhole("batches/keep-body");

const MIB = 1024 * 1024;
const giant = { handOut: "next" as const, redeliverAfterMs: null, batchSize: 100 };

/** A list of objects where nobody looks for one, of about so many megabytes. */
const strange = (mib: number, text = "x") => `{"shipments":[{"text":"${text.repeat((mib * MIB) / text.length)}"}]}`;

function answerOnce({ sandbox }: Pick<TestBridge, "sandbox">, body: string): void {
  sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", contentType: "application/json", body } });
}

/** Orders of half a megabyte each. */
function createLarge({ sandbox }: TestBridge, count: number): void {
  for (let n = 0; n < count; n++)
    sandbox.service.createOrder({ extra: { text: JSON.stringify(String(n % 10).repeat(MIB / 2)) } });
}

/** Lets so many write transactions through and then fails as a program that is gone would. */
function failAfter({ bridge: { store } }: TestBridge, transactions: number): void {
  const write = store.write.bind(store);
  let left = transactions;
  store.write = (fn) => {
    if (left-- <= 0) throw new Error("the process is gone");
    return write(fn);
  };
}

const parts = ({ rows }: Pick<TestBridge, "rows">) => rows<{ n: number }>("SELECT count(*) AS n FROM body_parts")[0]!.n;

describe("a large answer that cannot be read", () => {
  itWhole("is written a megabyte at a time, and is found by the view whole", async () => {
    const t = await startTestBridge();
    const body = strange(5, "ещё ");
    answerOnce(t, body);
    const { store } = t.bridge;
    const write = store.write.bind(store);
    const steps: number[] = [];
    let before = 0;
    store.write = (fn) => {
      const result = write(fn);
      const now = t.rows<{ n: number }>("SELECT coalesce(sum(length(bytes)), 0) AS n FROM body_parts")[0]!.n;
      steps.push(now - before);
      before = now;
      return result;
    };
    await t.run("orders");
    expect(Math.max(...steps)).toBe(MIB);
    expect(steps.filter((bytes) => bytes > 0)).toHaveLength(Math.ceil(Buffer.byteLength(body) / MIB));
    expect(
      t.rows("SELECT CAST(body AS TEXT) = ? AS same, last_error LIKE '%$.orders%' AS why FROM kept_bodies", body),
    ).toEqual([{ same: 1, why: 1 }]);
    expect(t.rows("SELECT body FROM batches")).toEqual([{ body: null }]);
  });

  itSome(1)(["UTF-16le", "UTF-16be", "UTF-8"])(
    "is whole in the view of a database in %s, to the last odd byte",
    (encoding) => {
      const db = new Database(":memory:");
      onTestFinished(() => void db.close());
      db.pragma(`encoding = '${encoding}'`);
      migrateDatabase(db, { known: loadMigrations(MIGRATIONS_FOLDER), file: ":memory:", backupFolder: "", nowMs: 0 });
      // In UTF-16 of either order the first of these is half of a pair.
      const parts = [Buffer.from("\u05d0\u05d0\u05d0x\u00d8 \u00dc"), Buffer.from("{}"), Buffer.from("\u0651\u0651.")];
      db.exec(
        "INSERT INTO batches (fingerprint, state, received_at, order_count, body_id) VALUES ('f', 'unread', '', 0, 7)",
      );
      const save = db.prepare("INSERT INTO body_parts (body_id, part, bytes) VALUES (7, ?, ?)");
      for (const [part, bytes] of parts.entries()) save.run(part, bytes);
      expect(db.prepare("SELECT body FROM kept_bodies").pluck().get()).toEqual(Buffer.concat(parts));
    },
  );

  itWhole.each(some([0, 1, 3, 5, 6], 1))(
    "is kept whole or not at all where the program dies after %s transactions",
    async (count) => {
      const t = await startTestBridge();
      addFormerBatches(t);
      const body = strange(5);
      // The first pass notes more than later ones.
      await t.run("orders");
      answerOnce(t, body);
      failAfter(t, count);
      await t.run("orders");
      const all = t.rows<{ state: string; body: Buffer }>("SELECT body FROM kept_bodies");
      expect(all).toEqual([]);
      expect(parts(t)).toBe(Math.min(count, 6));
      await t.restart();
      await t.run("orders");
      expect(parts(t)).toBe(0);
      answerOnce(t, body);
      await t.run("orders");
      expect(
        loadUnreadBatch(
          t.bridge.store,
          t.rows<{ batch_id: number }>("SELECT batch_id FROM kept_bodies")[0]!.batch_id,
        )?.body.toString(),
      ).toBe(body);
      expect(parts(t)).toBe(6);
    },
  );

  itWhole("is not written again when it comes again, and is replaced an hour later only by another", async () => {
    const t = await startTestBridge();
    const ids = createOrders(t, 2);
    const body = (mark: string) =>
      `{"shipments":[${ids.map((id) => `{"order_id":"${id}","text":"${mark.repeat(2 * MIB)}"}`).join()}]}`;
    const ask = async (mark: string, afterMs: number) => {
      t.clock.advance(afterMs);
      answerOnce(t, body(mark));
      await t.run("orders");
      return t.rows<{ id: number }>("SELECT DISTINCT body_id AS id FROM body_parts").map(({ id }) => id);
    };
    const first = await ask("a", 0);
    expect(first).toHaveLength(1);
    expect(await ask("b", 60_000)).toEqual(first);
    expect(await ask("a", 7_200_000)).toEqual(first);
    await ask("b", 60_000);
    await t.run("orders");
    const now = t.rows<{ text: string }>("SELECT substr(CAST(body AS TEXT), -10, 5) AS text FROM kept_bodies");
    expect(now).toEqual([{ text: "bbbbb" }]);
    expect(parts(t)).toBe(5);
  });

  itWhole("goes to the quarantine without being copied, and is removed with nothing left", async () => {
    const t = await startTestBridge();
    const body = strange(3);
    answerOnce(t, body);
    await t.run("orders");
    for (let looks = 0; looks < 14; looks++) {
      t.clock.advance(3_600_000);
      await t.run("orders");
    }
    expect(t.rows("SELECT state, payload, hex(payload_hash) AS hash, body_id IS NULL AS none FROM quarantine")).toEqual(
      [{ state: "released", payload: null, hash: hash("sha256", body).toUpperCase(), none: 0 }],
    );
    expect(parts(t)).toBe(4);
    t.bridge.store.write(() => t.bridge.store.db.exec("DELETE FROM quarantine"));
    await t.run("orders");
    expect(parts(t)).toBe(0);
  });
});

describe("a large batch", () => {
  it.each(some([1, 4, 7, 8, 9, 11], 1))("loses nothing where the program dies after %s transactions", async (count) => {
    const t = await startTestBridge({ sandbox: { options: giant } });
    addFormerBatches(t);
    await t.run("orders");
    createLarge(t, 12);
    failAfter(t, count);
    await t.run("orders");
    expect(confirmBodies(t)).toEqual([]);
    const isKept = count >= 9;
    expect(batchStates(t)).toEqual(isKept ? ["unread"] : []);
    await t.restart();
    await t.run("orders");
    if (isKept) {
      expect(orderCount(t)).toBe(12);
      expectComplete(t);
    }
    await t.run("orders");
    expect(parts(t)).toBe(0);
  });

  itWhole(
    "goes to the journal from its parts once the journal can be written, and only then is it confirmed",
    async () => {
      const t = await startScene({ backup: { journal: "journal" } }, { sandbox: { options: giant } });
      const journal = path.join(t.folder, "journal");
      writeFileSync(journal, "no folder");
      createLarge(t, 12);
      await t.run("orders");
      expect([batchStates(t), orderCount(t), confirmBodies(t)]).toEqual([["stored"], 12, []]);
      expect(parts(t)).toBe(7);
      rmSync(journal);
      await t.run("orders");
      expectComplete(t);
      const [file = ""] = readdirSync(journal);
      expect(statSync(path.join(journal, file)).size).toBeGreaterThan(6 * MIB);
      await t.run("orders");
      expect(parts(t)).toBe(0);
    },
  );
});

whole.describe("a restore", () => {
  it("brings large bodies over under numbers of their own", async () => {
    const t = await startScene();
    createOrders(t, 1);
    answerOnce(t, strange(2, "a"));
    await t.run("orders");
    await t.backUp();
    answerOnce(t, strange(2, "b"));
    await t.run("orders");
    await t.restore();
    const texts = () =>
      t
        .rows<{ text: string }>("SELECT substr(CAST(body AS TEXT), -10, 5) AS text FROM kept_bodies")
        .map(({ text }) => text);
    expect(texts().sort()).toEqual(["aaaaa", "bbbbb"]);
    await t.run("orders");
    expect(texts().sort()).toEqual(["aaaaa", "bbbbb"]);
    expect(parts(t)).toBe(6);
  });
});
