import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { checkInstances } from "../../src/cli/check-instances.ts";
import { findStaleCredential, handedOverSecret } from "../../src/config/credential.ts";
import { loadConfig } from "../../src/config/load.ts";
import { main } from "../../src/main.ts";
import { startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { saying } from "../support/messages.ts";
import { PATIENT } from "../support/program.ts";
import { startShop } from "../support/shop.ts";
import { tempFolder } from "../support/temp.ts";
import { typingTerminal } from "../support/typing.ts";
import { itWhole } from "../support/whole.ts";

type Text = Record<string, Record<string, unknown>>;

function instances(...texts: [string, Text][]): string {
  const folder = tempFolder();
  for (const [name, { service, ...rest }] of texts) {
    const own = { base_url: "https://shop.example", client_id: name, client_secret: "s3cret-of-shop", ...service };
    const text = { service: own, database: { path: `${name}/bridge.db` }, http: { listen: "off" }, ...rest };
    writeFileSync(path.join(folder, `${name}.yaml`), stringify(text), { mode: 0o600 });
  }
  return folder;
}

function found(folder: string, name: string): { message: string; exitCode: number }[] {
  const loaded = loadConfig({ file: path.join(folder, `${name}.yaml`), env: {} });
  return checkInstances(loaded, {}).map(({ message, exitCode }) => ({
    message: String(message).replaceAll(folder, "FOLDER"),
    exitCode,
  }));
}

describe("the instances of one machine", () => {
  it("are no matter where there is one, and well where nothing is shared", () => {
    expect(found(instances(["north", {}]), "north")).toEqual([]);
    expect(found(instances(["north", {}], ["south", {}]), "north")).toEqual([
      { message: "account, database, folders and port are shared with none of: south.yaml", exitCode: 0 },
    ]);
  });

  it("are one where a name is a link to the other", () => {
    const folder = instances(["north", {}]);
    symlinkSync("north.yaml", path.join(folder, "config.yaml"));
    expect(found(folder, "config")).toEqual([]);
    expect(found(folder, "north")).toEqual([]);
  });

  it.each<[string, Text, RegExp, number]>([
    [
      "account",
      { service: { client_id: "north" } },
      /names the same account: each instance would take the other's/,
      78,
    ],
    ["database", { database: { path: "north/../north/bridge.db" } }, /names the same database/, 78],
    ["port", { http: { listen: "127.0.0.1:9500" } }, /listens on 127.0.0.1:9500 as well/, 2],
    ["journal", { backup: { journal: "shared", dir: "south" } }, /keeps its journal in .*shared as well/, 2],
    ["copies", { backup: { dir: "copies" } }, /keeps its copies in .*copies as well/, 2],
  ])("must not share their %s", (_, south, message, exitCode) => {
    const own = { http: { listen: "127.0.0.1:9500" }, backup: { journal: "shared", dir: "copies" } };
    const folder = instances(["north", own], ["south", south]);
    expect(found(folder, "north")).toEqual([{ message: expect.stringMatching(message), exitCode }]);
  });

  it("are compared without their secrets, and other files beside them are left alone", () => {
    const folder = instances(["north", {}], ["south", {}]);
    const text = "service: { base_url: https://shop.example, client_id: north, client_secret_file: /nowhere }\n";
    writeFileSync(path.join(folder, "south.yaml"), text);
    writeFileSync(path.join(folder, "notes.yaml"), "- something: else\n");
    mkdirSync(path.join(folder, "folder.yaml"));
    expect(found(folder, "north")).toMatchObject([
      { message: expect.stringContaining("south.yaml names the same account") },
    ]);
  });

  itWhole("get a port of their own from init", async () => {
    const sandbox = await startSandbox({ clientId: "shop-1", clientSecret: "s3cret-of-shop" });
    try {
      const folder = tempFolder();
      const make = async (name: string) => {
        const file = path.join(folder, `${name}.yaml`);
        const argv = ["init", "--config", file, "--base-url", sandbox.url, "--client-id", "shop-1"];
        await main(argv, typingTerminal({ piped: "s3cret-of-shop\n" }));
        return loadConfig({ file, env: {} }).config.http.listen?.port;
      };
      expect([await make("config"), await make("north"), await make("south")]).toEqual([9469, 9470, 9471]);
    } finally {
      await sandbox.close();
    }
  });

  itWhole("of one account are not started twice, and the second one says so", PATIENT, async () => {
    const first = await startShop();
    const second = await startShop();
    const daemon = first.start("run");
    await daemon.says("erp-bridge is running");
    second.writeConfig({ service: { base_url: first.sandbox.url, client_id: first.sandbox.clientId } });
    const other = second.start("run");
    expect(await other.exited).toMatchObject({ code: 75 });
    expect(other.stderr()).toContain("Another erp-bridge of this machine works for");
    expect(first.sandbox.ledger.ofKind("orders").length).toBeGreaterThan(0);
    const again = first.start("run");
    expect(await again.exited).toMatchObject({ code: 75 });
    expect(again.stderr()).toContain(`run, process ${daemon.child.pid}, since`);
    daemon.child.kill("SIGKILL");
    await daemon.exited;
    const free = second.start("run");
    await free.says("erp-bridge is running");
    free.child.kill("SIGTERM");
    expect(await free.exited).toMatchObject({ code: 0 });
  });
});

describe("a Client Secret that systemd has handed over", () => {
  const config = (file: string) => ({ config: { service: { client_secret_file: file } } }) as never;

  it("is old once its file was written again, and only then", () => {
    const [folder, copies] = [tempFolder(), tempFolder()];
    const [file, copy] = [path.join(folder, "client-secret"), path.join(copies, "client-secret")];
    for (const each of [file, copy]) writeFileSync(each, "s3cret-of-shop\n");
    const env = { CREDENTIALS_DIRECTORY: copies };
    const now = Date.now() / 1000;
    utimesSync(copy, now, now);
    utimesSync(file, now - 60, now - 60);
    expect(findStaleCredential(handedOverSecret(config(copy), env, folder))).toBeUndefined();
    utimesSync(file, now + 60, now + 60);
    expect(findStaleCredential(handedOverSecret(config(copy), env, folder))).toMatchObject({
      code: "config_invalid",
      hint: saying("systemctl restart erp-bridge"),
    });
    expect(findStaleCredential(handedOverSecret(config(file), env, folder))).toBeUndefined();
    expect(findStaleCredential(handedOverSecret(config(copy), {}, folder))).toBeUndefined();
    expect(findStaleCredential(handedOverSecret(config(copy), env, "/nowhere"))).toBeUndefined();
  });
});
