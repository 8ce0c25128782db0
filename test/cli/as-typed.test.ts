import { describe, expect, it } from "vitest";
import { asTyped } from "../../src/cli/command.ts";
import { startShop } from "../support/shop.ts";

describe("a command that is proposed", () => {
  it.each([
    ["/etc/erp-bridge/config.yaml", "erp-bridge check", "erp-bridge check"],
    ["/etc/erp-bridge/north.yaml", "erp-bridge check", "erp-bridge check --instance north"],
    ["/srv/shop.yaml", "erp-bridge check", "erp-bridge check --config /srv/shop.yaml"],
    ["/srv/my shop.yaml", "erp-bridge check", "erp-bridge check --config '/srv/my shop.yaml'"],
    ["/etc/erp-bridge/config.yaml", "systemctl start erp-bridge", "systemctl start erp-bridge"],
    ["/etc/erp-bridge/north.yaml", "systemctl start erp-bridge", "systemctl start erp-bridge@north"],
    ["/srv/shop.yaml", "systemctl start erp-bridge", "erp-bridge run --config /srv/shop.yaml"],
  ])("for %s, %s: %s", (configFile, command, typed) => {
    const terminal = { env: {}, isTerminal: false, out: () => {}, err: () => {} };
    expect(asTyped(command, { configFile, terminal })).toBe(typed);
  });

  it("starts a daemon by hand where no unit reads the file", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    expect((await shop.command("status")).out).toContain(`erp-bridge run --config ${shop.configFile}`);
  });
});
