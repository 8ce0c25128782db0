import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { requirePlace, requireReadable } from "../../src/cli/given-path.ts";
import { m } from "../../src/messages/messages.ts";
import { runCommand, startShop } from "../support/shop.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

/** Rights do not bind root. */
const isRoot = process.geteuid?.() === 0;

describe("a path on the command line that cannot be used", () => {
  itWhole("is a wrong call of backup, whatever is wrong with it, and leaves nothing", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    const before = readdirSync(shop.folder);
    const at = (...parts: string[]) => path.join(shop.folder, ...parts);
    for (const [file, words] of [
      [at("none", "copy.db"), `the folder ${at("none")} is not there`],
      [at("client-secret", "copy.db"), "client-secret"],
      ...[300, 256, 255, 240, 223].map(
        (length) => [at("a".repeat(length)), "longer than the file system allows"] as const,
      ),
      [shop.folder, "exists already"],
    ] as const) {
      const { code, err } = await shop.command("backup", file);
      expect([file, code]).toEqual([file, 64]);
      expect(err).toContain(words);
    }
    expect(readdirSync(shop.folder)).toEqual(before);
    expect(await shop.command("backup", at("a".repeat(222)))).toMatchObject({ code: 0 });
    const { out } = await shop.command("backup", at("none", "copy.db"), "--json");
    expect(JSON.parse(out)).toMatchObject({ error: { code: "usage" } });
  });

  itWhole("is a wrong call of restore and of sync --orders", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    mkdirSync(path.join(shop.folder, "folder"));
    for (const name of ["none.db", "folder", "client-secret/copy.db"]) {
      const file = path.join(shop.folder, name);
      expect(await shop.command("restore", file, "--yes")).toMatchObject({ code: 64 });
      expect(await shop.command("sync", "updates", "--orders", file)).toMatchObject({ code: 64 });
    }
  });

  itWhole("is a wrong call of init, before the service is asked", async () => {
    const shop = await startShop();
    const given = ["--base-url", shop.sandbox.url, "--client-id", shop.sandbox.clientId];
    const secret = ["--client-secret-file", path.join(shop.folder, "client-secret")];
    const under = path.join(shop.folder, "client-secret", "config.yaml");
    const folder = tempFolder("init");
    const asked = () => shop.sandbox.ledger.entries.length;
    const before = asked();
    const { code, err } = await runCommand(["init", ...given, ...secret, "--config", under]);
    expect(code).toBe(64);
    expect(err).toContain("ENOTDIR");
    expect(asked()).toBe(before);
    const config = ["--config", path.join(folder, "config.yaml")];
    const database = ["--database", path.join(shop.folder, "client-secret", "bridge.db")];
    expect(await runCommand(["init", ...given, ...secret, ...config, ...database])).toMatchObject({ code: 64 });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is a wrong call of mirror init, and of the sandbox", async () => {
    const none = path.join(tempFolder("none"), "none");
    const url = ["--url", "postgres://user:secret@127.0.0.1:1/db"];
    expect(await runCommand(["mirror", "init", ...url, "--ca-file", none])).toMatchObject({ code: 64 });
    expect(await runCommand(["sandbox", "--port", "0", "--switches", none])).toMatchObject({ code: 64 });
  });

  it("is a wrong call of each command where it is relative and the working folder was removed", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    const gone = Object.assign(new Error("ENOENT: no such file or directory, uv_cwd"), {
      code: "ENOENT",
      syscall: "uv_cwd",
    });
    vi.spyOn(process, "cwd").mockImplementation(() => {
      throw gone;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const url = ["--url", "postgres://user:secret@127.0.0.1:1/db"];
    for (const answer of [
      await shop.command("backup", "copy.db"),
      await shop.command("restore", "copy.db", "--yes"),
      await runCommand(["init", "--config", "config.yaml", "--base-url", "https://shop.example"]),
      await runCommand(["mirror", "init", ...url, "--ca-file", "ca.pem"]),
      await runCommand(["sandbox", "--port", "0", "--switches", "switches"]),
    ]) {
      expect(answer).toMatchObject({ code: 64, err: expect.stringContaining("The working folder was removed") });
    }
  });

  it.skipIf(isRoot)("is one to which this user has no right", () => {
    const folder = tempFolder("rights");
    const file = path.join(folder, "copy.db");
    writeFileSync(file, "");
    chmodSync(file, 0);
    const usage = expect.objectContaining({ code: "usage" });
    expect(() => requireReadable(file, m.database.copying({ file }))).toThrow(usage);
    chmodSync(folder, 0o500);
    expect(() => requirePlace(path.join(folder, "new", "config.yaml"))).toThrow(usage);
    chmodSync(folder, 0o700);
  });

  it("is none where it names the configuration: that ends with the code of the configuration", async () => {
    expect(await runCommand(["check", "--config", path.join(tempFolder("none"), "none.yaml")])).toMatchObject({
      code: 78,
    });
  });
});
