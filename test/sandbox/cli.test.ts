import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runSandbox } from "../../src/sandbox/cli.ts";
import { importKey } from "../../src/sandbox/imports.ts";
import type { Sandbox } from "../../src/sandbox/start-sandbox.ts";
import { itWhole } from "../support/whole.ts";
import { get, post, pushTo, sandboxFor, send, strings } from "./client.ts";

async function control(sandbox: Pick<Sandbox, "url">, method: string, what: string, body?: unknown) {
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  return send(sandbox as Sandbox, method, `/_sandbox/${what}`, text);
}

describe("the control endpoint", () => {
  it("is closed unless switched on", async () => {
    const sandbox = await sandboxFor();
    expect((await control(sandbox, "GET", "ledger")).status).toBe(404);
  });

  it("makes, shows, changes and deletes orders, with exact amounts", async () => {
    const sandbox = await sandboxFor({ control: true });
    const made = await control(sandbox, "POST", "orders", { count: 3 });
    expect(made.status).toBe(201);
    const [id = ""] = strings(made.json.order_ids);
    const patch = { status: "paid", total: "0.250", lines: [{ sku: "A", quantity: "1.50" }], lateByMs: 1000 };
    expect((await control(sandbox, "POST", `orders/${id}`, patch)).status).toBe(200);
    expect(sandbox.service.newestText(id)).toContain('"total":0.250');
    expect((await control(sandbox, "GET", "orders")).json.orders).toHaveLength(3);
    expect((await control(sandbox, "DELETE", `orders/${id}`)).status).toBe(200);
    expect((await control(sandbox, "POST", `orders/${id}`, {})).status).toBe(404);
  });

  it("adds, lists and clears faults, and merges switches", async () => {
    const sandbox = await sandboxFor({ control: true });
    const rule = { match: { path: "orders" }, times: "forever", do: { kind: "status", status: 503 } };
    expect((await control(sandbox, "POST", "faults", rule)).status).toBe(201);
    expect((await get(sandbox)).status).toBe(503);
    expect((await control(sandbox, "GET", "faults")).json.faults).toMatchObject([rule]);
    await control(sandbox, "DELETE", "faults");
    expect((await get(sandbox)).status).toBe(200);
    await control(sandbox, "POST", "switches", { emptyForm: "204", shape: { upperCaseIds: true } });
    expect((await get(sandbox)).status).toBe(204);
    expect((await control(sandbox, "GET", "switches")).json.shape?.upperCaseIds).toBe(true);
  });

  it("shows the ledger and what is on the site, and is not in the ledger itself", async () => {
    const sandbox = await sandboxFor({ control: true });
    await pushTo(sandbox, "stocks", { stocks: [{ sku: "A" }] });
    await get(sandbox);
    expect((await control(sandbox, "GET", "ledger")).json.entries).toHaveLength(2);
    expect((await control(sandbox, "GET", "ledger?after=1")).json.entries).toMatchObject([{ kind: "orders" }]);
    const { records } = (await control(sandbox, "GET", "imported/stocks")).json;
    expect(records).toEqual([{ key: importKey("A", ""), record: '{"sku":"A"}' }]);
  });

  it.each([
    ["POST", "switches", { nope: 1 }, "nope: "],
    ["POST", "faults", { do: { kind: "nope" } }, "do.kind: "],
    ["POST", "faults", { do: { kind: "cut", bytes: -1 } }, "do.bytes: "],
    ["POST", "faults", { match: { paths: "orders" }, do: { kind: "hang" } }, "match.paths: "],
    ["POST", "orders", { count: 0 }, "count: "],
    ["POST", "orders", { order: { total: "1,5" } }, "order.total: "],
    ["POST", "orders", { order: { lines: [{ name: "no sku" }] } }, "order.lines.0.sku: "],
    ["POST", "orders", null, ""],
  ])("answers 400 to %s %s with %j, and names what does not fit", async (method, what, body, named) => {
    const sandbox = await sandboxFor({ control: true });
    const answer = await control(sandbox, method, what, body);
    expect(answer.status).toBe(400);
    expect(answer.json.error).toMatch(new RegExp(`^${named}\\S`));
  });

  it("refuses what a web page sends", async () => {
    const sandbox = await sandboxFor({ control: true });
    const headers = { origin: "http://evil.example" };
    expect((await send(sandbox, "DELETE", "/_sandbox/faults", { headers })).status).toBe(403);
  });
});

/** Runs the command until the test ends. */
async function running(more: Partial<Parameters<typeof runSandbox>[0]> = {}) {
  const lines: string[] = [];
  const stop = new AbortController();
  const log = (line: string) => lines.push(line);
  const base = { port: 0, seed: 1, ordersPerMinute: 0, clientId: "shop", clientSecret: "canary-1", log };
  const done = runSandbox({ ...base, signal: stop.signal, ...more });
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  const url = /http:\/\/[\d.:]+/.exec(lines[0] ?? "")?.[0] ?? "";
  return { lines, stop, done, sandbox: { url, clientId: "shop", clientSecret: "canary-1" } as Sandbox };
}

describe("the sandbox command", () => {
  it("prints one line a request, never the secret, and ends on the signal", async () => {
    const { lines, stop, done, sandbox } = await running();
    const made = await control(sandbox, "POST", "orders", { count: 2 });
    await get(sandbox);
    await post(sandbox, "/confirm", { batch_id: "batch-1" });
    await control(sandbox, "POST", "faults", { do: { kind: "status", status: 500 } });
    await get(sandbox, "/%1b%5b31m");
    const [id = ""] = strings(made.json.order_ids);
    await post(sandbox, `/${id}/status`, { status: "\u001b[31mв пути" });
    expect(lines.slice(1).map((line) => line.slice(26))).toEqual([
      'GET /api/v1/1c/orders  200  batch "batch-1", 2 orders',
      "POST /api/v1/1c/orders/confirm  200  confirmed 2 orders",
      "GET /api/v1/1c/orders/%1b%5b31m  500  [fault: status before]",
      `POST /api/v1/1c/orders/${id}/status  200  ${id} is ?[31mв пути`,
    ]);
    expect(lines.join("\n")).not.toContain("canary-1");
    stop.abort();
    await done;
    await expect(get(sandbox)).rejects.toThrow();
  });

  itWhole("lets orders come in by themselves and move on", async () => {
    const { sandbox } = await running({ ordersPerMinute: 60_000 });
    const orders = async () =>
      (await control(sandbox, "GET", "orders")).json.orders as unknown as { versions: number }[];
    await expect.poll(async () => (await orders()).length).toBeGreaterThan(200);
    expect((await orders()).some(({ versions }) => versions > 1)).toBe(true);
  });

  it("takes switches from a file and refuses wrong ones by name", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "sandbox-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, "switches.json");
    writeFileSync(file, '{"emptyForm":"204"}');
    const { sandbox } = await running({ switchesFile: file });
    expect((await get(sandbox)).status).toBe(204);
    writeFileSync(file, '{"emptyFrom":"204"}');
    const signal = AbortSignal.abort();
    const wrong = { port: 0, seed: 1, ordersPerMinute: 0, clientId: "a", clientSecret: "b", log: () => {}, signal };
    await expect(runSandbox({ ...wrong, switchesFile: file })).rejects.toThrow(
      /switches.json: emptyFrom: no such switch/,
    );
  });

  it("rejects on a port that is taken", async () => {
    const sandbox = await sandboxFor();
    const port = Number(new URL(sandbox.url).port);
    const signal = AbortSignal.abort();
    const run = runSandbox({
      port,
      seed: 1,
      ordersPerMinute: 0,
      clientId: "a",
      clientSecret: "b",
      log: () => {},
      signal,
    });
    await expect(run).rejects.toThrow(/EADDRINUSE/);
  });
});
