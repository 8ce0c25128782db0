import { describe, expect, it } from "vitest";
import { startShop } from "../support/shop.ts";

describe("--json", () => {
  it("is one line that parses, its version first, from every command and for every failure", async () => {
    const shop = await startShop();
    shop.sandbox.service.createOrder();
    shop.sandbox.service.createOrder({ raw: '{"order_id":"no uuid","status":"new","items":[]}' });
    const commands: [args: string[], code: number][] = [
      [["status"], 78],
      [["sync"], 2],
      [["status"], 2],
      [["check"], 0],
      [["check", "--online"], 0],
      [["quarantine", "list"], 2],
      [["resume", "orders"], 0],
      [["approve", "stocks"], 0],
      [["config", "show"], 0],
      [["config", "schema"], 0],
      [["sync", "nothing"], 64],
      [["sync", "prices"], 64],
    ];
    for (const [args, code] of commands) {
      const result = await shop.command(...args, "--json");
      expect(result.code, `${args.join(" ")}: ${result.out} ${result.err}`).toBe(code);
      expect(result.out.startsWith('{"version":1,'), args.join(" ")).toBe(true);
      expect(result.out).not.toContain("\n");
      JSON.parse(result.out);
    }
  });
});
