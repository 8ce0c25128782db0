import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { proposedPlaces } from "../../src/cli/init-answers.ts";
import { loadConfig } from "../../src/config/load.ts";
import { openReadOnly } from "../../src/database/connection.ts";
import { main } from "../../src/main.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { startReceiver } from "../support/receiver.ts";
import { tempFolder } from "../support/temp.ts";
import { typingTerminal } from "../support/typing.ts";
import { itWhole } from "../support/whole.ts";

const SECRET = "canary-Zq81-x7";

async function setUp(secret = SECRET, options: SandboxOptionsPatch = {}) {
  const sandbox = await startSandbox({ clientId: "shop-1", clientSecret: secret, options });
  onTestFinished(() => sandbox.close());
  const folder = tempFolder();
  const file = path.join(folder, "config.yaml");
  const flags = ["init", "--config", file, "--base-url", sandbox.url, "--client-id", "shop-1"];
  return { sandbox, folder, file, flags };
}

const modeOf = (file: string) => statSync(file).mode & 0o777;

describe("init without anybody to ask", () => {
  itWhole(
    "writes a configuration that loads, the secret for its owner alone and an empty database, and says what comes next",
    async () => {
      const { folder, file, flags, sandbox } = await setUp();
      const terminal = typingTerminal({ piped: `${SECRET}\n` });
      expect(await main(flags, terminal)).toBe(0);
      expect(readdirSync(folder).sort()).toEqual(["bridge.db", "client-secret", "config.yaml"]);
      expect(modeOf(path.join(folder, "client-secret"))).toBe(0o600);
      expect(modeOf(file) & 0o007).toBe(0);
      const loaded = loadConfig({ file, env: {} });
      expect(loaded.warnings).toEqual([]);
      expect(loaded.config).toMatchObject({
        service: { base_url: sandbox.url, client_id: "shop-1", client_secret: SECRET },
        database: { path: path.join(folder, "bridge.db") },
        backup: { dir: path.join(folder, "backups") },
      });
      expect(readFileSync(file, "utf8")).toContain("# The list of orders in a batch.");
      const store = openReadOnly(loaded.config.database.path);
      expect(store.db.prepare("SELECT count(*) AS n FROM orders").get()).toEqual({ n: 0 });
      store.close();
      expect(terminal.stdout.at(-1)).toBe(`Next: erp-bridge sync orders updates --config ${file}`);
      expect(terminal.seen()).not.toContain(SECRET);
      expect(readFileSync(file, "utf8")).not.toContain(SECRET);
      expect(sandbox.ledger.ofKind("orders")).toEqual([]);
      expect(await main(["sync", "orders", "--config", file], typingTerminal())).toBe(0);
    },
  );

  itWhole(
    "writes a configuration that fits a service with other names and another form of since, and pulls nothing",
    async () => {
      const { file, flags, sandbox } = await setUp(SECRET, {
        shape: { updates: ["changes"], snapshot: ["data", "order"] },
        updates: { since: "unix", scope: "all" },
      });
      sandbox.service.changeOrder(sandbox.service.createOrder(), { status: "paid" });
      const terminal = typingTerminal({ piped: SECRET });
      expect(await main(flags, terminal)).toBe(0);
      const { updates } = loadConfig({ file, env: {} }).config;
      expect(updates).toMatchObject({ since: "unix", changes: "$.changes", snapshot: "$.data.order" });
      expect(terminal.stdout.join("\n")).toContain("changes: $.changes");
      expect(sandbox.ledger.ofKind("orders")).toEqual([]);
      expect(await main(["check", "--online", "--config", file], typingTerminal())).not.toBe(77);
    },
  );

  itWhole("takes the secret from the environment or from its own file, and leaves that file alone", async () => {
    const { folder, file, flags } = await setUp();
    const secretFile = path.join(folder, "given");
    writeFileSync(secretFile, `${SECRET}\n`, { mode: 0o400 });
    expect(await main([...flags, "--client-secret-file", secretFile], typingTerminal())).toBe(0);
    expect(modeOf(secretFile)).toBe(0o400);
    expect(loadConfig({ file, env: {} }).config.service.client_secret_file).toBe(secretFile);

    const other = path.join(folder, "shop-b.yaml");
    const terminal = typingTerminal({ env: { ERP_BRIDGE_CLIENT_SECRET: SECRET } });
    expect(await main(flags.with(2, other), terminal)).toBe(0);
    expect(modeOf(path.join(folder, "shop-b-client-secret"))).toBe(0o600);
    expect(existsSync(path.join(folder, "shop-b.db"))).toBe(true);
  });

  it("proposes the places that the service's units name, an instance's own folder among them", () => {
    expect(proposedPlaces("/etc/erp-bridge/config.yaml")).toEqual({
      secretFile: "/etc/erp-bridge/client-secret",
      database: "/var/lib/erp-bridge/bridge.db",
    });
    expect(proposedPlaces("/etc/erp-bridge/north.yaml")).toEqual({
      secretFile: "/etc/erp-bridge/north-client-secret",
      database: "/var/lib/erp-bridge/north/bridge.db",
    });
  });

  itWhole("names everything that is missing or wrong at once, and writes nothing", async () => {
    const { folder, file } = await setUp();
    const terminal = typingTerminal({ piped: "bad\u0000secret" });
    const flags = ["init", "--config", file, "--base-url", "http://shop.example.com", "--alert-webhook", "nowhere"];
    expect(await main(flags, terminal)).toBe(64);
    const said = terminal.stderr.join("\n");
    for (const flag of [
      "--base-url must begin with https://",
      "--client-id is missing",
      "--alert-webhook",
      "standard input holds a character",
    ]) {
      expect(said).toContain(flag);
    }
    expect(said).not.toContain("secret\u0000");
    expect(readdirSync(folder)).toEqual([]);
  });

  itWhole("never writes over anything, and with --force keeps what was there", async () => {
    const { folder, file, flags } = await setUp();
    writeFileSync(file, "precious: 1\n");
    expect(await main(flags, typingTerminal({ piped: SECRET }))).toBe(64);
    expect(readFileSync(file, "utf8")).toBe("precious: 1\n");
    expect(readdirSync(folder)).toEqual(["config.yaml"]);
    writeFileSync(path.join(folder, "client-secret"), "old-secret\n");
    const terminal = typingTerminal({ env: { ERP_BRIDGE_CLIENT_SECRET: SECRET } });
    expect(await main([...flags, "--force"], terminal)).toBe(0);
    const kept = readdirSync(folder).filter((name) => name.includes(".before-"));
    expect(kept.map((name) => readFileSync(path.join(folder, name), "utf8")).sort()).toEqual([
      "old-secret\n",
      "precious: 1\n",
    ]);
    expect(modeOf(path.join(folder, "client-secret"))).toBe(0o600);
  });

  itWhole(
    "refuses a new secret where one is kept, and a database of another account, before it writes the configuration",
    async () => {
      const { folder, file, flags, sandbox } = await setUp();
      writeFileSync(path.join(folder, "client-secret"), "old-secret\n");
      const terminal = typingTerminal({ env: { ERP_BRIDGE_CLIENT_SECRET: SECRET } });
      expect(await main(flags, terminal)).toBe(64);
      expect(terminal.stderr.join()).toContain("client-secret is there already");
      expect(existsSync(file)).toBe(false);
      const foreign = [
        "init",
        "--config",
        path.join(folder, "b.yaml"),
        "--base-url",
        sandbox.url,
        "--client-id",
        "shop-2",
      ];
      const second = typingTerminal({ piped: SECRET });
      expect(await main([...foreign, "--database", path.join(folder, "bridge.db")], second)).toBe(78);
      expect(existsSync(path.join(folder, "b.yaml"))).toBe(false);
    },
  );

  itWhole("writes what it was given although the service refuses it, says so and ends with 77", async () => {
    const { file, flags } = await setUp("another-secret");
    const terminal = typingTerminal({ piped: SECRET });
    expect(await main(flags, terminal)).toBe(77);
    expect(existsSync(file)).toBe(true);
    expect(terminal.stdout.join("\n")).toContain("FAIL orders: credentials");
    expect(terminal.stdout.at(-1)).toBe(`When that is corrected: erp-bridge check --online --config ${file}`);
    expect(terminal.seen()).not.toContain(SECRET);
  });

  itWhole("sends a test message to each receiver and tells which did not take it", async () => {
    const receiver = await startReceiver();
    const { folder, flags } = await setUp();
    const program = path.join(folder, "tell");
    writeFileSync(program, "#!/bin/sh\nexit 7\n");
    chmodSync(program, 0o755);
    const terminal = typingTerminal({ piped: SECRET });
    const exit = await main(
      [...flags, "--json", "--alert-webhook", `${receiver.url}/t0ken`, "--alert-command", program],
      terminal,
    );
    expect(exit).toBe(2);
    expect(receiver.messages()).toMatchObject([{ kind: "test" }]);
    expect(JSON.parse(terminal.stdout.join())).toMatchObject({
      version: 1,
      ok: false,
      alerts: [
        { channel: "webhook", ok: true },
        { channel: "command", ok: false, message: "It ended with 7." },
      ],
    });
    expect(terminal.seen()).not.toContain("t0ken");
  });

  it("does not take a secret from the command line, and does not repeat it", async () => {
    const { flags } = await setUp();
    for (const given of [["--client-secret", SECRET], [`--client-secret=${SECRET}`]]) {
      const terminal = typingTerminal();
      expect(await main([...flags, ...given], terminal)).toBe(64);
      expect(terminal.seen()).not.toContain(SECRET);
    }
  });
});

describe("init on a terminal", () => {
  it("asks for what is not given, and again with the reason where an answer is wrong", async () => {
    const receiver = await startReceiver();
    const { sandbox, folder, file } = await setUp();
    const terminal = typingTerminal({
      answers: ["example.com", sandbox.url, "", "shop-1", "abc", SECRET, "", "/no/such/program", receiver.url],
    });
    expect(await main(["init", "--config", file], terminal)).toBe(0);
    expect(terminal.stderr.join("\n")).toMatch(
      /"example.com" .*address[\s\S]*"" is needed[\s\S]*the secret must have[\s\S]*"\/no\/such\/program" is neither/,
    );
    expect(loadConfig({ file, env: {} }).config).toMatchObject({
      service: { base_url: sandbox.url, client_secret: SECRET },
      database: { path: path.join(folder, "bridge.db") },
      alerts: { webhook: receiver.url },
    });
    expect(receiver.messages()).toMatchObject([{ kind: "test" }]);
    expect(terminal.seen()).not.toContain(SECRET);
  });

  itWhole("asks for refused credentials again before anything is written", async () => {
    const { file, flags } = await setUp();
    const terminal = typingTerminal({ answers: ["wrong-secret", "", "", "y", "shop-1", SECRET] });
    expect(await main(flags, terminal)).toBe(0);
    expect(loadConfig({ file, env: {} }).config.service.client_secret).toBe(SECRET);
    expect(terminal.seen()).not.toContain("wrong-secret");
  });

  itWhole("shows nothing of the secret on a real terminal", async () => {
    const python = spawnSync("python3", ["-c", "import pty"]).status === 0;
    if (!python) return;
    const sandbox = await startSandbox({ clientId: "shop-1", clientSecret: SECRET });
    onTestFinished(() => sandbox.close());
    const folder = tempFolder();
    const typing = `
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], sys.argv[2], "init", "--config", sys.argv[3], "--base-url", "http://127.0.0.1:1", "--client-id", "x"])
seen = b""
def until(text):
    global seen
    while text not in seen:
        seen += os.read(fd, 4096)
until(b"not shown")
os.write(fd, b"${SECRET}\\r")
until(b"Database file")
os.write(fd, b"\\x03")
try:
    while True:
        part = os.read(fd, 4096)
        if not part: break
        seen += part
except OSError: pass
status = os.waitpid(pid, 0)[1]
sys.stdout.write(seen.decode() + "\\nexit " + str(os.waitstatus_to_exitcode(status)))
`;
    const bin = path.resolve(import.meta.dirname, "../../bin/erp-bridge.mjs");
    const seen = execFileSync("python3", ["-c", typing, process.execPath, bin, path.join(folder, "config.yaml")], {
      encoding: "utf8",
    });
    expect(seen).toContain("Database file");
    expect(seen).not.toContain(SECRET);
    expect(seen).not.toContain("canary");
    expect(seen).toMatch(/Stopped; nothing more was done\.[\s\S]*exit 1$/);
    expect(readdirSync(folder)).toEqual([]);
  });
});
