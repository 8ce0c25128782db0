import path from "node:path";
import { expect, inject } from "vitest";
import { runMirrorCampaign } from "../../scripts/mirror/mirror-campaign.ts";
import { describeWithPostgres } from "../support/postgres.ts";
import { tempFolder } from "../support/temp.ts";
import { inWhole } from "../support/whole.ts";

const whole = inWhole("mirror/trouble", "mirror/turns", "mirror/up");
const SIZES = { kills: 8, crashes: 3, cuts: 15, workers: 4 };

describeWithPostgres("the campaign of the mirror, in short", () => {
  whole.it(
    "finds nothing missing, differing or doubled after kills, crashes and cuts",
    async () => {
      const { missing, differing, doubled, waiting, lacking } = await runMirrorCampaign({
        ...SIZES,
        folder: path.join(tempFolder("mirror"), "shop"),
        program: inject("program"),
        seed: 3,
        ordersPerMinute: 600,
        gapMs: 400,
        settleMs: 150_000,
        say: () => {},
      });
      const none = { missing: [], differing: [], doubled: [], waiting: [], lacking: [] };
      expect({ missing, differing, doubled, waiting, lacking }).toEqual(none);
    },
    400_000,
  );
});
