/*
 * A command of another user, while no program has the database open. Only root can act as two users; the decision is tested
 * by itself, in log-rights.test.ts.
 */
import { chmodSync, chownSync, existsSync, mkdirSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { afterEach, describe, expect, it, vi } from "vitest";
import { openReadOnly } from "../../src/database/connection.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";
import { asUser, SHARED_GROUP } from "../support/as-user.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const [DAEMON, USER] = [64_001, 64_003];
const LOGS = ["-wal", "-shm"];

/** A database of the daemon's in a folder that its group may write. */
function makeDatabase(mode: number) {
  const base = tempFolder("shared");
  chmodSync(base, 0o755);
  const folder = path.join(base, "data");
  mkdirSync(folder);
  const file = path.join(folder, "bridge.db");
  const store = openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
  store.close();
  chownSync(folder, DAEMON, SHARED_GROUP);
  chownSync(file, DAEMON, SHARED_GROUP);
  chmodSync(folder, 0o2770);
  chmodSync(file, mode);
  const write = () => {
    const db = new Database(file);
    try {
      db.exec("INSERT OR REPLACE INTO meta (key, value) VALUES ('test', '1')");
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  };
  return {
    file,
    logs: () => LOGS.filter((suffix) => existsSync(`${file}${suffix}`)),
    read: (user = USER) =>
      asUser(user, () => {
        const reader = openReadOnly(file);
        reader.db.prepare("SELECT * FROM meta").all();
        reader.close();
      }),
    /** A daemon that runs meanwhile. */
    beside: (act: () => void) => {
      const db = asUser(DAEMON, write);
      act();
      asUser(DAEMON, () => db.close());
    },
    write: () => asUser(DAEMON, () => void write().close()),
  };
}

const refused = (words: string) =>
  expect.objectContaining({ code: "database_refused", message: expect.stringContaining(words) });
const WOULD = "could not write the log that SQLite would make";
const HAS = "which belong to the user of this command";

afterEach(() => {
  vi.restoreAllMocks();
});

describe.runIf(process.geteuid?.() === 0)("a command of a user who may write the folder and not the database", () => {
  it("leaves no log that the daemon could not write: it reads only while the daemon runs", () => {
    const { read, logs, write, beside } = makeDatabase(0o640);
    expect(() => read()).toThrow(refused(WOULD));
    expect(logs()).toEqual([]);
    write();
    beside(() => read());
    expect(logs()).toEqual([]);
    write();
  });

  itWhole("names a log that it has left, and the way out", () => {
    const { read, logs, write, file } = makeDatabase(0o640);
    // The daemon removes its log between the look and the reading.
    vi.spyOn(process, "geteuid").mockReturnValueOnce(0);
    expect(() => read()).toThrow(refused(HAS));
    expect(logs()).toEqual(LOGS);
    expect(write).toThrow("readonly");
    expect(() => read()).toThrow(
      expect.objectContaining({
        hint: expect.toSatisfy((hint) => `${hint}`.includes(`--reference=${file} ${file}-wal`)),
      }),
    );
    for (const suffix of LOGS) chownSync(`${file}${suffix}`, DAEMON, SHARED_GROUP);
    write();
  });

  itWhole.each([
    ["the daemon's own user", 0o640, DAEMON],
    ["root", 0o640, 0],
    ["a user of a group that may write both", 0o660, USER],
  ])("reads as %s", (_, mode, user) => {
    const { read, write } = makeDatabase(mode);
    read(user);
    write();
  });
});
