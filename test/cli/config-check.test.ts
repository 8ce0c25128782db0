import { chmodSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { loadConfig } from "../../src/config/load.ts";
import { acquireInstanceLock } from "../../src/database/file/instance-lock.ts";
import { runCommand, startShop } from "../support/shop.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

/** As systemd starts what ExecReload= names: without the credentials, beside a daemon. */
const RELOADED = { MAINPID: "17" };

/** Root may read everything: as nobody in particular it may not. */
function asNobody<Result>(act: () => Result): Result {
  if (process.geteuid?.() !== 0) return act();
  process.seteuid?.(64_001);
  try {
    return act();
  } finally {
    process.seteuid?.(0);
  }
}

describe("config check", () => {
  itWhole("accepts what the daemon would, without the secret that systemd hands to the daemon alone", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    const service = { base_url: shop.sandbox.url, client_id: shop.sandbox.clientId };
    writeFileSync(shop.configFile, stringify({ service, database: { path: "bridge.db" } }));
    const check = () => runCommand(["config", "check", "--config", shop.configFile], RELOADED);
    expect(await check()).toMatchObject({ code: 0, out: `${shop.configFile} is valid` });
    expect((await shop.command("check")).code).toBe(78);

    writeFileSync(
      shop.configFile,
      stringify({ service: { ...service, client_id: "another" }, database: { path: "bridge.db" } }),
    );
    expect(await check()).toMatchObject({ code: 78, err: expect.stringContaining("another account") });
    writeFileSync(shop.configFile, stringify({ service, database: { path: "elsewhere.db" } }));
    expect(await check()).toMatchObject({ code: 78, err: expect.stringContaining("There is no database at") });
    // Outside of a reload nobody knows whether a daemon runs.
    const asked = await runCommand(["config", "check", "--config", shop.configFile], {});
    expect(asked).toMatchObject({
      code: 0,
      out: expect.stringMatching(/elsewhere\.db yet, so a running daemon would not/),
    });
    writeFileSync(shop.configFile, stringify({ service: { ...service, client_secret: "s" } }));
    expect(await check()).toMatchObject({ code: 78, err: expect.stringContaining("must have 4 to 4000 characters") });
  });

  it("leaves a secret to the daemon only where this user may not read it", () => {
    const folder = tempFolder();
    chmodSync(folder, 0o755);
    const [file, secret] = [path.join(folder, "config.yaml"), path.join(folder, "client-secret")];
    const service = { base_url: "https://shop.example", client_id: "shop-1", client_secret_file: "client-secret" };
    writeFileSync(file, stringify({ service }), { mode: 0o644 });
    writeFileSync(secret, "s3cret-of-shop\n", { mode: 0o600 });
    chmodSync(secret, 0);
    const look = (need: "needed" | "optional") => () => asNobody(() => loadConfig({ file, env: {}, secret: need }));
    expect(look("needed")).toThrow(/names a file that may not be read by this user/);
    expect(look("optional")().config.service.client_secret).toBe("");
    rmSync(secret);
    expect(look("optional")).toThrow(/names a file that does not exist/);
  });

  itWhole("refuses while the daemon works with an older secret than the file's, and names the way", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    const file = path.join(shop.folder, "client-secret");
    const holdSince = (atMs: number) =>
      acquireInstanceLock(shop.database, { command: "run", secret: { file, atMs } }).release;
    const check = () => runCommand(["config", "check", "--config", shop.configFile], RELOADED);
    const releaseNew = holdSince(Date.now());
    expect(await check()).toMatchObject({ code: 0 });
    releaseNew();
    const releaseOld = holdSince(Date.now() - 60_000);
    onTestFinished(releaseOld);
    expect(await check()).toMatchObject({ code: 78, err: expect.stringContaining("systemctl restart erp-bridge") });
  });
});
