import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { PATIENT } from "../support/program.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { itSome, itWhole, some } from "../support/whole.ts";

const ID = "shop-1";
const SECRET = "canary/7f3a+9b2c&5d1e";
const BASIC = Buffer.from(`${ID}:${SECRET}`).toString("base64");
const FORMS = [
  SECRET,
  encodeURIComponent(SECRET),
  Buffer.from(SECRET).toString("base64"),
  BASIC,
  BASIC.replace(/=+$/, ""),
];

/** A service, or a proxy before it, that tells everybody what it was sent. */
const ECHO = JSON.stringify({
  error: `no: Basic ${BASIC}`,
  headers: { authorization: `Basic ${BASIC}`, "x-client-secret": SECRET },
});
const JSON_TYPE = "application/json";
const FAULTS: readonly FaultAction[] = some<FaultAction>(
  [
    { kind: "status", status: 401, body: ECHO },
    { kind: "status", status: 400, body: `q=${encodeURIComponent(SECRET)}` },
    { kind: "status", status: 500, body: ECHO },
    { kind: "status", status: 429, body: ECHO, headers: { "retry-after": "1" } },
    { kind: "redirect", to: `https://evil.example/?${SECRET}` },
    { kind: "raw", body: ECHO, contentType: JSON_TYPE },
    { kind: "raw", body: `<html>${SECRET} ${BASIC}</html>`, contentType: "text/html" },
    { kind: "raw", body: `{"cut": "${SECRET}`, contentType: JSON_TYPE },
    { kind: "reset" },
    { kind: "gzip" },
  ],
  3,
);

function expectNoSecret(text: string, where: string): void {
  for (const form of FORMS) expect(text.includes(form), `${form} in ${where}:\n${text.slice(0, 4000)}`).toBe(false);
}

/** Every byte that lies beside the configuration, the secret's own file apart. The program is not running. */
function expectNoSecretOnDisk({ folder }: Shop): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === "client-secret") continue;
    expectNoSecret(readFileSync(path.join(entry.parentPath, entry.name), "latin1"), entry.name);
  }
}

describe("the client secret", PATIENT, () => {
  itSome(1)(["sync", "run"])("is in no output, log or file of %s, whatever the service echoes", async (command) => {
    const shop = await startShop({
      sandbox: { clientId: ID, clientSecret: SECRET },
      settings: { log: { level: "debug" } },
    });
    shop.sandbox.service.createOrder();
    shop.sandbox.faults.add({ match: { path: "updates" }, do: { kind: "status", status: 401, body: ECHO } });
    shop.sandbox.faults.add({
      match: { path: "import" },
      times: 3,
      do: { kind: "raw", body: ECHO, contentType: JSON_TYPE },
    });
    for (const action of FAULTS) shop.sandbox.faults.add({ match: { path: "orders" }, do: action });
    for (const action of FAULTS) shop.sandbox.faults.add({ match: { path: "confirm" }, do: action });
    await shop.command("sync", "stocks");
    shop.write("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    if (command === "run") {
      const daemon = shop.start("run");
      await daemon.says("erp-bridge is running");
      await passThrough(shop);
      daemon.child.kill("SIGTERM");
      expect(await daemon.exited).toEqual({ code: 0, signal: null });
      expectNoSecret(daemon.stdout() + daemon.stderr(), "the log");
    } else {
      await passThrough(shop);
    }
    for (const args of [
      ["status"],
      ["status", "--json"],
      ["quarantine", "list"],
      ["config", "show"],
      ["check"],
      ["resume", "orders"],
    ]) {
      const { out, err } = await shop.command(...args);
      expectNoSecret(out + err, args.join(" "));
    }
    expect(shop.sandbox.ledger.ofKind("orders").length).toBeGreaterThan(FAULTS.length);
    expectNoSecretOnDisk(shop);
  });

  itWhole("is not among what other users of the machine can see", async () => {
    const shop = await startShop({ sandbox: { clientId: ID, clientSecret: SECRET } });
    const daemon = shop.start("run");
    await daemon.says("erp-bridge is running");
    const shown = execFileSync("tr", ["\\0", " "], { input: readFileSync(`/proc/${daemon.pid}/cmdline`) }).toString();
    expect(shown).toContain("run --config");
    expectNoSecret(shown, "the command line");
    await daemon.kill();
  });
});

/** One pass of everything for each fault, its holds lifted in between. */
async function passThrough(shop: Shop): Promise<void> {
  for (let pass = 0; pass <= 2 * FAULTS.length; pass++) {
    const { out, err } = await shop.command("sync", "orders", "updates", "stocks");
    expectNoSecret(out + err, "sync");
    const status = await shop.command("status");
    expectNoSecret(status.out, "status");
    shop.write("DELETE FROM holds");
  }
}
