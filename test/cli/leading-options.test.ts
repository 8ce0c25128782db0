import { describe, expect, it } from "vitest";
import { withLeadingOptions } from "../../src/cli/leading-options.ts";
import { startShop } from "../support/shop.ts";
import { itWhole } from "../support/whole.ts";

describe("options before the command", () => {
  it.each([
    ["--no-color status", "status --no-color"],
    ["--json -c a.yaml status", "status --json -c a.yaml"],
    ["--config=a.yaml quarantine list", "quarantine list --config=a.yaml"],
    ["-i north --no-color sync orders --dry-run", "sync orders --dry-run -i north --no-color"],
    ["--json order -- -17", "order --json -- -17"],
    ["status --no-color", "status --no-color"],
    ["--no-color --help", "--help"],
    ["--no-colour status", "--no-colour status"],
    ["-c", "-c"],
    ["", ""],
  ])("%s: %s", (typed, meant) => {
    const words = (text: string) => text.split(" ").filter((word) => word !== "");
    expect(withLeadingOptions(words(typed))).toEqual(words(meant));
  });

  itWhole("are those of the command", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    const { code, out } = await shop.command("--no-color", "--json", "check");
    expect({ code, out: JSON.parse(out) as unknown }).toMatchObject({ code: 0, out: { version: 1 } });
  });
});
