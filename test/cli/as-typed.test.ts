import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { asTyped } from "../../src/cli/call.ts";
import { startShop } from "../support/shop.ts";
import { itWhole } from "../support/whole.ts";

describe("a command that is proposed", () => {
  it.each([
    ["/etc/erp-bridge/config.yaml", "erp-bridge check", "erp-bridge check"],
    ["/etc/erp-bridge/north.yaml", "erp-bridge check", "erp-bridge check --instance north"],
    ["/srv/shop.yaml", "erp-bridge check", "erp-bridge check --config /srv/shop.yaml"],
    ["/srv/my shop.yaml", "erp-bridge check", "erp-bridge check --config '/srv/my shop.yaml'"],
    ["/etc/erp-bridge/config.yaml", "systemctl start erp-bridge", "systemctl start erp-bridge"],
    ["/etc/erp-bridge/north.yaml", "systemctl start erp-bridge", "systemctl start erp-bridge@north"],
    ["/srv/shop.yaml", "systemctl start erp-bridge", "erp-bridge run --config /srv/shop.yaml"],
    ["/srv/shop.yaml", "systemctl restart erp-bridge", "erp-bridge run --config /srv/shop.yaml"],
    ["/etc/erp-bridge/north.yaml", "systemctl restart erp-bridge", "systemctl restart erp-bridge@north"],
  ])("for %s, %s: %s", (configFile, command, typed) => {
    const terminal = { env: {}, isTerminal: false, out: () => {}, err: () => {} };
    expect(asTyped(command, { configFile, terminal })).toBe(typed);
  });

  it("ends a daemon that was started by hand before another one is started", () => {
    const terminal = { env: {}, isTerminal: false, out: () => {}, err: () => {} };
    const byHand = { configFile: "/srv/shop.yaml", terminal };
    expect(asTyped("systemctl restart erp-bridge", byHand, 4711)).toBe(
      "kill -9 4711; erp-bridge run --config /srv/shop.yaml",
    );
    expect(asTyped("systemctl start erp-bridge", byHand, 4711)).toBe("erp-bridge run --config /srv/shop.yaml");
    const ofUnit = { configFile: "/etc/erp-bridge/north.yaml", terminal };
    expect(asTyped("systemctl restart erp-bridge", ofUnit, 4711)).toBe("systemctl restart erp-bridge@north");
  });

  itWhole("names no unit for a daemon that was started by hand and does not answer, nor its journal", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    const daemon = shop.start("run");
    await daemon.says("erp-bridge is running");
    // It is stopped while another connection writes: it would keep a transaction of its own open.
    const erp = new Database(shop.database, { timeout: 20_000 });
    erp.exec("BEGIN IMMEDIATE");
    daemon.child.kill("SIGSTOP");
    erp.exec(`INSERT INTO sync_requests (jobs, requested_at) VALUES ('[]', '2026-01-01T00:00:00.000Z');
      UPDATE flows SET failing_since = '2026-01-01T00:00:00.000Z', last_run_at = NULL;
      COMMIT`);
    erp.close();
    const { out } = await shop.command("status");
    expect(out).toContain("see its log, then stop it and start it anew");
    expect(out).toContain(`kill -9 ${daemon.child.pid}; erp-bridge run --config ${shop.configFile}`);
    expect(out).not.toMatch(/systemctl|journalctl/);
  });

  itWhole("starts a daemon by hand where no unit reads the file", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    expect((await shop.command("status")).out).toContain(`erp-bridge run --config ${shop.configFile}`);
  });
});
