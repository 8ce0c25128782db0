import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type Sample, slopePerHour, takeSample, trendOf } from "../../scripts/soak/samples.ts";

const HOUR_MS = 3_600_000;

function samples(rssMb: (hour: number) => number): Sample[] {
  return Array.from({ length: 100 }, (_, index) => {
    const hour = index / 25;
    const others = { heapMb: undefined, openFiles: 20, walMb: 4, timers: 5, handles: 5 };
    return { atMs: hour * HOUR_MS, rssMb: rssMb(hour), ...others };
  });
}

describe("the trend of a long run", () => {
  it("is the slope of its samples, in units an hour", () => {
    expect(slopePerHour([0, 1, 2, 3].map((hour) => ({ atMs: hour * HOUR_MS, value: 10 + 3 * hour })))).toBeCloseTo(3);
    expect(slopePerHour([{ atMs: 5, value: 1 }])).toBe(0);
  });

  it("is steady where memory goes up and down, and grows where it only goes up", () => {
    expect(
      trendOf(
        samples((hour) => 90 + 10 * Math.sin(9 * hour)),
        "rssMb",
      ),
    ).toMatchObject({ isSteady: true });
    expect(
      trendOf(
        samples((hour) => 90 + 40 * hour),
        "rssMb",
      ),
    ).toMatchObject({ isSteady: false });
  });

  it("does not count what a start costs", () => {
    expect(
      trendOf(
        samples((hour) => (hour < 0.5 ? 20 : 90)),
        "rssMb",
      ),
    ).toMatchObject({ isSteady: true });
  });

  it("is unknown where nothing was seen", () => {
    expect(
      trendOf(
        samples(() => 90),
        "heapMb",
      ),
    ).toBeUndefined();
  });

  it("is made of what a process shows of itself", () => {
    const seen = takeSample(process.pid, { database: "/nowhere", watched: "/nowhere" }, 7);
    expect(seen).toMatchObject({ atMs: 7, walMb: 0, rssMb: undefined, heapMb: undefined });
    expect(seen.openFiles).toBeGreaterThan(2);
  });

  it("has the memory that the process has written down itself", () => {
    const watched = path.join(mkdtempSync(path.join(tmpdir(), "samples-")), "watched.json");
    const mb = 1024 * 1024;
    writeFileSync(watched, JSON.stringify({ rssBytes: 150 * mb, heapBytes: 30 * mb, timers: 5, handles: 3 }));
    const seen = takeSample(process.pid, { database: "/nowhere", watched }, 7);
    expect(seen).toMatchObject({ rssMb: 150, heapMb: 30, timers: 5, handles: 3 });
  });
});
