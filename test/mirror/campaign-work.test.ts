import { expect, it } from "vitest";
import { type CampaignWork, findLacking } from "../../scripts/mirror/campaign-work.ts";

const SIZES = { kills: 100, crashes: 10, cuts: 100, workers: 4, ordersPerMinute: 3_000, gapMs: 800, settleMs: 0 };

const ENOUGH: CampaignWork = {
  killsAtWork: 60,
  cutConnections: 80,
  cutCommits: 50,
  bridgeCommits: 900,
  erpCommits: 900,
  erpRollbacks: 200,
  ordersDown: 3_000,
  marked: 1_000,
  requests: 200,
  rowsUp: 300,
  effects: 100,
};

it("finds nothing to say of a campaign that did enough", () => {
  expect(findLacking(SIZES, ENOUGH)).toEqual([]);
});

it.each(Object.keys(ENOUGH) as (keyof CampaignWork)[])("says that it proves nothing without %s", (name) => {
  const lacking = findLacking(SIZES, { ...ENOUGH, [name]: 0 });
  expect(lacking).toHaveLength(1);
  expect(lacking[0]).toMatch(new RegExp(`^${name}: 0, and \\d+ at least are needed$`));
});
