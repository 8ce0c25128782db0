import { linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import {
  checkDatabaseFile,
  createDatabaseFile,
  isNetworkFileSystem,
  mountOf,
  parseMountInfo,
  refuseForeignTables,
  resolveDatabasePath,
} from "../../src/database/file/file-checks.ts";
import { saying } from "../support/messages.ts";
import { tempFolder } from "../support/temp.ts";

const MOUNTS = parseMountInfo(
  [
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard",
    "40 27 0:50 / /var/lib rw,relatime shared:12 master:3 - xfs /dev/vdb rw",
    "41 40 0:51 / /var/lib/erp rw - nfs4 server:/erp rw,vers=4.2",
    "42 27 0:52 / /mnt/two\\040words rw - cifs //pc/share rw",
    "43 27 0:53 / /srv rw - ext4 /dev/vdc rw",
    "44 43 0:54 / /srv rw - fuse.sshfs host:/ rw",
    "a line of another form",
    "",
  ].join("\n"),
);

describe("the mount table", () => {
  it("leaves out lines that it does not understand", () => {
    expect(MOUNTS).toHaveLength(6);
  });

  it.each([
    ["/home/shop", "ext4"],
    ["/var/lib", "xfs"],
    ["/var/lib/erp-bridge", "xfs"],
    ["/var/lib/erp", "nfs4"],
    ["/var/lib/erp/data", "nfs4"],
    ["/mnt/two words/db", "cifs"],
    ["/srv/db", "fuse.sshfs"],
  ])("finds the file system of %s: %s", (folder, type) => {
    expect(mountOf(folder, MOUNTS)?.type).toBe(type);
  });

  it.each(["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "coda", "lustre", "fuse.sshfs", "fuse.glusterfs"])(
    "counts %s as a network file system",
    (type) => {
      expect(isNetworkFileSystem(type)).toBe(true);
    },
  );

  it.each(["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuseblk", "fuse.fuse-overlayfs", "f2fs"])(
    "does not count %s as one",
    (type) => {
      expect(isNetworkFileSystem(type)).toBe(false);
    },
  );
});

describe("a database file", () => {
  it("may be absent, and is made readable by owner and group only", () => {
    const file = path.join(tempFolder("file"), "bridge.db");
    expect(checkDatabaseFile(file, "write")).toBeUndefined();
    createDatabaseFile(file);
    createDatabaseFile(file);
    expect(checkDatabaseFile(file, "write")).toBe(0);
    expect(statSync(file).mode & 0o007).toBe(0);
  });

  it("has one name when its folder is reached through a link", () => {
    const folder = tempFolder("file");
    mkdirSync(path.join(folder, "real"));
    symlinkSync(path.join(folder, "real"), path.join(folder, "link"));
    expect(resolveDatabasePath(path.join(folder, "link", "b.db"))).toBe(path.join(folder, "real", "b.db"));
  });

  it.each<[string, (file: string, folder: string) => void, RegExp]>([
    ["a symbolic link", (file, folder) => symlinkSync(path.join(folder, "other"), file), /symbolic link/],
    ["a folder", (file) => mkdirSync(file), /not a regular file/],
    [
      "one of two hard links",
      (file, folder) => {
        writeFileSync(file, "");
        linkSync(file, path.join(folder, "second"));
      },
      /2 names/,
    ],
    [
      "beside a log that is a link",
      (file, folder) => symlinkSync(path.join(folder, "x"), `${file}-wal`),
      /-wal is a symb/,
    ],
  ])("is refused when it is %s", (_, prepare, words) => {
    const folder = tempFolder("file");
    const file = path.join(folder, "bridge.db");
    prepare(file, folder);
    expect(() => checkDatabaseFile(file, "write")).toThrow(words);
    expect(() => checkDatabaseFile(file, "write")).toThrow(expect.objectContaining({ code: "database_refused" }));
  });

  it("is told which of its files a folder stands for", () => {
    const file = path.join(tempFolder("file"), "bridge.db");
    mkdirSync(`${file}-journal`);
    expect(() => checkDatabaseFile(file, "write")).toThrow(
      expect.objectContaining({
        message: `${file}-journal is not a regular file.`,
        hint: saying("Find out who made it, and move it away."),
      }),
    );
  });

  it("is refused in a folder that does not exist, or under a name that ends in white space", () => {
    const folder = tempFolder("file");
    expect(() => resolveDatabasePath(path.join(folder, "nowhere", "b.db"))).toThrow(/does not exist/);
    expect(() => resolveDatabasePath(path.join(folder, "b.db "))).toThrow(/white space/);
  });

  it("is refused when it already holds foreign tables under our names", () => {
    const db = new Database(":memory:");
    db.exec("CREATE TABLE Orders (x); CREATE TABLE goods (x)");
    expect(() => refuseForeignTables(db, ["orders", "stock"], "/f.db")).toThrow(/already holds orders/);
    expect(() => refuseForeignTables(db, ["stock"], "/f.db")).not.toThrow();
    db.close();
  });
});
