import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { startTestBridge } from "../support/bridge.ts";
import { askPort, startWebBridge } from "../support/web.ts";
import { itWhole } from "../support/whole.ts";

describe("listening", () => {
  it("does not listen at all where it is switched off", async () => {
    const t = await startTestBridge({ settings: { http: { listen: "off" } } });
    expect(t.bridge.web).toBeUndefined();
  });

  itWhole(
    "pulls orders while another program holds the port, says so once, and takes the port when it is free",
    async () => {
      const other = await occupy();
      const t = await startTestBridge({ settings: { http: { listen: `127.0.0.1:${other.port}` } } });
      t.bridge.web?.start();
      t.sandbox.service.createOrder();
      expect((await t.run("orders")).outcome).toBe("done");
      await untilTrue(() => loadFacts(t.bridge.store).pageSilent !== undefined);
      expect(loadFacts(t.bridge.store).pageSilent).toMatchObject({
        address: `127.0.0.1:${other.port}`,
        error: "EADDRINUSE",
      });
      expect(t.logs.filter(({ level }) => level === "warn")).toHaveLength(1);

      await other.close();
      await t.bridge.web?.whenListening();
      // Each wait for the port moves the clock, so what is fresh by then is not the question.
      expect((await askPort(other.port, "/")).status).toBe(200);
      expect(loadFacts(t.bridge.store).pageSilent).toBeUndefined();
      expect(t.logs.filter(({ level }) => level === "warn")).toHaveLength(1);
    },
  );

  itWhole("forgets a taken port when the page is switched off", async () => {
    const other = await occupy();
    const t = await startTestBridge({ settings: { http: { listen: `127.0.0.1:${other.port}` } } });
    t.bridge.web?.start();
    await untilTrue(() => loadFacts(t.bridge.store).pageSilent !== undefined);
    await t.restart({ http: { listen: "off" } });
    expect(loadFacts(t.bridge.store).pageSilent).toBeUndefined();
  });

  it("stops at once, though somebody keeps a connection open", async () => {
    const t = await startWebBridge();
    const port = t.port();
    const idle = connect(port, "127.0.0.1");
    const closed = new Promise<void>((resolve) => idle.once("close", () => resolve()));
    idle.on("error", () => undefined);
    await new Promise((resolve) => idle.once("connect", resolve));
    idle.write("GET / HTTP/1.1\r\n");
    const startedAt = performance.now();
    await t.bridge.stop();
    await closed;
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    await expect(askPort(port, "/health")).rejects.toThrow(/ECONNREFUSED/);
  });

  itWhole("leaves the port for the bridge that follows", async () => {
    const t = await startWebBridge();
    const port = t.port();
    await t.restart({ http: { listen: `127.0.0.1:${port}` } });
    t.bridge.web?.start();
    await t.bridge.web?.whenListening();
    expect((await askPort(port, "/health")).status).toBe(200);
  });
});

async function occupy(): Promise<{ port: number; close(): Promise<void> }> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  onTestFinished(() => close());
  return { port: (server.address() as AddressInfo).port, close };
}

/** The fake clock lets waits pass in an instant; the system's refusal still takes a turn of the event loop. */
async function untilTrue(isTrue: () => boolean): Promise<void> {
  for (let turns = 0; turns < 10_000 && !isTrue(); turns++) await new Promise((resolve) => setImmediate(resolve));
  expect(isTrue()).toBe(true);
}
