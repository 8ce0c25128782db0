import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { CUTS, type Cut, DiskImage, type DiskRecord, readDiskLog } from "../../scripts/crash/disk-image.ts";
import { seededRandom } from "../../src/sandbox/random.ts";
import { tempFolder } from "../support/temp.ts";

const DATABASE = 1;
const record = (kind: DiskRecord["kind"], offset = 0, text = ""): DiskRecord => ({
  kind,
  file: DATABASE,
  offset,
  data: Buffer.from(text),
  end: 0,
});

/** What is left of the text `old` after these records and this cut; undefined: no file. */
function imageAfter(records: readonly DiskRecord[], cut: Cut, seed = 1): string {
  const database = path.join(tempFolder("image"), "bridge.db");
  writeFileSync(database, "old");
  const image = new DiskImage(database);
  for (const each of records) image.apply(each);
  image.write(database, cut, seededRandom(seed));
  return readFileSync(database, "utf8");
}

describe("the image of a disk after a power cut", () => {
  it.each(CUTS)("holds what was synced (%s)", (cut) => {
    expect(imageAfter([record("write", 0, "newer"), record("sync")], cut)).toBe("newer");
  });

  it("has nothing or all of what was not synced", () => {
    const records = [record("write", 3, "er"), record("truncate", 4)];
    expect(imageAfter(records, "drop all")).toBe("old");
    expect(imageAfter(records, "keep all")).toBe("olde");
  });

  it("has any of the sectors of a write, each whole", () => {
    const sectors = ["a".repeat(512), "b".repeat(512)];
    const seen = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      const text = imageAfter(
        [record("truncate", 1024), record("sync"), record("write", 0, sectors.join(""))],
        "random sectors",
        seed,
      );
      for (const [index, sector] of sectors.entries()) {
        const part = text.slice(index * 512, (index + 1) * 512);
        expect([sector, `${index === 0 ? "old" : "\0\0\0"}${"\0".repeat(509)}`]).toContain(part);
        seen.add(`${index} ${part === sector}`);
      }
    }
    expect(seen).toEqual(new Set(["0 true", "0 false", "1 true", "1 false"]));
  });

  it("has the first of some writes without the later ones, or the last without the earlier ones", () => {
    const records = [record("write", 0, "N"), record("write", 1, "E"), record("write", 2, "W")];
    const seen = (cut: Cut) => new Set(Array.from({ length: 40 }, (_, seed) => imageAfter(records, cut, seed)));
    expect(seen("prefix")).toEqual(new Set(["old", "Nld", "NEd", "NEW"]));
    expect(seen("suffix")).toEqual(new Set(["old", "olW", "oEW", "NEW"]));
  });

  it("never has what a failed sync dropped, also after one that succeeds", () => {
    const records = [record("write", 0, "new"), record("sync failed"), record("sync")];
    for (const cut of CUTS) expect(imageAfter(records, cut)).toBe("old");
  });

  it("is read from a log that a kill cut off in its last record", () => {
    const file = path.join(tempFolder("image"), "log");
    const head = Buffer.alloc(16);
    head.set([1, DATABASE]);
    head.writeUInt32LE(3, 4);
    head.writeBigInt64LE(7n, 8);
    writeFileSync(file, Buffer.concat([head, Buffer.from("new"), head, Buffer.from("n")]));
    expect(readDiskLog(file)).toEqual([
      { kind: "write", file: DATABASE, offset: 7, data: Buffer.from("new"), end: 19 },
    ]);
  });
});
