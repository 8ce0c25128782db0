import { describe, expect, it } from "vitest";
import { PATIENT } from "../support/program.ts";
import { startShop } from "../support/shop.ts";
import { itWhole } from "../support/whole.ts";

const MISSPELT = {
  imports: {
    stocks: { record: { sku: "{sku}", amount: "{quantitty|number}" }, on_delete: { amount: 0 }, available: null },
  },
};

describe("check, of what feeds read", PATIENT, () => {
  it("names the place of a column that does not exist and the one that was probably meant", async () => {
    const shop = await startShop({ settings: MISSPELT });
    for (const isNew of [true, false]) {
      if (!isNew) await shop.command("sync", "orders");
      const { code, out } = await shop.command("check");
      expect(code).toBe(78);
      expect(out).toMatch(
        /^FAIL imports\.stocks: .*stock has no column quantitty\. .*config\.yaml:\d+:\d+ \(imports\.stocks\.record\.amount\); did you mean "quantity"\?/m,
      );
    }
  });

  itWhole("finds nothing wrong with tables that are there, or that the ERP may still make", async () => {
    const shop = await startShop({ settings: { imports: { stocks: { table: "erp_rests" } } } });
    expect((await shop.command("check")).out).not.toMatch(/FAIL imports/);
    await shop.command("sync", "orders");
    expect((await shop.command("check")).out).toMatch(/^FAIL imports\.stocks: .*no table erp_rests/m);
    shop.write("CREATE TABLE erp_rests (sku TEXT, warehouse TEXT, quantity, reserved)");
    expect((await shop.command("check")).out).toMatch(/^ok {3}imports\.stocks: table erp_rests can be read$/m);
  });
});
