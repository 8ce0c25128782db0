/*
 * What a command that root starts does in a folder of somebody else. Most of it can only be tried by root, who alone may
 * give files away; the same is tried on an installed machine by `npm run campaign:host`.
 */

import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { ownersOnTheWay } from "../../src/platform/become-owner.ts";
import type { Settings } from "../support/bridge.ts";
import { PATIENT, startProgram } from "../support/program.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { tempFolder } from "../support/temp.ts";
import { inWhole, isWhole, some } from "../support/whole.ts";

const isRoot = process.geteuid?.() === 0;
const asRoot = it.runIf(isRoot);
const asRootWhole = it.runIf(isRoot && isWhole);

/** An owner with a name, as the service's user is, and one without. */
const NAMED = { uid: 1, gid: 1 };
const NAMELESS = { uid: 64_001, gid: 64_002 };

interface RootsShop extends Shop {
  /** The folder of the database, which belongs to the owner. */
  data: string;
  root(...args: string[]): Promise<{ code: number | null; err: string; out: string }>;
}

/** Configuration and secret are root's alone; the database lies in a folder of somebody else. */
async function startRootsShop(owner = NAMELESS, settings: Settings = {}): Promise<RootsShop> {
  const data = tempFolder("data");
  chownSync(data, owner.uid, owner.gid);
  const shop = await startShop({
    settings: {
      database: { path: path.join(data, "bridge.db") },
      backup: { dir: path.join(data, "backups"), journal: path.join(data, "journal") },
      ...settings,
    },
  });
  chmodSync(shop.configFile, 0o600);
  const rows: Shop["rows"] = (sql) => {
    const db = new Database(path.join(data, "bridge.db"), { readonly: true, fileMustExist: true });
    try {
      return db.prepare(sql).all() as never[];
    } finally {
      db.close();
    }
  };
  const root = async (...args: string[]) => {
    const program = startProgram([...args, "--config", shop.configFile]);
    const { code } = await program.exited;
    return { code, err: program.stderr(), out: program.stdout() };
  };
  return { ...shop, data, rows, root };
}

function everything(folder: string): string[] {
  return globSync("**", { cwd: folder }).map((name) => path.join(folder, name));
}

/** What must stay as it is: a folder of root's, with a file and an SQLite database. */
function makeTreasure() {
  const folder = tempFolder("treasure");
  const precious = path.join(folder, "shadow");
  writeFileSync(precious, "precious\n", { mode: 0o640 });
  const look = () =>
    everything(folder)
      .map((name) => {
        const { mode, uid, gid, size } = lstatSync(name);
        return `${name} ${mode.toString(8)} ${uid}:${gid} ${size}`;
      })
      .concat(readFileSync(precious, "utf8"));
  const before = look();
  return { folder, precious, expectUntouched: (words: string) => expect(look(), words).toEqual(before) };
}

type Treasure = ReturnType<typeof makeTreasure>;

const KINDS: Record<string, (name: string, treasure: Treasure) => void> = {
  link: (name, { precious }) => symlinkSync(precious, name),
  "link to a new name": (name, { folder }) => symlinkSync(path.join(folder, path.basename(name)), name),
  "link to the folder": (name, { folder }) => symlinkSync(folder, name),
  "hard link": (name, { precious }) => linkSync(precious, name),
  pipe: (name) => execFileSync("mkfifo", [name]),
  folder: (name) => mkdirSync(name),
};

/** Every name that some command writes, or once wrote, beside the database. */
const NAMES = [
  ...["", "-wal", "-shm", "-journal", ".lock", ".lock-journal", ".lock.json"].map((ending) => `bridge.db${ending}`),
  ...[".restore", ".restore.partial", ".restoring", ".restoring-wal"].map((ending) => `bridge.db${ending}`),
  ...["copy.db", "copy.db.partial", "copy.db.config.yaml", "backups", "journal"],
];

const COMMANDS: string[][] = [
  ["check"],
  ["config", "show"],
  ["status"],
  ["sync", "orders", "updates"],
  ["sync", "reconcile"],
  ["sync", "--dry-run"],
  ["remap"],
  ["remap", "--dry-run"],
  ["resume", "orders"],
  ["resume", "account"],
  ["approve", "stocks"],
  ["order", "1001"],
  ["quarantine", "list"],
  ["quarantine", "show", "1"],
  ["quarantine", "retry", "--all"],
  ["quarantine", "drop", "1"],
  ["probe", "--yes"],
];

describe("every command", () => {
  it("comes to the configuration through the one function that gives root's rights up", () => {
    const own = globSync("src/cli/*.ts").filter((file) =>
      /\b(loadConfig|parseConfig)\b/.test(readFileSync(file, "utf8")),
    );
    // init makes the configuration, and works as the owner by itself: below.
    // check-instances reads the configurations of others and opens no database of theirs.
    // write-proposal reads the text that it has edited, as a check.
    const names = ["check-instances", "command", "init", "write-proposal"].map((name) => `src/cli/${name}.ts`);
    expect(own.sort()).toEqual(names);
    const text = readFileSync("src/cli/command.ts", "utf8");
    expect(text).toMatch(/loadAsCaller\(call, secret\);\s*becomeOwnerOf\(/);
    // A file that a daemon has accepted is read without a check.
    const seen = globSync("src/cli/*.ts").filter((file) => /\bfindAccepted\b/.test(readFileSync(file, "utf8")));
    expect(seen).toEqual(["src/cli/status.ts"]);
    expect(readFileSync("src/cli/status.ts", "utf8")).toMatch(
      /findAccepted\([\s\S]*becomeOwnerOf\([\s\S]*openReadOnly\(/,
    );
    // What stays root's writes the configuration, and goes near the database as its owner only.
    const asCaller = globSync("src/cli/*.ts").filter((file) => /\bloadAsCaller\b/.test(readFileSync(file, "utf8")));
    expect(asCaller.sort()).toEqual(["src/cli/command.ts", "src/cli/probe.ts"]);
    expect(readFileSync("src/cli/probe.ts", "utf8")).toMatch(/actAsOwnerOf\([\s\S]*exploreService/);
  });
});

describe("what decides where a database lies", () => {
  asRoot("is every folder and every link on the way", () => {
    const base = tempFolder("way");
    const [a, b] = [64_001, 64_003];
    const make = (name: string, uid: number) => {
      mkdirSync(path.join(base, name));
      chownSync(path.join(base, name), uid, uid);
    };
    for (const [name, uid] of [
      ["root", 0],
      ["a", a],
      ["a/of-a", a],
      ["a/of-root", 0],
      ["a/of-b", b],
      ["root/of-b", b],
    ] as const)
      make(name, uid);
    symlinkSync("../a", path.join(base, "root/to-a"));
    symlinkSync(path.join(base, "root"), path.join(base, "a/to-root"));
    symlinkSync("loop", path.join(base, "root/loop"));
    const owners = (name: string) => [...ownersOnTheWay(path.join(base, name)).keys()];
    expect(owners("root")).toEqual([]);
    expect(owners("root/none/yet")).toEqual([]);
    expect(owners("a")).toEqual([a]);
    expect(owners("a/none/yet")).toEqual([a]);
    expect(owners("a/of-a/../of-a")).toEqual([a]);
    expect(owners("a/of-root")).toEqual([a]);
    expect(owners("a/to-root")).toEqual([a]);
    expect(owners("a/to-root/of-b")).toEqual([a, b]);
    expect(owners("a/of-b")).toEqual([a, b]);
    expect(owners("root/to-a/of-a")).toEqual([a]);
    symlinkSync("to-a/../a/of-b", path.join(base, "root/up"));
    expect(owners("root/up")).toEqual([a, b]);
    expect(() => owners("root/loop")).toThrow(/symbolic links/);
  });
});

describe("a command of root's in somebody else's folder", PATIENT, () => {
  asRootWhole.each([
    ["without a name", NAMELESS],
    ["with a name", NAMED],
  ] as const)("works as the owner %s, with a configuration and a secret that are root's alone", async (_, owner) => {
    const shop = await startRootsShop(owner);
    shop.sandbox.service.createOrder();
    expect(await shop.root("check")).toMatchObject({ code: 0 });
    expect(await shop.root("sync", "orders")).toMatchObject({ code: 0 });
    expect(await shop.root("backup", path.join(shop.data, "copy.db"))).toMatchObject({ code: 0 });
    expect(await shop.root("restore", path.join(shop.data, "copy.db"), "--yes")).toMatchObject({ code: 0 });
    expect(await shop.root("status", "--json")).toMatchObject({ code: 2 });
    expect(shop.rows("SELECT number FROM orders")).toHaveLength(1);
    const files = everything(shop.data);
    expect(files.filter((name) => /journal-\d.*\.bin$/.test(name))).toHaveLength(1);
    for (const name of files) expect(statSync(name), name).toMatchObject(owner);
    expect(files.filter((name) => /partial|restoring|new$/.test(name))).toEqual([]);
  });

  asRootWhole(
    "stays root where the folder is root's, and says which users stand in its way where there are several",
    async () => {
      const shop = await startRootsShop({ uid: 0, gid: 0 });
      expect(await shop.root("sync", "orders")).toMatchObject({ code: 0 });
      expect(statSync(path.join(shop.data, "bridge.db"))).toMatchObject({ uid: 0 });
      const inner = path.join(shop.data, "inner");
      mkdirSync(inner);
      chownSync(inner, NAMELESS.uid, NAMELESS.gid);
      chownSync(shop.data, NAMED.uid, NAMED.gid);
      shop.writeConfig({ database: { path: path.join(inner, "bridge.db") } });
      const refused = await shop.root("sync", "orders");
      expect(refused.code).toBe(78);
      expect(refused.err).toContain(`${inner} (64001)`);
      expect(refused.err).toContain("runuser -u");
      expect(readdirSync(inner)).toEqual([]);
    },
  );

  asRootWhole("says whom it runs as where that user may not write", async () => {
    const shop = await startRootsShop();
    await shop.root("sync", "orders");
    const far = tempFolder("far");
    const refused = await shop.root("backup", path.join(far, "copy.db"));
    expect(refused.code).toBe(64);
    expect(refused.err).toContain(`folder ${far}: mode 0700, owner 0:0; this program runs as 64001:64002`);
  });

  asRootWhole("a journal that cannot be written names who owns it and as whom the program runs", async () => {
    const shop = await startRootsShop();
    shop.sandbox.service.createOrder();
    const journal = path.join(shop.data, "journal");
    mkdirSync(journal, { mode: 0o750 });
    const refused = await shop.root("sync", "orders");
    expect(refused.out + refused.err).toContain(
      `(folder ${journal}: mode 0750, owner 0:0; this program runs as 64001:64002)`,
    );
    expect(shop.rows("SELECT state FROM batches")).toEqual([{ state: "stored" }]);
    chownSync(journal, NAMELESS.uid, NAMELESS.gid);
    expect(await shop.root("sync", "orders")).toMatchObject({ code: 0 });
    expect(shop.rows("SELECT state FROM batches")).toEqual([{ state: "confirmed" }]);
  });

  asRootWhole("init makes the database as its owner, the secret as root, and follows no name", async () => {
    const shop = await startRootsShop();
    const treasure = makeTreasure();
    for (const name of ["bridge.db-wal", "bridge.db.lock.json"])
      symlinkSync(treasure.precious, path.join(shop.data, name));
    let file = path.join(shop.folder, "new.yaml");
    const init = (...more: string[]) =>
      startProgram(
        [
          "init",
          "--config",
          file,
          "--base-url",
          shop.sandbox.url,
          "--client-id",
          shop.sandbox.clientId,
          "--database",
          path.join(shop.data, "bridge.db"),
          ...more,
        ],
        { env: { ERP_BRIDGE_CLIENT_SECRET: shop.sandbox.clientSecret } },
      ).exited;
    expect(await init()).toMatchObject({ code: 78 });
    expect(existsSync(file)).toBe(false);
    rmSync(path.join(shop.data, "bridge.db-wal"));
    expect(await init()).toMatchObject({ code: 0 });
    expect(statSync(file)).toMatchObject({ uid: 0 });
    expect(statSync(path.join(shop.folder, "new-client-secret")).mode & 0o777).toBe(0o600);
    expect(statSync(path.join(shop.data, "bridge.db"))).toMatchObject(NAMELESS);
    // What lies in the owner's own folder is the owner's.
    file = path.join(shop.data, "own", "new.yaml");
    expect(await init()).toMatchObject({ code: 0 });
    for (const name of ["", "new.yaml", "new-client-secret"])
      expect(statSync(path.join(shop.data, "own", name))).toMatchObject(NAMELESS);
    treasure.expectUntouched("init");
  });
});

inWhole("platform/fresh-file").describe("a program that root's init starts", PATIENT, () => {
  asRoot("is started as the owner of the database's folder", async () => {
    const shop = await startRootsShop();
    const program = path.join(shop.data, "alert.sh");
    writeFileSync(program, `#!/bin/sh\nid -u >${path.join(shop.data, "who")}\n`, { mode: 0o755 });
    const init = startProgram(
      [
        "init",
        ...["--config", path.join(shop.folder, "new.yaml")],
        ...["--base-url", shop.sandbox.url, "--client-id", shop.sandbox.clientId],
        ...["--database", path.join(shop.data, "bridge.db"), "--alert-command", program],
      ],
      { env: { ERP_BRIDGE_CLIENT_SECRET: shop.sandbox.clientSecret } },
    );
    expect(await init.exited, init.stderr()).toMatchObject({ code: 0 });
    expect(readFileSync(path.join(shop.data, "who"), "utf8")).toBe(`${NAMELESS.uid}\n`);
  });
});

/** Names that take part in no other try: with the database itself in the way no command gets far. */
const SIDE_NAMES = NAMES.filter((name) => !/^bridge\.db(-wal|-shm|-journal|\.lock)?$/.test(name));

function plant(shop: RootsShop, kind: string, names: readonly string[], treasure: Treasure): () => void {
  const planted = names.filter((name) => {
    rmSync(path.join(shop.data, name), { recursive: true, force: true });
    KINDS[kind]?.(path.join(shop.data, name), treasure);
    return true;
  });
  return () => {
    for (const name of planted) rmSync(path.join(shop.data, name), { recursive: true, force: true });
  };
}

inWhole("platform/fresh-file").describe.each(Object.keys(KINDS))(
  "a %s in the place of what root's commands write",
  { timeout: 240_000 },
  (kind) => {
    asRoot("changes nothing outside the folder", async () => {
      const shop = await startRootsShop();
      const treasure = makeTreasure();
      shop.sandbox.service.createOrder();
      await shop.root("sync", "orders");
      const source = path.join(tempFolder("source"), "copy.db");
      chmodSync(path.dirname(source), 0o755);
      chownSync(path.dirname(source), NAMELESS.uid, NAMELESS.gid);
      expect(await shop.root("backup", source)).toMatchObject({ code: 0 });
      const writing = [
        ["sync", "orders"],
        ["backup", path.join(shop.data, "copy.db")],
        ["restore", source, "--yes"],
      ];
      for (const command of kind === "link" ? [...some(COMMANDS, 1), ...writing] : writing) {
        const clean = plant(shop, kind, SIDE_NAMES, treasure);
        await shop.root(...command);
        treasure.expectUntouched(command.join(" "));
        clean();
      }
      // One name alone gets a command further than all at once.
      for (const name of kind === "link" ? some(NAMES, 2) : []) {
        const clean = plant(shop, kind, [name], treasure);
        await shop.root("restore", source, "--yes");
        treasure.expectUntouched(`restore with ${name}`);
        clean();
      }
      // Nothing of that has harmed the database for good. A restore over a link found no database there, and says so until a person ends it.
      await shop.root("resume", "orders");
      expect(await shop.root("restore", source, "--yes")).toMatchObject({ code: 0 });
      expect(shop.rows("SELECT number FROM orders")).toHaveLength(1);
    });
  },
);

/** Puts a link in the place of whatever appears in the folder, as fast as it can. */
const SWAPPER = `
const fs = require("node:fs");
const [folder, precious] = process.argv.slice(1);
process.setgroups([]); process.setgid(64002); process.setuid(64001);
process.stdout.write("ready");
for (let n = 0; ; n++) {
  let names = [];
  try { names = fs.readdirSync(folder, { withFileTypes: true }); } catch {}
  for (const entry of names) {
    if (!entry.isFile() || !/restor|partial|new$|json/.test(entry.name)) continue;
    const name = folder + "/" + entry.name;
    try { fs.renameSync(name, folder + "/taken-" + n); fs.symlinkSync(precious, name); } catch {}
  }
}`;

inWhole("platform/fresh-file").describe(
  "names that are swapped while root's commands run",
  { timeout: 240_000 },
  () => {
    asRoot("lead nowhere", async () => {
      const shop = await startRootsShop();
      const treasure = makeTreasure();
      shop.sandbox.service.createOrder();
      await shop.root("sync", "orders");
      const source = path.join(shop.data, "source.db");
      expect(await shop.root("backup", source)).toMatchObject({ code: 0 });
      const swapper = spawn(process.execPath, ["-e", SWAPPER, shop.data, treasure.precious], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      onTestFinished(() => void swapper.kill("SIGKILL"));
      await new Promise((resolve) => swapper.stdout.once("data", resolve));
      for (let round = 0; round < 3; round++) {
        for (const command of [
          ["restore", source, "--yes"],
          ["backup", path.join(shop.data, `copy-${round}.db`)],
          ["sync", "orders"],
        ]) {
          await shop.root(...command);
          treasure.expectUntouched(`${command[0]}, round ${round}`);
        }
      }
    });
  },
);
