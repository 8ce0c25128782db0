import { rmSync, truncateSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { listHealthProblems } from "../../src/health/health.ts";
import { describeStatus } from "../../src/health/status.ts";
import { openNewStore } from "../support/new-store.ts";
import { tempFolder } from "../support/temp.ts";

it("a file DATABASE-journal is a health problem and the first line of the status, in the running daemon, until it is gone", () => {
  const { file, store } = openNewStore(tempFolder("journal"));
  const limits = { erpReadWithinMs: 60_000 };
  const look = () => {
    const facts = loadFacts(store);
    const { attention, conditions } = describeStatus(facts, { nowMs: Date.now(), isRunning: true }, limits);
    const ill = listHealthProblems(conditions);
    return {
      worst: attention.find((text) => !/without success so far/.test(text)),
      ill: ill.some(({ flow, reason }) => flow === "database" && reason === "journal"),
    };
  };
  const words = expect.stringContaining("-journal at the end of the database's name keeps other programs out");
  writeFileSync(`${file}-journal`, "left by somebody");
  expect(look()).toEqual({ worst: words, ill: true });
  expect(() => store.secure()).toThrow("lies beside the database");
  truncateSync(`${file}-journal`); // SQLite takes no notice of an empty one
  expect(look().ill).toBe(false);
  store.secure();
  rmSync(`${file}-journal`);
  expect(look()).toEqual({ worst: undefined, ill: false });
});
