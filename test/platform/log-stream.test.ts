import { describe, expect, it } from "vitest";
import { LogStream } from "../../src/platform/log-stream.ts";

const LINE = `${"x".repeat(999)}\n`;

/** A terminal that takes so many bytes until it is told otherwise. */
function stoppable() {
  const taken: string[] = [];
  const retries: (() => void)[] = [];
  let room = Number.POSITIVE_INFINITY;
  let fault: string | undefined;
  const stream = new LogStream(
    (bytes) => {
      if (fault !== undefined) throw Object.assign(new Error(fault), { code: fault });
      if (room === 0) throw Object.assign(new Error("no room"), { code: "EAGAIN" });
      const some = bytes.subarray(0, Math.min(bytes.length, room));
      room -= some.length;
      taken.push(Buffer.from(some).toString("utf8"));
      return some.length;
    },
    (again) => void retries.push(again),
  );
  stream.onDropped((lines) => `${lines} dropped\n`);
  return {
    stream,
    text: () => taken.join(""),
    leave: (bytes: number) => {
      room = bytes;
    },
    fail: (code: string | undefined) => {
      fault = code;
    },
    waits: () => retries.length,
    again: () => {
      for (const retry of retries.splice(0)) retry();
    },
  };
}

describe("a log whose terminal takes nothing", () => {
  it("is written at once where there is room", () => {
    const { stream, text, waits } = stoppable();
    stream.write("a\n");
    stream.write("b\n");
    expect([text(), waits()]).toEqual(["a\nb\n", 0]);
  });

  it("keeps the rest of a line, and what comes after it, in order", () => {
    const { stream, text, leave, waits, again } = stoppable();
    leave(3);
    stream.write("first\n");
    stream.write("second\n");
    expect([text(), waits()]).toEqual(["fir", 1]);
    again();
    expect([text(), waits()]).toEqual(["fir", 1]);
    leave(Number.POSITIVE_INFINITY);
    again();
    expect([text(), waits()]).toEqual(["first\nsecond\n", 0]);
  });

  it("drops what finds no room in memory, and says how much, in its place", () => {
    const { stream, text, leave, again } = stoppable();
    leave(0);
    for (let line = 0; line < 400; line++) stream.write(LINE);
    leave(Number.POSITIVE_INFINITY);
    again();
    stream.write("after\n");
    const kept = text()
      .split("\n")
      .filter((line) => line.startsWith("x")).length;
    expect(kept).toBe(256);
    expect(text().endsWith("x\n144 dropped\nafter\n")).toBe(true);
  });

  it("drops no later line into the gap before that is said", () => {
    const { stream, text, leave, again } = stoppable();
    leave(0);
    for (let line = 0; line < 300; line++) stream.write(LINE);
    leave(10 * LINE.length);
    again();
    stream.write("between\n");
    leave(Number.POSITIVE_INFINITY);
    again();
    expect(text().endsWith("x\n45 dropped\n")).toBe(true);
  });

  it("gives up what a closed terminal does not take", () => {
    const { stream, text, fail, waits } = stoppable();
    fail("EIO");
    stream.write("lost\n");
    fail(undefined);
    stream.write("there\n");
    expect([text(), waits()]).toEqual(["there\n", 0]);
  });
});
