import { spawn, spawnSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { sendTestAlerts } from "../../src/daemon/ask-outside.ts";
import { configFor, startTestBridge } from "../support/bridge.ts";
import { startReceiver } from "../support/receiver.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const PAGE = readFileSync("docs/alerts.md", "utf8");
const document = JSON.parse(readFileSync("docs/alert.schema.json", "utf8")) as {
  required: string[];
  properties: object;
};
const schema = z.fromJSONSchema(document as Parameters<typeof z.fromJSONSchema>[0]);
const REFUSE = {
  match: { path: "orders" as const },
  times: "forever" as const,
  do: { kind: "status" as const, status: 401 },
};
const hasCurl = spawnSync("curl", ["--version"]).status === 0;

const TEXT = "Заказы: остановлено с 12:00.\n«Вторая» строка & знаки = %41";
const SENT = { version: 1, program: "erp-bridge", kind: "problem", subject: "hold orders credentials", text: TEXT };
const ENV = {
  PATH: process.env["PATH"],
  ERP_BRIDGE_ALERT_KIND: "problem",
  ERP_BRIDGE_ALERT_SUBJECT: "hold orders credentials",
  ERP_BRIDGE_HOST: "shop-server",
  ERP_BRIDGE_INSTANCE: "north",
  ERP_BRIDGE_ALERT_JSON: JSON.stringify(SENT),
};

/** Runs a ready program as the daemon would. Gives its exit code. */
function runReady(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number | null> {
  const child = spawn(`examples/alerts/${name}`, args, {
    env: { ...ENV, ...env },
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.stdin.end(`${TEXT}\n`);
  return new Promise((resolve) => child.once("exit", resolve));
}

function fileOf(lines: readonly string[]): string {
  const file = path.join(tempFolder("alert"), "secret.curl");
  writeFileSync(file, `${lines.join("\n")}\n`, { mode: 0o600 });
  return file;
}

describe("docs/alerts.md", () => {
  it("has the schema of every message that is sent, and its example fits", async () => {
    const receiver = await startReceiver();
    const test = await startTestBridge({ settings: { alerts: { webhook: receiver.url } } });
    test.sandbox.faults.add(REFUSE);
    await test.run("orders");
    await test.bridge.watch.look();
    test.sandbox.faults.clear();
    test.clock.advance(360_000);
    await test.run("orders");
    await test.bridge.watch.look();
    const tried = configFor(test.sandbox, tempFolder("alerts"), { alerts: { webhook: receiver.url } });
    await sendTestAlerts(tried, test.clock);
    const messages: object[] = receiver.messages();
    expect(receiver.messages().map(({ kind }) => kind)).toEqual(["problem", "recovery", "test"]);
    const example = JSON.parse(/```json\n([\s\S]*?)```/.exec(PAGE)?.[1] ?? "") as object;
    for (const message of [...messages, example]) {
      expect(schema.safeParse(message).error).toBeUndefined();
      expect(Object.keys(message).sort()).toEqual([...document.required].sort());
      expect(Object.keys(message).sort()).toEqual(Object.keys(document.properties).sort());
    }
    expect(schema.safeParse({ ...example, kind: "alarm" }).success).toBe(false);
  });

  itWhole("lists what a program is given, and nothing else reaches it", async () => {
    const folder = tempFolder("alert");
    const [program, file] = [path.join(folder, "tell"), path.join(folder, "told")];
    writeFileSync(program, `#!/bin/sh\n{ cat; env; } > "${file}"\n`);
    chmodSync(program, 0o755);
    const test = await startTestBridge({ settings: { alerts: { command: [program] } } });
    test.sandbox.faults.add(REFUSE);
    await test.run("orders");
    await test.bridge.watch.look();
    const [text = "", ...lines] = readFileSync(file, "utf8").split("\n");
    const env = Object.fromEntries(
      lines.filter((line) => line !== "").map((line) => line.split(/=(.*)/s) as [string, string]),
    );
    const message = JSON.parse(env["ERP_BRIDGE_ALERT_JSON"] ?? "") as Record<string, string>;
    expect(schema.safeParse(message).success).toBe(true);
    const rows = [...PAGE.matchAll(/^\| `(ERP_BRIDGE_\w+)` \| (?:`(\w+)`|the whole)/gm)];
    const ours = Object.keys(env).filter((name) => name.startsWith("ERP_BRIDGE_"));
    expect(rows.map(([, name]) => name).sort()).toEqual(ours.sort());
    for (const [, name = "", property] of rows) {
      if (property !== undefined) expect(env[name], name).toBe(message[property]);
    }
    expect(text).toBe(message["text"]);
    const passed: readonly string[] = /^\| (`PATH`[^|]*) \|/m.exec(PAGE)?.[1]?.match(/\w+/g) ?? [];
    const others = Object.keys(env).filter((name) => !ours.includes(name) && !["PWD", "SHLVL", "_"].includes(name));
    expect(others.filter((name) => !passed.includes(name))).toEqual([]);
  });
});

describe.runIf(hasCurl)("examples/alerts", () => {
  it("telegram.sh sends the text to the chat, with the token in no argument", async () => {
    const receiver = await startReceiver();
    receiver.answer(200);
    const secret = fileOf([`url = "${receiver.url}/bot1:t0ken/sendMessage"`, 'data = "chat_id=-100"']);
    expect(await runReady("telegram.sh", [secret])).toBe(0);
    const [call] = receiver.received;
    expect(call).toMatchObject({ method: "POST", url: "/bot1:t0ken/sendMessage" });
    expect(Object.fromEntries(new URLSearchParams(call?.body))).toEqual({ chat_id: "-100", text: `${TEXT}\n` });
  });

  it("ntfy.sh sends the text with a priority, and with the token that its file has", async () => {
    const receiver = await startReceiver();
    receiver.answer(200);
    const secret = fileOf([`url = "${receiver.url}/shop"`, 'header = "Authorization: Bearer tk_1"']);
    expect(await runReady("ntfy.sh", [secret])).toBe(0);
    expect(await runReady("ntfy.sh", [secret], { ERP_BRIDGE_ALERT_KIND: "recovery" })).toBe(0);
    expect(receiver.received).toMatchObject([
      { method: "POST", url: "/shop", body: `${TEXT}\n`, headers: { priority: "high", authorization: "Bearer tk_1" } },
      { headers: { priority: "default", title: "erp-bridge on shop-server (north)" } },
    ]);
  });

  itWhole("webhook.sh posts the JSON with the headers that its file has", async () => {
    const receiver = await startReceiver();
    receiver.answer(202);
    const secret = fileOf([`url = "${receiver.url}/in"`, 'header = "X-Api-Key: k3y"']);
    expect(await runReady("webhook.sh", [secret])).toBe(0);
    expect(receiver.messages()).toEqual([SENT]);
    expect(receiver.received[0]?.headers).toMatchObject({
      "x-api-key": "k3y",
      "content-type": "application/json; charset=utf-8",
    });
  });

  it.each(["telegram.sh", "ntfy.sh", "webhook.sh"])(
    "%s fails where the receiver refuses, so that it is sent again",
    async (name) => {
      const receiver = await startReceiver();
      receiver.answer(403);
      expect(await runReady(name, [fileOf([`url = "${receiver.url}/x"`])])).not.toBe(0);
    },
  );
});

describe("examples/alerts/mail.sh", () => {
  it("hands a whole message to sendmail, and fails where that does", async () => {
    const folder = tempFolder("mail");
    const [sendmail, file] = [path.join(folder, "sendmail"), path.join(folder, "mail")];
    writeFileSync(sendmail, `#!/bin/sh\necho "$@" > "${file}"; cat >> "${file}"; exit "\${FAILS:-0}"\n`, {
      mode: 0o755,
    });
    expect(await runReady("mail.sh", ["admin@shop.example"], { SENDMAIL: sendmail })).toBe(0);
    expect(readFileSync(file, "utf8").split("\n")).toEqual([
      "-i -t",
      "To: admin@shop.example",
      "Subject: erp-bridge on shop-server (north): problem, hold orders credentials",
      "MIME-Version: 1.0",
      "Content-Type: text/plain; charset=utf-8",
      "Content-Transfer-Encoding: 8bit",
      "",
      ...TEXT.split("\n"),
      "",
    ]);
    expect(await runReady("mail.sh", ["admin@shop.example"], { SENDMAIL: sendmail, FAILS: "75" })).toBe(75);
  });
});
