import { describe, expect, it } from "vitest";
import { describeStep, Progress } from "../../src/cli/progress.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { type Message, render } from "../../src/messages/message.ts";
import { m } from "../../src/messages/messages.ts";
import { FakeClock } from "../support/bridge.ts";

/** Everything that was written, in its order: drawn lines begin with `~`, a line that is taken away is `~` alone. */
function watched(options: { isOn?: boolean; isWatched?: boolean } = {}) {
  const seen: string[] = [];
  const clock = new FakeClock();
  const terminal: Terminal = {
    env: {},
    isTerminal: true,
    out: (text) => void seen.push(`out ${text}`),
    err: (text) => void seen.push(`err ${text}`),
    ...(options.isWatched !== false && { draw: (line: Message | string) => void seen.push(`~${line}`) }),
  };
  const progress = new Progress({ terminal, clock, isOn: options.isOn ?? true });
  return { progress, clock, seen };
}

/** Counts to `upTo`, one in 10 ms. */
function countTo({ progress, clock }: ReturnType<typeof watched>, upTo: number): void {
  for (let done = 0; done <= upTo; done++) {
    progress.show({ what: "remap", unit: "orders", done, total: upTo });
    clock.advance(10);
  }
}

describe("progress", () => {
  it("says nothing of what is over within two seconds", () => {
    const all = watched();
    countTo(all, 190);
    all.progress.end();
    expect(all.seen).toEqual([]);
  });

  it("then redraws its line at most four times a second, with rate, counts and the time left", () => {
    const all = watched();
    countTo(all, 400);
    expect(all.seen[0]).toBe("~remap: 200 of 400 orders, 100/s, 2 s left");
    expect(all.seen.length).toBeLessThanOrEqual(9);
    expect(all.seen.length).toBeGreaterThanOrEqual(8);
  });

  it("is gone before a result or a message is written, and comes back after it", () => {
    const all = watched();
    countTo(all, 210);
    all.progress.terminal.out("a result");
    all.progress.terminal.err("a message");
    all.progress.show({ what: "remap", unit: "orders", done: 211 });
    all.progress.end();
    const [first, ...rest] = all.seen;
    expect(first).toMatch(/^~remap/);
    expect(rest).toEqual(["~", "out a result", "err a message", expect.stringMatching(/^~remap/), "~"]);
  });

  it("does nothing where nobody watches, and where results are for machines", async () => {
    for (const all of [watched({ isWatched: false }), watched({ isOn: false })]) {
      countTo(all, 1_000);
      let looks = 0;
      const look = () => {
        looks += 1;
        return { what: "sync" };
      };
      expect(await all.progress.during(look, async () => 7)).toBe(7);
      expect([all.seen, looks]).toEqual([[], 0]);
    }
  });

  it("looks how far the work is until it is over, and takes its line away", async () => {
    const all = watched();
    let done = 0;
    const work = async () => {
      while (done < 60) {
        done += 1;
        await all.clock.sleep(100);
      }
      return "made";
    };
    expect(await all.progress.during(() => ({ what: "stocks", unit: "rows", done, total: 60 }), work)).toBe("made");
    expect(all.seen[0]).toMatch(/^~stocks: \d+ of 60 rows, /);
    expect(all.seen.at(-1)).toBe("~");
  });

  it("neither hides a failure of the work nor fails with a look that fails", async () => {
    const all = watched();
    const look = () => {
      throw new Error("the database is locked");
    };
    const work = async () => {
      await all.clock.sleep(5_000);
      throw new Error("the work's own");
    };
    await expect(all.progress.during(look, work)).rejects.toThrow("the work's own");
    expect(all.seen).toEqual([]);
  });

  it("announces at once what stops the whole process, and takes it away before the next line", () => {
    const all = watched();
    expect(all.progress.announce(m.check.lookingThrough)).toBe(true);
    all.progress.terminal.out("sound");
    expect(watched({ isOn: false }).progress.announce(m.check.lookingThrough)).toBe(false);
    expect(all.seen).toEqual(["~Looking through the database …", "~", "out sound"]);
  });

  it("leaves out what is not known", () => {
    const after = (elapsedMs: number) => ({ from: 0, elapsedMs });
    const told = (...given: Parameters<typeof describeStep>) => String(describeStep(...given));
    expect(told({ what: m.restore.verifyingCopy }, after(5_400))).toBe("Verifying the copy, 5 s …");
    expect(told({ what: "orders", unit: "orders", done: 0 }, after(3_000))).toBe("orders: 0 orders");
    expect(told({ what: "orders", unit: "orders", done: 9 }, after(3_000))).toBe("orders: 9 orders, 3.0/s");
    expect(told({ what: "stocks", unit: "rows", done: 70_000, total: 100_000 }, after(70_000))).toBe(
      "stocks: 70000 of 100000 rows, 1000/s, 30 s left",
    );
    expect(told({ what: "stocks", unit: "rows", done: 5, total: 4 }, after(1_000))).toBe("stocks: 5 of 5 rows, 5.0/s");
  });

  it("is told in the language of whoever waits, with its spans", () => {
    const told = (total: number, elapsedMs: number) =>
      render("ru", describeStep({ what: "stocks", unit: "rows", done: 10, total }, { from: 0, elapsedMs }));
    expect(told(1_970, 1_000)).toBe("stocks: строк: 10 из 1970, 10/с, осталось 3 мин");
    expect(told(100, 10_000)).toBe("stocks: строк: 10 из 100, 1.0/с, осталось 90 с");
    expect(told(1_000, 100_000)).toBe("stocks: строк: 10 из 1000, 0.1/с, осталось 2 ч");
    expect(told(10_000, 1_000_000)).toBe("stocks: строк: 10 из 10000, 0.0/с, осталось 11 дней");
    expect(render("ru", describeStep({ what: m.restore.verifyingCopy }, { from: 0, elapsedMs: 5_400 }))).toBe(
      "Проверка копии, 5 с …",
    );
  });
});
