import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Campaign } from "../../scripts/crash/campaign.ts";
import { runDiskPart } from "../../scripts/crash/disk-part.ts";
import { runKillPart } from "../../scripts/crash/kill-part.ts";
import { plantMistake } from "../../scripts/crash/plant-mistake.ts";
import { lookAtImages, PLANTED_NORMAL, runPowerPart } from "../../scripts/crash/power-part.ts";
import { Report } from "../../scripts/crash/report.ts";
import { inWhole } from "../support/whole.ts";

const whole = inWhole("orders/pull-random", "crash/disk-image", "cli/failures", "e2e/crash-orders");
/** A machine that is busy with other things makes each part slow. */
const LONG = { timeout: 240_000 };
/** The campaigns of `npm run campaign:crash`, with every so-manyth operation only. */
const STRIDE = 113;

const lines: string[] = [];
const begin = (seed: number) =>
  Campaign.begin({ seed, report: new Report((line) => lines.push(line)), stride: STRIDE });
const hasCompiler = spawnSync("gcc", ["--version"]).status === 0;

const describeHere = hasCompiler ? whole.describe : describe.skip;

describeHere("the installed program on a disk that can be told to fail (needs gcc)", LONG, () => {
  let campaign: Campaign;
  beforeAll(async () => {
    campaign = await begin(1);
  });
  afterAll(() => campaign.end());
  const violations = () => campaign.report.violations.splice(0);

  it("loses nothing when it is killed at a write of a batch", async () => {
    await runKillPart(campaign, { rounds: 0, targets: 1 });
    expect(violations(), lines.join("\n")).toEqual([]);
  });

  it("loses nothing in a power cut, whatever was not synced", async () => {
    await runPowerPart(campaign, { cuts: 0, recorded: 2, planted: false });
    expect(violations(), lines.join("\n")).toEqual([]);
  });

  it("would be found out if it did not sync", async () => {
    const { program } = campaign.installed;
    await lookAtImages(campaign, 1, plantMistake(program, campaign.newFolder("planted"), PLANTED_NORMAL));
    expect(violations().join("\n")).toMatch(/drop all: \d+ confirmed orders are not in the database/);
  });

  it("confirms nothing on a full disk and goes on by itself when there is room", async () => {
    await runDiskPart(campaign, { rounds: 0, illnesses: 1, firstStarts: false });
    expect(violations(), lines.join("\n")).toEqual([]);
  });
});
