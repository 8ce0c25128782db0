import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { atOnce } from "../../src/answers/slices.ts";
import { BatchJournal } from "../../src/backup/batch-journal.ts";
import { JournalWriter, listJournal, pruneJournal, readJournal } from "../../src/backup/journal-files.ts";
import { frameHeadInSlices, readFrames } from "../../src/backup/journal-frame.ts";
import { markFolder } from "../../src/backup/journal-mark.ts";
import { deleteAllUnjournaled, loadBatch, saveUnjournaled } from "../../src/batches/batch-rows.ts";
import type { JournalEntry } from "../../src/batches/journal-batches.ts";
import { beginPass } from "../../src/batches/pull-pass.ts";
import { ConfirmBatches } from "../../src/confirm/confirm-batches.ts";
import { compileConfirm } from "../../src/confirm/confirm-form.ts";
import { LateOrders } from "../../src/confirm/late-orders.ts";
import { timeInName } from "../../src/database/file/copy-names.ts";
import { FakeClock } from "../support/bridge.ts";
import { batchStates, confirmBodies, createOrders, expectComplete, expectNothingLost } from "../support/pull.ts";
import { drain, liveADay, startScene } from "../support/restored.ts";
import { HAS_OTHER_DISK, OTHER_DISK, tempFolder } from "../support/temp.ts";
import { inWhole, isWhole, itWhole } from "../support/whole.ts";

const whole = inWhole("backup/restore-damage");

function entry(text: string): JournalEntry {
  return {
    note: { receivedAt: "2026-03-01T12:00:00.000Z", fingerprint: text, date: undefined },
    body: Buffer.from(text),
  };
}

const bodies = (read: { entries: JournalEntry[] }) => read.entries.map(({ body }) => body.toString());

const encodeFrame = (each: JournalEntry) => Buffer.concat([atOnce(frameHeadInSlices(each)), each.body]);

describe("a journal's file", () => {
  it("gives back what was written, wherever it was torn off", () => {
    const texts = fc.array(fc.string({ maxLength: 40 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(texts, fc.nat(), (all, at) => {
        const frames = all.map((text) => encodeFrame(entry(text)));
        const whole = Buffer.concat(frames);
        const cut = at % (whole.length + 1);
        const read = readFrames(whole.subarray(0, cut));
        let end = 0;
        const expected = all.filter((_, index) => {
          end += frames[index]?.length ?? 0;
          return end <= cut;
        });
        expect(bodies(read)).toEqual(expected);
        const isAtBorder = Buffer.concat(frames.slice(0, expected.length)).length === cut;
        expect(read.damaged.map(({ isCut }) => isCut)).toEqual(isAtBorder ? [] : [true]);
      }),
    );
  });

  it("loses one entry where one byte is damaged, and none of the others", () => {
    const frames = ["first", "EBJ1 inside", "third"].map((text) => encodeFrame(entry(text)));
    const whole = Buffer.concat(frames);
    const border = frames.map((_, index) => Buffer.concat(frames.slice(0, index + 1)).length);
    for (let at = 0; at < whole.length; at++) {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ 0x40;
      const hit = border.findIndex((end) => at < end);
      const expected = ["first", "EBJ1 inside", "third"].filter((_, index) => index !== hit);
      const read = readFrames(bytes);
      expect(bodies(read)).toEqual(expected);
      expect(read.damaged).toHaveLength(1);
      // What is wrong in the lengths alone can look as if the end were missing.
      const inFrame = at - (border[hit - 1] ?? 0);
      if (hit < 2 || inFrame < 4 || inFrame >= 12) expect(read.damaged[0]?.isCut).toBe(false);
    }
  });
});

describe("a large entry", () => {
  it("is digested in slices and not copied, and is read back", async () => {
    const body = Buffer.alloc(8 * 1024 * 1024, "ю");
    const large = { ...entry("large"), body };
    const work = frameHeadInSlices(large);
    let slices = 1;
    let step = work.next();
    for (; !step.done; step = work.next()) slices++;
    expect(slices).toBe(8);
    expect(step.value.length).toBeLessThan(1_000);
    const folder = tempFolder("journal");
    await new BatchJournal(folder, new FakeClock(), { account: "a", database: "d" }).append(large);
    const [file] = [...readJournal(folder)];
    expect(file?.entries[0]?.body.equals(body)).toBe(true);
    expect(file?.damaged).toEqual([]);
  });
});

describe("the journal", () => {
  it("has a file for each batch, in the order of writing, and removes what the oldest copy covers", async () => {
    const folder = path.join(tempFolder("journal"), "deep", "journal");
    const clock = new FakeClock();
    const first = new BatchJournal(folder, clock, { account: "shop", database: undefined });
    for (let copy = 0; copy < 5; copy++) {
      clock.advance(60_000);
      await first.append(entry(`before ${copy}`));
    }
    const second = new BatchJournal(folder, clock, { account: "shop", database: undefined });
    clock.jump(-3_600_000);
    await second.append(entry("after the clock was set back"));
    expect([...readJournal(folder)].flatMap(bodies)).toEqual(
      [0, 1, 2, 3, 4].map((n) => `before ${n}`).concat("after the clock was set back"),
    );
    const files = listJournal(folder);
    // By a copy that cannot be read.
    const coveredBy = (madeMs: number) => ({ file: path.join(folder, "none"), madeMs, database: folder, forgotten: 0 });
    expect(await second.prune(coveredBy(files[3]!.startedMs + 1))).toBe(2);
    expect(listJournal(folder)).toEqual(files.slice(2));
    expect(await second.prune(coveredBy(0))).toBe(0);
  });

  itWhole("removes what the oldest copy covers after a night under a clock that was ahead", async () => {
    const folder = tempFolder("journal");
    const clock = new FakeClock();
    const owner = { account: "shop", database: "d" };
    const journal = new BatchJournal(folder, clock, owner);
    clock.jump(365 * 24 * 3_600_000);
    for (let batches = 0; batches < 6; batches++) {
      const { note, body } = entry(`batch ${batches + 1}`);
      await journal.append({ note: { ...note, reached: { batches, events: batches, passes: 1 } }, body });
      if (batches === 0) clock.jump(-365 * 24 * 3_600_000);
    }
    const copyOf = (database: string, batches: number) => {
      const progress = { database, batches, events: 100, passes: 100 };
      return { madeMs: clock.nowMs(), progress };
    };
    expect(pruneJournal(folder, { madeMs: clock.nowMs(), progress: undefined }, owner)).toBe(0);
    expect(pruneJournal(folder, copyOf("another", 6), owner)).toBe(0);
    expect(pruneJournal(folder, copyOf("d", 4), owner)).toBe(2);
    expect([...readJournal(folder)].flatMap(bodies)).toEqual([3, 4, 5, 6].map((n) => `batch ${n}`));
    expect(pruneJournal(folder, copyOf("d", 4), owner)).toBe(0);
  });

  it("keeps a file of which nothing can be read yet, until nobody can be writing it any more", () => {
    const folder = tempFolder("journal");
    const begunMs = Date.UTC(2026, 2, 1);
    for (const second of [0, 1, 2, 3])
      writeFileSync(path.join(folder, `journal-${timeInName(begunMs + second)}.bin`), "");
    const owner = { account: "shop", database: "d" };
    const prune = (laterMs: number) => pruneJournal(folder, { madeMs: begunMs + laterMs, progress: undefined }, owner);
    expect(prune(3_600_000)).toBe(0);
    expect(prune(25 * 3_600_000)).toBe(2);
  });

  it("keeps no file that was not written to its end, and gives two writers of one moment a file each", async () => {
    const folder = tempFolder("journal");
    const [one, other] = [new JournalWriter(), new JournalWriter()];
    await one.begin(folder, 1_000);
    await one.write(folder, Buffer.from("half"));
    await one.begin(folder, 1_000);
    await other.begin(folder, 1_000);
    for (const writer of [one, other]) {
      await writer.write(folder, encodeFrame(entry("whole")));
      await writer.end(folder);
    }
    expect([...readJournal(folder)].map((file) => [bodies(file), file.damaged.length > 0])).toEqual([
      [["whole"], false],
      [["whole"], false],
    ]);
  });

  it("has flushed an entry when it says that it is written", async () => {
    const folder = tempFolder("journal");
    const other = await open(path.join(folder, "other"), "w");
    const datasync = vi.spyOn(Object.getPrototypeOf(other), "datasync");
    onTestFinished(() => datasync.mockRestore());
    await other.close();
    const writer = new JournalWriter();
    await writer.begin(folder, 1_000);
    await writer.write(folder, encodeFrame(entry("whole")));
    expect(datasync).not.toHaveBeenCalled();
    await writer.end(folder);
    expect(datasync).toHaveBeenCalledOnce();
  });

  itWhole("holds each batch before its confirm, and none twice", async () => {
    const scene = await startScene({ backup: { journal: "journal" } });
    createOrders(scene, 150);
    await drain(scene);
    const folder = path.join(scene.folder, "journal");
    expect([...readJournal(folder)].flatMap((file) => file.entries)).toHaveLength(2);
    await scene.run("orders");
    expect([...readJournal(folder)].flatMap((file) => file.entries)).toHaveLength(2);
  });

  itWhole.each([
    ["that can be written", false],
    ["that could not be written then", true],
  ])(
    "holds what a batch served again had newer before the confirm that covers it, with a disk %s",
    async (_, isFull) => {
      const scene = await startScene({ backup: { journal: "journal" } });
      const folder = path.join(scene.folder, "journal");
      const [id] = createOrders(scene, 3);
      await scene.backUp();
      scene.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 500 } });
      await scene.run("orders");
      expect(batchStates(scene)).toEqual(["stored"]);
      scene.clock.advance(60_000);
      scene.sandbox.service.changeOrder(id!, { status: "cancelled" });
      if (isFull) {
        rmSync(folder, { recursive: true });
        writeFileSync(folder, "a file in its place");
        await scene.restart();
        const before = scene.sandbox.ledger.ofKind("confirm").length;
        expect((await scene.run("orders")).outcome).toBe("failed");
        expect(scene.sandbox.ledger.ofKind("confirm")).toHaveLength(before);
        rmSync(folder);
      }
      for (let pass = 0; pass < 3; pass++) await scene.run("orders");
      expectComplete(scene);
      expect([...readJournal(folder)].flatMap((file) => file.entries)).toHaveLength(isFull ? 1 : 2);
      await scene.restore(() => {
        for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
      });
      expect(scene.rows("SELECT status FROM orders WHERE order_id = ?", id)).toEqual([{ status: "cancelled" }]);
      expectNothingLost(scene);
    },
  );

  itWhole("holds what a batch served again says later with another timestamp alone", async () => {
    const scene = await startScene({ backup: { journal: "journal" } });
    const [id] = createOrders(scene, 3);
    scene.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 500 } });
    await scene.run("orders");
    scene.clock.advance(60_000);
    scene.sandbox.service.changeOrder(id!, {});
    for (let pass = 0; pass < 3; pass++) expect((await scene.run("orders")).counts).not.toHaveProperty("refreshed");
    expectComplete(scene);
    const [row] = scene.rows<{ payload: string; revision: number }>(
      "SELECT payload, revision FROM orders WHERE order_id = ?",
      id,
    );
    expect(row?.revision).toBe(1);
    const entries = [...readJournal(path.join(scene.folder, "journal"))].flatMap((file) => file.entries);
    expect(entries.map(({ body }) => body.includes(row!.payload))).toEqual([false, true]);
  });

  itWhole(
    "keeps the confirm back while it cannot be written, stores the orders all the same, and makes up for it",
    async () => {
      const scene = await startScene({ backup: { journal: "journal" } });
      const folder = path.join(scene.folder, "journal");
      writeFileSync(folder, "a file in its place");
      createOrders(scene, 5);
      const failed = await scene.run("orders");
      expect(failed).toMatchObject({ outcome: "failed" });
      expect(failed.error?.message).toContain("not confirmed until it can be");
      expect(scene.rows("SELECT count(*) AS n FROM orders_pending")).toEqual([{ n: 5 }]);
      expect(scene.sandbox.ledger.ofKind("confirm")).toEqual([]);
      expect(batchStates(scene)).toEqual(["stored"]);
      expect(scene.rows("SELECT failing_since IS NOT NULL AS failing FROM sync_status WHERE flow = 'orders'")).toEqual([
        { failing: 1 },
      ]);
      await scene.restart();
      expect((await scene.run("orders")).outcome).toBe("failed");
      expect(scene.sandbox.ledger.ofKind("confirm")).toEqual([]);
      rmSync(folder);
      await drain(scene);
      expectComplete(scene);
      expect([...readJournal(folder)].flatMap((file) => file.entries)).toHaveLength(1);
    },
  );

  it.skipIf(!HAS_OTHER_DISK)("is not made anew on the database's disk where its own disk is gone", async () => {
    const disk = tempFolder("journal", OTHER_DISK);
    const scene = await startScene({ backup: { journal: "media/disk/journal" } });
    const media = path.join(scene.folder, "media");
    mkdirSync(media);
    symlinkSync(disk, path.join(media, "disk"));
    createOrders(scene, 1);
    await drain(scene);
    expect(listJournal(path.join(disk, "journal"))).toHaveLength(1);
    rmSync(path.join(media, "disk"));
    await scene.restart();
    createOrders(scene, 2);
    const confirmed = scene.sandbox.ledger.ofKind("confirm").length;
    expect(await scene.run("orders")).toMatchObject({ outcome: "failed", error: { code: "disk_failed" } });
    expect(scene.sandbox.ledger.ofKind("confirm")).toHaveLength(confirmed);
    expect(existsSync(path.join(media, "disk"))).toBe(false);
    symlinkSync(disk, path.join(media, "disk"));
    await drain(scene);
    expectComplete(scene);
    await scene.restart({ backup: { journal: "elsewhere" } });
    createOrders(scene, 1);
    await drain(scene);
    expectComplete(scene);
  });

  it.runIf(isWhole && HAS_OTHER_DISK)(
    "is not made anew in another folder at the place of the one that it lay in",
    async () => {
      const disk = tempFolder("journal", OTHER_DISK);
      const folder = path.join(disk, "journal");
      const scene = await startScene({ backup: { journal: folder } });
      createOrders(scene, 1);
      await drain(scene);
      await scene.backUp();
      createOrders(scene, 1);
      await drain(scene);
      const confirmed = scene.sandbox.ledger.ofKind("confirm").length;
      // The mount point stays where the disk is pulled, or another disk lies there.
      renameSync(folder, `${folder}.pulled`);
      mkdirSync(folder);
      createOrders(scene, 2);
      expect(await scene.run("orders")).toMatchObject({ outcome: "failed", error: { code: "disk_failed" } });
      expect(readdirSync(folder)).toEqual([]);
      await scene.restart();
      const failed = await scene.run("orders");
      expect(String(failed.error?.text)).toContain("journal.id");
      expect(String(failed.error?.hint)).toContain("name another folder");
      expect(scene.sandbox.ledger.ofKind("confirm")).toHaveLength(confirmed);
      const report = await scene.restore(() => {
        for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
      });
      expect(report).toMatchObject({ journal: { batches: 0, isOther: true } });
      expect(String(report.notes)).toContain("restore once more");
      // The same folder, wherever it lies now.
      rmdirSync(folder);
      cpSync(`${folder}.pulled`, folder, { recursive: true });
      expect(await scene.restore()).toMatchObject({ journal: { batches: 1, isOther: false } });
      await drain(scene);
      expectComplete(scene);
      rmSync(folder, { recursive: true });
      await scene.restart({ backup: { journal: path.join(disk, "new") } });
      createOrders(scene, 1);
      await drain(scene);
      expectComplete(scene);
    },
  );

  it("shares the number of a folder with another bridge's", async () => {
    const folder = tempFolder("journal");
    expect(markFolder(folder)).toBe(markFolder(folder));
    expect(readdirSync(folder)).toEqual(["journal.id"]);
  });

  itWhole("keeps back a confirm that names nothing just the same", async () => {
    const settings = { backup: { journal: "journal" }, orders: { confirm: { body: {} } } };
    const scene = await startScene(settings, {
      sandbox: { options: { confirmForm: "all", handOut: "next", redeliverAfterMs: null } },
    });
    writeFileSync(path.join(scene.folder, "journal"), "a file in its place");
    createOrders(scene, 5);
    expect((await scene.run("orders")).outcome).toBe("failed");
    expect(scene.sandbox.ledger.ofKind("confirm")).toEqual([]);
    rmSync(path.join(scene.folder, "journal"));
    await drain(scene);
    expectComplete(scene);
  });

  itWhole("keeps back a confirm that names nothing also where it is sent for another batch", async () => {
    const scene = await startScene();
    createOrders(scene, 1);
    await drain(scene);
    await scene.restart({ orders: { confirm: { body: {} } } });
    const { context, store } = scene.bridge;
    const row = loadBatch(
      store,
      scene.rows<{ fingerprint: string }>("SELECT fingerprint FROM batches")[0]!.fingerprint,
    )!;
    const owed = { fingerprint: "owed", account: null, receivedAt: "", body: Buffer.from("{}"), bodyId: null };
    store.write(() => saveUnjournaled(store, owed));
    const sent = () => scene.sandbox.ledger.ofKind("confirm").length;
    const before = sent();
    const confirms = new ConfirmBatches(
      context,
      { confirm: compileConfirm({}), account: row.account ?? "", requestMs: 60_000 },
      new LateOrders(context, { timezone: "UTC", overlapMs: 600_000 }),
    );
    await confirms.confirm({ row, seenBefore: true }, beginPass(new AbortController().signal));
    expect(sent()).toBe(before);
    store.write(() => deleteAllUnjournaled(store));
    await confirms.confirm({ row, seenBefore: true }, beginPass(new AbortController().signal));
    expect(sent()).toBe(before + 1);
  });

  itWhole("owes nothing to a journal that was switched off", async () => {
    const scene = await startScene({ backup: { journal: "journal" } });
    writeFileSync(path.join(scene.folder, "journal"), "a file in its place");
    createOrders(scene, 5);
    await scene.run("orders");
    await scene.restart({});
    await drain(scene);
    expectComplete(scene);
  });
});

whole.describe("restoring with a journal", () => {
  const settings = { backup: { journal: "journal" } };

  it("brings back every order that was confirmed after the copy where the replaced file is gone", async () => {
    const scene = await startScene(settings);
    await liveADay(scene);
    const report = await scene.restore(() => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
    });
    expect(report.journal).toMatchObject({ batches: 1, orders: 8, torn: 0, unread: 0 });
    expect(String(report.gap)).toContain("The journal brought back 1 batch with 8 orders.");
    expect(scene.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 20 }]);
    const confirms = scene.sandbox.ledger.ofKind("confirm").length;
    await drain(scene);
    expectComplete(scene);
    expectNothingLost(scene);
    expect(scene.sandbox.ledger.ofKind("confirm").length).toBe(confirms + 1);
    const again = await scene.restore();
    expect(again.journal.batches).toBe(0);
  });

  it("has orders read that a batch names beside its list and no entry holds", async () => {
    const handing = { sandbox: { options: { handOut: "repeat", confirmForm: "batch_id" } } } as const;
    const scene = await startScene(settings, handing);
    createOrders(scene, 1);
    await drain(scene);
    await scene.backUp();
    const ids = createOrders(scene, 6);
    const records = ids.slice(0, 3).map((id) => scene.sandbox.service.newestText(id));
    const body = `{"batch_id":"b-beside","order_ids":${JSON.stringify(ids)},"orders":[${records.join()}]}`;
    const rule = scene.sandbox.faults.add({
      match: { path: "orders" },
      times: "forever",
      do: { kind: "raw", contentType: "application/json", body },
    });
    for (let pass = 0; pass < 3; pass++) {
      await scene.run("orders");
      await scene.run("updates");
      scene.clock.advance(60_000);
    }
    expect(confirmBodies(scene).join()).toContain("b-beside");
    scene.sandbox.faults.remove(rule);
    const report = await scene.restore(() => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
    });
    expect(report.journal).toMatchObject({ batches: 1, orders: 3, named: 3 });
    expect(scene.rows("SELECT order_id FROM owed_reads ORDER BY order_id")).toEqual(
      ids
        .slice(3)
        .sort()
        .map((order_id) => ({ order_id })),
    );
    await scene.run("updates");
    const stored = scene.rows<{ order_id: string }>("SELECT order_id FROM orders").map((row) => row.order_id);
    expect(stored).toEqual(expect.arrayContaining(ids));
    expect(scene.rows("SELECT order_id FROM owed_reads")).toEqual([]);
    expect((await scene.restore()).journal).toMatchObject({ named: 0 });
  });

  itWhole("gives what comes from it numbers of its own, beyond those that are lost", async () => {
    const scene = await startScene({ backup: { journal: tempFolder("journal") } });
    const { early } = await liveADay(scene);
    // The copy has the events of its twelve orders.
    const events = () =>
      scene.rows<{ seq: number; revision: number }>("SELECT seq, revision FROM order_events WHERE seq > 12");
    scene.sandbox.service.changeOrder(early[3]!, { status: "paid" });
    await drain(scene);
    const largest = Math.max(...events().map(({ seq }) => seq));
    await scene.restore(() => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
    });
    expect(events()).toHaveLength(8);
    for (const { seq, revision } of events()) {
      expect(seq).toBeGreaterThan(largest);
      expect(revision).toBeGreaterThan(largest);
    }
  });

  itWhole("passes over a torn end and tells of it, and what was torn was never confirmed", async () => {
    const scene = await startScene(settings);
    const folder = path.join(scene.folder, "journal");
    await liveADay(scene);
    const report = await scene.restore(() => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
      const last = path.join(folder, listJournal(folder).at(-1)!.name);
      const torn = encodeFrame(entry('{"orders":[{"order_id":"half'));
      appendFileSync(last, torn.subarray(0, torn.length - 5));
    });
    expect(report.journal).toMatchObject({ batches: 1, orders: 8, torn: 1 });
    await drain(scene);
    expectComplete(scene);
  });

  itWhole("names an entry that is damaged and not the newest, and has its orders read from the service", async () => {
    const scene = await startScene(settings);
    const folder = path.join(scene.folder, "journal");
    const { late } = await liveADay(scene);
    createOrders(scene, 1);
    await drain(scene);
    const report = await scene.restore(() => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
      const file = path.join(folder, listJournal(folder).at(-2)!.name);
      const bytes = readFileSync(file);
      const at = bytes.lastIndexOf('"currency"');
      bytes[at + 2] = (bytes[at + 2] ?? 0) ^ 1;
      writeFileSync(file, bytes);
    });
    expect(report.journal).toMatchObject({ torn: 0, damaged: 1, read: late.length });
    expect(report.notes.join(" ")).toMatch(/its batch may have been confirmed.*: 8\./u);
    expect(String(report.gap)).toMatch(/1 damaged entry of the journal.* 8 orders still named/u);
    for (let pass = 0; pass < 3; pass++) await scene.run("updates");
    await drain(scene);
    expectComplete(scene);
  });

  itWhole("reads what is left of a file that was cut off in its middle", async () => {
    const scene = await startScene(settings);
    const folder = path.join(scene.folder, "journal");
    await liveADay(scene);
    const report = await scene.restore(() => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
      const last = path.join(folder, listJournal(folder).at(-1)!.name);
      truncateSync(last, readFileSync(last).length - 10);
    });
    expect(report.journal).toMatchObject({ batches: 0, torn: 1 });
    expect(report.gap).not.toBeNull();
  });

  itWhole("keeps a body that the present configuration cannot read", async () => {
    const scene = await startScene(settings);
    const folder = path.join(scene.folder, "journal");
    await liveADay(scene);
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      path.join(folder, "journal-20270101T000000000Z.bin"),
      encodeFrame(entry('{"shipments":[{"order_id":"x"}]}')),
    );
    const report = await scene.restore(() => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
    });
    expect(report.journal).toMatchObject({ batches: 1, unread: 1 });
    expect(scene.rows("SELECT count(*) AS n FROM batches WHERE state = 'unread'")).toEqual([{ n: 1 }]);
    expect(readdirSync(folder).length).toBeGreaterThan(0);
  });
});
