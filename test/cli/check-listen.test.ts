import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { PATIENT } from "../support/program.ts";
import { startShop } from "../support/shop.ts";
import { askPort } from "../support/web.ts";
import { inWhole, itWhole } from "../support/whole.ts";

async function occupy(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe("the status page seen from the commands", PATIENT, () => {
  it("is checked before the daemon runs", async () => {
    const port = await occupy();
    const shop = await startShop();
    await shop.command("sync", "orders");
    expect((await shop.command("check")).out).toMatch(/^ok {3}http: switched off: /m);
    shop.writeConfig({ http: { listen: "127.0.0.1:0" } });
    expect((await shop.command("check")).out).toMatch(/^ok {3}http: 127\.0\.0\.1:0 is free$/m);
    shop.writeConfig({ http: { listen: `127.0.0.1:${port}` } });
    const taken = await shop.command("check");
    expect(taken.code).toBe(2);
    expect(taken.out).toMatch(
      /^FAIL http: another program listens on 127\.0\.0\.1:\d+: .*orders go on\. Set http\.listen to another port$/m,
    );
  });

  itWhole("is told by status and check while a running daemon cannot have its port, and orders come in", async () => {
    const port = await occupy();
    const shop = await startShop({ settings: { http: { listen: `127.0.0.1:${port}` } } });
    shop.sandbox.service.createOrder();
    const daemon = shop.start("run");
    await daemon.says("cannot be listened on");
    await daemon.says("1 created");
    const status = await shop.command("status");
    expect(status.code).toBe(2);
    expect(status.out).toMatch(
      /The status page cannot listen on 127\.0\.0\.1:\d+ since .*: another program holds the port\./,
    );
    expect((await shop.command("check")).out).toMatch(
      /^FAIL http: the running bridge cannot listen on .* \(EADDRINUSE\)/m,
    );
    daemon.child.kill("SIGTERM");
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
    expect((await shop.command("status")).out).not.toContain("status page");
  });

  inWhole("web/listening").it("answers from the real program, and ends with it", async () => {
    const shop = await startShop({ settings: { http: { listen: "127.0.0.1:0" } } });
    const daemon = shop.start("run");
    await daemon.says("status page: http://127.0.0.1:");
    const port = Number(/status page: http:\/\/127\.0\.0\.1:(\d+)\//.exec(daemon.stderr())?.[1]);
    expect((await askPort(port, "/health")).status).toBe(200);
    expect((await askPort(port, "/")).body).toContain("<h1>");
    expect((await shop.command("check")).out).toMatch(/^ok {3}http: the running bridge answers on http:/m);
    daemon.child.kill("SIGTERM");
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
    await expect(askPort(port, "/health")).rejects.toThrow(/ECONNREFUSED/);
  });
});
