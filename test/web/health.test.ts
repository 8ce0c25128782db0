import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../support/temp.ts";
import { startWebBridge, type WebBridge } from "../support/web.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ON_ORDERS = { match: { method: "GET", path: "orders" }, times: "forever" } as const;

/** What passes every minute in a running daemon. */
async function runAll(t: WebBridge): Promise<void> {
  for (const job of ["orders", "updates", "stocks"] as const) await t.run(job);
}

describe("/health", () => {
  it("is well before anything has had the time to succeed, and names what has not afterwards", async () => {
    const t = await startWebBridge();
    expect((await t.health()).status).toBe(200);
    t.clock.advance(6 * MINUTE_MS);
    const { status, body } = await t.health();
    expect(status).toBe(503);
    expect(body.healthy).toBe(false);
    expect(body.ill.map(({ flow, reason }) => `${flow} ${reason}`).sort()).toEqual([
      "orders stale",
      "stocks stale",
      "updates stale",
    ]);
  });

  itWhole("begins with its version and tells every flow that is on, with its age by the program's clock", async () => {
    const t = await startWebBridge();
    await runAll(t);
    const { status, headers, body } = await t.ask("/health");
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(body.startsWith('{"version":1,"healthy":true,')).toBe(true);
    expect(body.endsWith("}\n")).toBe(true);
    const { flows } = JSON.parse(body) as { flows: { flow: string; ageSeconds: number }[] };
    expect(flows.map(({ flow }) => flow).sort()).toEqual([
      "backup",
      "erp",
      "orders",
      "reconcile",
      "stocks",
      "updates",
      "upkeep",
    ]);
    expect(flows.find(({ flow }) => flow === "orders")?.ageSeconds).toBe(0);
  });

  itWhole(
    "stays well through one failure and turns ill with the time, since when, and well again after a success",
    async () => {
      const t = await startWebBridge();
      await runAll(t);
      const lastSuccess = t.rows<{ at: string }>("SELECT last_success_at AS at FROM flows WHERE flow = 'orders'")[0]
        ?.at;
      const broken = t.sandbox.faults.add({ ...ON_ORDERS, do: { kind: "status", status: 500 } });
      await t.run("orders");
      const once = await t.health();
      expect(once.status).toBe(200);
      expect(once.body.attention.join()).toMatch(/^Orders failing since .*: the service is not available\.$/);
      t.clock.advance(10 * MINUTE_MS);
      await t.run("stocks");
      await t.run("updates");
      await t.run("orders");
      const later = await t.health();
      expect(later.status).toBe(503);
      expect(later.body.ill.find(({ flow }) => flow === "orders")).toEqual({
        flow: "orders",
        reason: "stale",
        since: lastSuccess,
      });
      t.sandbox.faults.remove(broken);
      await runAll(t);
      expect((await t.health()).status).toBe(200);
    },
  );

  it("is ill at once where an area is held, and says which and why", async () => {
    const t = await startWebBridge();
    t.sandbox.faults.add({ ...ON_ORDERS, do: { kind: "status", status: 401 } });
    await runAll(t);
    const { status, body } = await t.health();
    expect(status).toBe(503);
    expect(body.ill).toContainEqual(expect.objectContaining({ flow: "orders", reason: "credentials" }));
    expect(body.ill.some(({ flow }) => flow === "stocks" || flow === "imports")).toBe(false);
  });

  itWhole("is ill, like the status, while batches wait for a journal that cannot be written", async () => {
    const folder = tempFolder("journal-gone");
    const journal = path.join(folder, "journal");
    const t = await startWebBridge({ settings: { backup: { journal } }, folder });
    await runAll(t);
    rmSync(journal, { recursive: true, force: true });
    writeFileSync(journal, "");
    t.sandbox.service.createOrder();
    await runAll(t);
    const { status, body } = await t.health();
    expect(status).toBe(503);
    expect(body.ill).toContainEqual(expect.objectContaining({ flow: "orders", reason: "unjournaled" }));
    expect(body.attention[0]).toMatch(
      /^1 batch stored and not confirmed since .*: backup.journal cannot be written\.$/,
    );
    rmSync(journal);
    await runAll(t);
    expect((await t.health()).status).toBe(200);
  });

  itWhole("is ill where the ERP leaves orders untaken for longer than it may", async () => {
    const t = await startWebBridge({ settings: { erp: { read_within: "1h" } } });
    t.sandbox.service.createOrder();
    await runAll(t);
    expect((await t.health()).status).toBe(200);
    t.clock.advance(HOUR_MS);
    await runAll(t);
    const { status, body } = await t.health();
    expect(status).toBe(503);
    expect(body.ill).toContainEqual(expect.objectContaining({ flow: "erp", reason: "untaken" }));
  });

  itWhole("shows no word that the service wrote", async () => {
    const t = await startWebBridge();
    const body = '{"error":"phone +49 30 1234567 of Erika Mustermann"}';
    t.sandbox.faults.add({ ...ON_ORDERS, do: { kind: "status", status: 422, body } });
    await runAll(t);
    t.clock.advance(MINUTE_MS);
    for (const path of ["/", "/health", "/metrics"]) {
      expect((await t.ask(path)).body, path).not.toMatch(/Mustermann|1234567/);
    }
    const [row] = t.rows<{ error: string }>("SELECT error FROM flows WHERE flow = 'orders'");
    expect(row?.error).toMatch(/Mustermann/);
  });

  itWhole(
    "names the file that is in the way in the words of the status, and so do the page and the list of conditions",
    async () => {
      const folder = tempFolder("in-the-way");
      const dir = path.join(folder, "copies");
      const t = await startWebBridge({ settings: { backup: { dir } }, folder });
      await runAll(t);
      rmSync(dir, { recursive: true, force: true });
      writeFileSync(dir, "");
      await t.run("backup");
      const [row] = t.rows<{ error: string; sentence: string }>(
        "SELECT error, sentence FROM sync_status WHERE flow = 'backup'",
      );
      expect(row?.error).toContain(dir);
      const { body } = await t.health();
      expect(body.attention.filter((text) => text.startsWith("Backup"))).toEqual([
        expect.stringMatching(new RegExp(`^Backup failing since [^ ]+: .*${dir}`)),
      ]);
      expect(body.attention.join()).toContain(row?.error.replace(/\.$/, ""));
      expect((await t.ask("/")).body).toContain(dir);
      rmSync(dir);
      mkdirSync(dir);
    },
  );
});
