import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { runProgram } from "../../src/platform/run-program.ts";
import { startTestBridge } from "../support/bridge.ts";
import { startReceiver } from "../support/receiver.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const refuseAll = {
  match: { path: "orders" as const },
  times: "forever" as const,
  do: { kind: "status" as const, status: 401 },
};

describe("alerts of the daemon", () => {
  it("tell of a hold once when it begins, in closed words", async () => {
    const receiver = await startReceiver();
    const { bridge, sandbox, run } = await startTestBridge({
      settings: { alerts: { webhook: `${receiver.url}/hook?token=t0ken` } },
    });
    await bridge.watch.look();
    expect(receiver.received).toEqual([]);
    sandbox.faults.add(refuseAll);
    await run("orders");
    await bridge.watch.look();
    await bridge.watch.look();
    expect(receiver.messages()).toMatchObject([
      {
        version: 1,
        kind: "problem",
        subject: "hold orders credentials",
        text: "Orders held since 12:00: the service refuses the credentials. Next: erp-bridge resume orders",
      },
    ]);
    expect(receiver.received[0]).toMatchObject({
      method: "POST",
      url: "/hook?token=t0ken",
      headers: { "content-type": "application/json; charset=utf-8" },
    });
  });

  itWhole("speak the language of the configuration; what programs read in them stays", async () => {
    const receiver = await startReceiver();
    const test = await startTestBridge({ settings: { language: "ru", alerts: { webhook: receiver.url } } });
    test.sandbox.faults.add(refuseAll);
    await test.run("orders");
    await test.bridge.watch.look();
    expect(receiver.messages()).toMatchObject([
      {
        kind: "problem",
        subject: "hold orders credentials",
        text: "Заказы: остановлено с 12:00 — сервис не принимает учётные данные. Дальше: erp-bridge resume orders",
      },
    ]);
    expect(test.rows<{ detail: string }>("SELECT detail FROM holds")[0]?.detail).toMatch(/^the service refuses/);
  });

  itWhole("go on after a restart where they stopped", async () => {
    const receiver = await startReceiver();
    const test = await startTestBridge({ settings: { alerts: { webhook: receiver.url } } });
    test.sandbox.faults.add(refuseAll);
    await test.run("orders");
    await test.bridge.watch.look();
    await test.restart();
    await test.bridge.watch.look();
    expect(receiver.messages()).toHaveLength(1);
    test.sandbox.faults.clear();
    test.clock.advance(6 * MINUTE_MS);
    await test.run("orders");
    await test.bridge.watch.look();
    expect(receiver.messages().map(({ kind, text }) => [kind, text])).toEqual([
      ["problem", "Orders held since 12:00: the service refuses the credentials. Next: erp-bridge resume orders"],
      ["recovery", "orders is no longer held (credentials)."],
    ]);
  });

  itWhole(
    "tell of a flow that has been silent for too long, not of one failed pass, and hold nothing but names and codes",
    async () => {
      const receiver = await startReceiver();
      const test = await startTestBridge({ settings: { alerts: { webhook: receiver.url } } });
      await test.run("orders");
      await test.run("updates");
      await test.run("stocks");
      test.sandbox.faults.add({
        times: "forever",
        do: { kind: "status", status: 500, body: '{"error":"order 4711 of Ivanova is broken"}' },
      });
      await test.run("orders");
      await test.bridge.watch.look();
      expect(receiver.received).toEqual([]);
      test.clock.advance(10 * MINUTE_MS);
      await test.run("orders");
      await test.bridge.watch.look();
      expect(receiver.received).toEqual([]);
      test.clock.advance(2 * MINUTE_MS);
      await test.bridge.watch.look();
      const orders = receiver.messages().find(({ subject }) => subject === "flow orders");
      expect(orders).toMatchObject({
        kind: "problem",
        text: expect.stringMatching(/^Orders without success for 12 min: the service is not available\. /),
      });
      expect(receiver.received.map(({ body }) => body).join()).not.toMatch(/4711|Ivanova|sandbox-secret/);
    },
  );

  itWhole("tell of quarantined records by their number, never by what they are", async () => {
    const receiver = await startReceiver();
    const test = await startTestBridge({ settings: { alerts: { webhook: receiver.url } } });
    test.sandbox.service.createOrder({ raw: '{"order_id":"Ivanova +7 900","status":"new","items":[]}' });
    test.sandbox.service.createOrder();
    await test.run("orders");
    await test.bridge.watch.look();
    expect(receiver.messages()).toMatchObject([
      { subject: "quarantine order", text: "1 record of orders in quarantine. Next: erp-bridge quarantine list" },
    ]);
    test.bridge.store.db.prepare("UPDATE quarantine SET state = 'dropped'").run();
    test.clock.advance(MINUTE_MS);
    await test.bridge.watch.look();
    expect(receiver.messages().at(-1)).toMatchObject({ kind: "recovery", subject: "quarantine order" });
  });

  itWhole("that cannot be delivered disturb nothing, are said once, and go out when the receiver is back", async () => {
    const receiver = await startReceiver();
    const test = await startTestBridge({ settings: { alerts: { webhook: `${receiver.url}/t0ken` } } });
    receiver.answer(500);
    test.sandbox.faults.add(refuseAll);
    await test.run("orders");
    await test.bridge.watch.look();
    await test.bridge.watch.look();
    expect(receiver.received).toHaveLength(1);
    expect(test.logs.filter(({ fields }) => "channel" in fields && fields.channel === "webhook")).toMatchObject([
      { level: "warn", message: "webhook: It was answered with 500. The flows go on." },
    ]);
    expect(JSON.stringify([test.logs, test.rows("SELECT * FROM meta")])).not.toContain("t0ken");
    expect(test.rows<{ value: string }>("SELECT value FROM meta WHERE key = 'alerts'")[0]?.value).toContain(
      '"request_refused"',
    );
    expect(await test.run("updates")).toMatchObject({ outcome: "held" });
    receiver.answer(302, { location: `${receiver.url}/elsewhere` });
    test.clock.advance(MINUTE_MS);
    await test.bridge.watch.look();
    expect(receiver.received.map(({ url }) => url)).toEqual(["/t0ken", "/t0ken"]);
    receiver.answer(204);
    test.clock.advance(MINUTE_MS);
    await test.bridge.watch.look();
    expect(receiver.messages().map(({ subject }) => subject)).toEqual(Array(3).fill("hold orders credentials"));
    expect(test.rows<{ value: string }>("SELECT value FROM meta WHERE key = 'alerts'")[0]?.value).toContain(
      '"failing":null',
    );
  });

  it("that were over before they could be sent are told of once the receiver is back, and no longer in status", async () => {
    const receiver = await startReceiver();
    const test = await startTestBridge({ settings: { alerts: { webhook: receiver.url } } });
    const look = async () => {
      test.clock.advance(MINUTE_MS);
      await test.bridge.watch.look();
      return loadFacts(test.bridge.store).undelivered?.length;
    };
    receiver.answer(500);
    test.sandbox.faults.add(refuseAll);
    await test.run("orders");
    expect(await look()).toBe(1);
    test.bridge.store.db.prepare("DELETE FROM holds").run();
    expect(await look()).toBe(1);
    receiver.answer(204);
    expect(await look()).toBe(0);
    expect(receiver.messages().at(-1)).toMatchObject({ kind: "recovery", subject: "alerts" });
    const { length } = receiver.received;
    await look();
    expect(receiver.received).toHaveLength(length);
  });

  itWhole(
    "are told to a program on its standard input and in its environment, without the surroundings that may hold the secret",
    async () => {
      const folder = tempFolder();
      const program = path.join(folder, "tell");
      const file = path.join(folder, "told");
      writeFileSync(program, `#!/bin/sh\n{ cat; echo "$1"; env | sort; } > "${file}"\n`);
      chmodSync(program, 0o755);
      process.env["ERP_BRIDGE_CLIENT_SECRET"] = "canary-Zq81-x7";
      const test = await startTestBridge({ settings: { alerts: { command: [program, "$(touch /tmp/no); x"] } } });
      test.sandbox.faults.add(refuseAll);
      await test.run("orders");
      await test.bridge.watch.look();
      delete process.env["ERP_BRIDGE_CLIENT_SECRET"];
      const told = readFileSync(file, "utf8");
      expect(told).toContain(
        "the service refuses the credentials. Next: erp-bridge resume orders\n$(touch /tmp/no); x\n",
      );
      expect(told).toContain("ERP_BRIDGE_ALERT_SUBJECT=hold orders credentials\n");
      expect(told).not.toContain("canary");
    },
  );
});

describe("a program that is told", () => {
  const call = (command: string[], limitMs = 10_000) =>
    runProgram({
      command,
      input: "x".repeat(200_000),
      env: {},
      surroundings: process.env,
      signal: new AbortController().signal,
      limitMs,
    });

  it("may fail, be missing or leave its input unread", async () => {
    await expect(call(["/bin/sh", "-c", "exit 3"])).rejects.toThrow("It ended with 3.");
    await expect(call(["/nowhere/program"])).rejects.toThrow("ENOENT");
    await expect(call(["/bin/true"])).resolves.toBeUndefined();
  });

  itWhole("is stopped after its time, with what it started", async () => {
    const pipe = path.join(tempFolder(), "pipe");
    execFileSync("mkfifo", [pipe]);
    // It comes to its end when the last one that could write into it is gone.
    const allGone = readFile(pipe, "utf8");
    const told = call(["/bin/sh", "-c", `exec > ${pipe}; echo begun; (sleep 60; echo late) & sleep 60`], 500);
    await expect(told).rejects.toThrow("did not end in time");
    expect(await allGone).toBe("begun\n");
  });
});

describe("the heartbeat", () => {
  it("is called at most once a minute, and only while every flow is fresh and none fails", async () => {
    const receiver = await startReceiver();
    const test = await startTestBridge({ settings: { heartbeat: `${receiver.url}/beat` } });
    await test.bridge.watch.look();
    expect(receiver.received).toEqual([]);
    for (const job of ["orders", "updates", "stocks"] as const) await test.run(job);
    for (const name of test.bridge.runners.keys()) await test.run(name);
    await test.bridge.watch.look();
    await test.bridge.watch.look();
    expect(receiver.received).toMatchObject([{ method: "GET", url: "/beat" }]);
    test.clock.advance(MINUTE_MS);
    await test.bridge.watch.look();
    expect(receiver.received).toHaveLength(2);
    test.clock.advance(MINUTE_MS);
    test.sandbox.faults.add({ do: { kind: "status", status: 500 }, match: { path: "orders" } });
    await test.run("orders");
    await test.bridge.watch.look();
    expect(receiver.received).toHaveLength(2);
    await test.run("orders");
    await test.bridge.watch.look();
    expect(receiver.received).toHaveLength(3);
    test.clock.advance(20 * MINUTE_MS);
    await test.bridge.watch.look();
    expect(receiver.received).toHaveLength(3);
  });
});
