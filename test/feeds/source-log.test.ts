/*
 * A file of an ERP that runs as another user, in WAL mode. Only root can act as two users; for others the decision is tested by
 * itself, in test/database/log-rights.test.ts.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, statSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { FeedRules } from "../../src/feeds/feed.ts";
import { openSource } from "../../src/feeds/source/source-reader.ts";
import { asUser, SHARED_GROUP } from "../support/as-user.ts";
import { tempFolder } from "../support/temp.ts";
import { isWhole } from "../support/whole.ts";

const [ERP, BRIDGE] = [64_001, 64_003];
const LOGS = ["-wal", "-shm"];
const RULES = { name: "stocks", table: "goods", query: null, keys: ["sku"], columns: ["sku", "quantity"] };

function makeErp({
  mode,
  group = SHARED_GROUP,
  folderMode = 0o2770,
}: {
  mode: number;
  group?: number;
  folderMode?: number;
}) {
  const base = tempFolder("erp");
  chmodSync(base, 0o755);
  const folder = path.join(base, "data");
  mkdirSync(folder);
  const file = path.join(folder, "erp.db");
  const made = new Database(file);
  made.pragma("journal_mode = WAL");
  made.exec("CREATE TABLE goods (sku, quantity); INSERT INTO goods VALUES ('A', 1)");
  made.close();
  chownSync(folder, ERP, SHARED_GROUP);
  chownSync(file, ERP, group);
  chmodSync(folder, folderMode);
  chmodSync(file, mode);
  const rules = { ...RULES, file };
  return {
    file,
    logs: () => LOGS.filter((suffix) => existsSync(`${file}${suffix}`)),
    open: () => asUser(ERP, () => new Database(file)),
    write: () =>
      asUser(ERP, () => {
        const db = new Database(file);
        try {
          db.exec("UPDATE goods SET quantity = quantity + 1");
        } finally {
          db.close();
        }
      }),
    /** As an earlier version of the bridge did. */
    leaveLog: () =>
      asUser(BRIDGE, () => {
        const db = new Database(file, { readonly: true });
        db.prepare("SELECT * FROM goods").all();
        db.close();
      }),
    read: () =>
      asUser(BRIDGE, () => {
        const reader = openSource(rules as unknown as FeedRules, "");
        const found = [...reader.rows({ exactly: false })];
        reader.close();
        return found;
      }),
  };
}

const refused = (reason: string) =>
  expect.objectContaining({ code: "table_missing", message: expect.stringContaining(reason) });
const WOULD = "could not write the log that SQLite would make";
const HAS = "which belong to the user of erp-bridge";

afterEach(() => {
  vi.restoreAllMocks();
});

describe.runIf(process.geteuid?.() === 0)("a file in WAL mode that another user writes", () => {
  it.each([
    ["0640", { mode: 0o640 }],
    ["0644", { mode: 0o644 }],
    ["0660 in a folder without setgid", { mode: 0o660, folderMode: 0o770 }],
    ["0664 of another group than the folder's", { mode: 0o664, group: ERP }],
  ])("is not read while nobody has it open, where its writers would be kept out: %s", (_, made) => {
    const erp = makeErp(made);
    expect(erp.read).toThrow(refused(WOULD));
    expect(erp.logs()).toEqual([]);
    erp.write();

    const open = erp.open();
    open.exec("UPDATE goods SET quantity = 7");
    expect(erp.read()).toEqual([{ sku: "A", quantity: 7n }]);
    open.exec("UPDATE goods SET quantity = 8");
    open.close();
    expect(erp.logs()).toEqual([]);
  });

  it.each([
    ["0660 of the folder's group", { mode: 0o660 }],
    ["0666", { mode: 0o666, folderMode: 0o777 }],
  ])("is read, and written afterwards: %s", (_, made) => {
    const erp = makeErp(made);
    expect(erp.read()).toHaveLength(1);
    expect(erp.logs()).toEqual(LOGS);
    expect(statSync(`${erp.file}-wal`).uid).toBe(BRIDGE);
    erp.write();
    expect(erp.read()).toEqual([{ sku: "A", quantity: 2n }]);
  });

  // A process of its own, because access(2) asks for the real user.
  it.runIf(isWhole)("is named as it was where the bridge may not write the folder either", () => {
    const { file, logs } = makeErp({ mode: 0o644, folderMode: 0o755 });
    const script = `import { openSource } from ${JSON.stringify(path.resolve("src/feeds/source/source-reader.ts"))};
      openSource(${JSON.stringify({ ...RULES, file })}, "");`;
    const options = { uid: BRIDGE, gid: BRIDGE, encoding: "utf8" } as const;
    const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], options);
    expect(stderr).toContain("cannot be read: attempt to write a readonly database");
    expect(logs()).toEqual([]);
  });

  it("is not read beside a log of the bridge's that keeps its writers out, until the log is given back", () => {
    const erp = makeErp({ mode: 0o640 });
    erp.leaveLog();
    expect(erp.write).toThrow("attempt to write a readonly database");
    expect(erp.read).toThrow(refused(HAS));
    expect(erp.logs()).toEqual(LOGS);
    for (const suffix of LOGS) chownSync(`${erp.file}${suffix}`, ERP, SHARED_GROUP);
    expect(erp.read()).toHaveLength(1);
    erp.write();
    expect(erp.read).toThrow(refused(WOULD));
  });

  it("shows at once that the log was removed between the look and the reading", () => {
    const erp = makeErp({ mode: 0o640 });
    vi.spyOn(process, "geteuid").mockReturnValueOnce(0);
    expect(erp.read).toThrow(refused(HAS));
    expect(erp.logs()).toEqual(LOGS);
  });
});
