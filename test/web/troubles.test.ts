import { linkSync, mkdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { BridgeError } from "../../src/platform/errors.ts";
import { Troubles } from "../../src/platform/troubles.ts";
import { saying, words } from "../support/messages.ts";
import { startReceiver } from "../support/receiver.ts";
import { tempFolder } from "../support/temp.ts";
import { startWebBridge, type WebBridge } from "../support/web.ts";
import { itWhole } from "../support/whole.ts";

const DATABASE = "bridge.db";

/** What a look once a second does in a running daemon. */
function look(t: WebBridge): void {
  try {
    t.bridge.store.look();
  } catch {
    // It is kept.
  }
}

async function runAll(t: WebBridge): Promise<void> {
  for (const job of ["orders", "updates", "stocks"] as const) await t.run(job);
}

describe("what the daemon itself meets", () => {
  const named = (file: string, name: string) => path.join(path.dirname(file), name);
  const CASES: [string, RegExp, string, (file: string) => () => void][] = [
    [
      "a second name of the database",
      /^bridge\.db has 2 names \(hard links\)\. Leave it one name/,
      "database_refused",
      (file) => {
        linkSync(file, named(file, "second"));
        return () => rmSync(named(file, "second"));
      },
    ],
    [
      "a foreign -journal",
      /^bridge\.db-journal lies beside the database and is not of it/,
      "database_refused",
      (file) => {
        writeFileSync(`${file}-journal`, "x".repeat(600));
        return () => rmSync(`${file}-journal`);
      },
    ],
    [
      "a folder in the place of .progress",
      /^Writing beside the database: a folder, a link or a pipe has the name of a file/,
      "database_refused",
      (file) => {
        rmSync(`${file}.progress`);
        mkdirSync(`${file}.progress`);
        writeFileSync(path.join(`${file}.progress`, "x"), "");
        return () => {
          rmSync(path.join(`${file}.progress`, "x"));
          rmdirSync(`${file}.progress`);
        };
      },
    ],
  ];

  itWhole.each(CASES)("is said first everywhere, and no longer than it stands: %s", async (_, words, code, spoil) => {
    const receiver = await startReceiver();
    const beaten = await startReceiver();
    const folder = tempFolder("troubles");
    const settings = { alerts: { webhook: receiver.url }, heartbeat: beaten.url };
    const t = await startWebBridge({ settings, folder });
    const watch = async () => {
      t.clock.advance(61_000);
      await t.bridge.watch.look();
    };
    await runAll(t);
    await watch();
    const beats = () => beaten.received.length;
    expect(beats()).toBe(1);
    const mend = spoil(path.join(folder, DATABASE));
    t.sandbox.service.createOrder();
    await runAll(t);
    look(t);
    const ill = await t.health();
    expect(ill.status).toBe(503);
    expect(ill.body.sentence).toMatch(words);
    expect(ill.body.attention[0]).toMatch(words);
    expect(ill.body.ill[0]).toMatchObject({ flow: "database", reason: code });
    expect(ill.body.sentence).not.toContain(folder);
    const { body: page } = await t.ask("/");
    expect(/<h1>(.*)<\/h1>/.exec(page)?.[1]).toMatch(words);
    expect((await t.ask("/metrics")).body).toMatch(new RegExp(`erp_bridge_trouble\\{of="\\w+",reason="${code}"\\} 1`));
    await watch();
    expect(beats()).toBe(1);
    expect(receiver.messages().at(-1)).toMatchObject({ subject: "database", text: expect.stringMatching(words) });
    mend();
    look(t);
    const well = await t.health();
    expect(well.body.ill).toEqual([]);
    expect(well.body.attention.join()).not.toMatch(words);
    await watch();
    expect(receiver.messages().map(({ text }) => text)).toContain("The database can be used again.");
  });

  itWhole("is said in the language of the page", async () => {
    const folder = tempFolder("troubles");
    const t = await startWebBridge({ settings: { language: "ru" }, folder });
    linkSync(path.join(folder, DATABASE), path.join(folder, "second"));
    look(t);
    expect((await t.ask("/")).body).toMatch(/<h1>У файла bridge\.db|<h1>bridge\.db[^<]*[а-я]{3}/);
    expect((await t.health()).body.sentence).toMatch(/^bridge\.db has 2 names/);
  });

  itWhole("ends where the same succeeds: a disk that was full, by the next write", async () => {
    const t = await startWebBridge({ folder: tempFolder("troubles") });
    const { store } = t.bridge;
    const pages = store.db.pragma("page_count", { simple: true }) as number;
    store.db.pragma(`max_page_count = ${pages}`);
    store.db.exec("CREATE TEMP TABLE filler AS SELECT 1");
    const fill = () =>
      store.write(() => store.db.exec("INSERT INTO meta (key, value) VALUES ('filler', hex(zeroblob(4000000)))"));
    expect(fill).toThrow("is full");
    look(t);
    expect((await t.health()).body.ill).toMatchObject([{ flow: "database", reason: "disk_full" }]);
    store.db.pragma("max_page_count = 1000000");
    fill();
    expect((await t.health()).body.ill).toEqual([]);
  });

  itWhole("is not the short turn of another writer, and is one that takes half a minute", async () => {
    const folder = tempFolder("troubles");
    const t = await startWebBridge({ folder });
    const erp = new Database(path.join(folder, DATABASE));
    erp.exec("BEGIN IMMEDIATE");
    const write = () => t.bridge.store.write(() => {});
    expect(write).toThrow("write lock");
    expect(t.bridge.store.troubles.first).toBeUndefined();
    t.clock.advance(31_000);
    expect(write).toThrow("write lock");
    expect(t.bridge.store.troubles.first).toMatchObject({ of: "write", code: "database_busy" });
    erp.close();
    write();
    expect(t.bridge.store.troubles.first).toBeUndefined();
  });

  it("is nothing that a transaction's own code refuses", async () => {
    const t = await startWebBridge();
    const refuse = () => {
      throw new BridgeError("database_refused", words("A trigger of the ERP's."));
    };
    expect(() => t.bridge.store.write(refuse)).toThrow("A trigger");
    expect(t.bridge.store.troubles.first).toBeUndefined();
  });

  itWhole("comes before a reload that failed, which makes nothing ill", async () => {
    const t = await startWebBridge();
    await runAll(t);
    const { troubles } = t.bridge.store;
    troubles.note("reload", new BridgeError("config_invalid", words("The configuration was not taken over.")));
    const { status, body } = await t.health();
    expect([status, body.ill, body.attention[0]]).toEqual([200, [], "The configuration was not taken over."]);
    troubles.note("files", new BridgeError("database_refused", words("/srv/shop/bridge.db is odd.")), "/srv/shop");
    expect(troubles.first).toMatchObject({ of: "files", sentence: saying("bridge.db is odd.") });
    troubles.end("files");
    expect(troubles.first).toMatchObject({ of: "reload" });
  });
});

describe("Troubles", () => {
  it("keeps since when the same stands, and what one error is told as at first", () => {
    let nowMs = 0;
    const troubles = new Troubles(() => nowMs);
    const error = new BridgeError("disk_full", words("Full."));
    troubles.note("write", error);
    nowMs = 5_000;
    troubles.note("write", new BridgeError("disk_full", words("Full again.")));
    troubles.note("secure", error);
    expect(troubles.first).toMatchObject({ since: "1970-01-01T00:00:00.000Z", sentence: saying("Full again.") });
    troubles.note("write", new BridgeError("disk_failed", words("Failed.")));
    troubles.end("secure");
    expect(troubles.first).toMatchObject({ since: "1970-01-01T00:00:05.000Z", code: "disk_failed" });
  });
});
