import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { constants, openSync, readdirSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { BridgeError } from "../../src/platform/errors.ts";
import { helperFor, Unanswered } from "../../src/platform/helper-process.ts";
import { words } from "../support/messages.ts";
import { tempFolder } from "../support/temp.ts";
import type { WaitingFunctions } from "../support/waiting-helper.ts";
import { itWhole } from "../support/whole.ts";

const PROGRAM = path.join(import.meta.dirname, "..", "support", "waiting-helper.ts");

function scene() {
  const pipe = path.join(tempFolder(), "pipe");
  execFileSync("mkfifo", [pipe]);
  const place = pipe;
  const helper = helperFor<WaitingFunctions>(PROGRAM, place);
  return { pipe, place, helper, call: { place, withinMs: 10_000 } };
}

/** From here on time passes only when the test says so; what helper processes send arrives all the same. */
function holdTime(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
}

const isThere = (pid: number) => readdirSync("/proc").includes(String(pid));

describe("a helper process", () => {
  it("that does not answer in time is killed, and the next call has another one", async () => {
    const { helper, call, pipe, place } = scene();
    const pid = await helper.call("pid", call);
    holdTime();
    const silent = expect(helper.call("open", { place, withinMs: 300 }, pipe)).rejects.toThrow(
      `${pipe} does not answer.`,
    );
    await vi.advanceTimersByTimeAsync(300);
    await silent;
    vi.useRealTimers();
    const next = await helper.call("pid", call);
    expect([next === pid, isThere(pid)]).toEqual([false, false]);
    helper.close();
  });

  itWhole("keeps no other place waiting, and not the loop", async () => {
    const [first, second] = [scene(), scene()];
    holdTime();
    const hanging = first.helper.call("open", { place: first.place, withinMs: 2_000 }, first.pipe);
    hanging.catch(() => {});
    const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => second.helper.call("echo", second.call, n)));
    expect(answers).toEqual([1, 2, 3, 4, 5]);
    await vi.advanceTimersByTimeAsync(2_000);
    await expect(hanging).rejects.toBeInstanceOf(Unanswered);
    second.helper.close();
  });

  itWhole("answers in time as long as it gives signs of life", async () => {
    const { helper, place } = scene();
    holdTime();
    const notes: unknown[] = [];
    const onProgress = (note: unknown) => {
      notes.push(note);
      vi.advanceTimersByTime(2_900);
    };
    await helper.call("steps", { place, withinMs: 3_000, onProgress }, 5);
    expect(notes).toEqual([0, 1, 2, 3, 4]);
    helper.close();
  });

  itWhole("is told of a stop, and killed where it does not end soon", async () => {
    const { helper, call, pipe } = scene();
    const stopping = { ...call, isStopping: () => true };
    holdTime();
    const tidied = helper.call("untilAborted", { ...stopping, stopWithinMs: 10_000 });
    await vi.advanceTimersByTimeAsync(200);
    expect(await tidied).toBe("tidied up");
    const killed = expect(helper.call("open", { ...stopping, stopWithinMs: 300 }, pipe)).rejects.toMatchObject({
      code: "stopped",
    });
    await vi.advanceTimersByTimeAsync(600);
    await killed;
  });

  itWhole("hands values and errors over as they are, and says that it ended", async () => {
    const { helper, call } = scene();
    const value = {
      big: 2n ** 60n,
      bytes: randomBytes(2_000_000),
      none: null,
      map: new Map([["a", Buffer.from("b")]]),
    };
    expect(await helper.call("echo", call, value)).toEqual(value);
    const ours = await helper.call("throwOurs", call).catch((error: unknown) => error as BridgeError);
    expect(ours).toBeInstanceOf(BridgeError);
    expect({ ...(ours as BridgeError) }).toEqual({
      ...new BridgeError("table_missing", words("no table."), { hint: words("Make it.") }),
    });
    await expect(helper.call("throwSystems", call)).rejects.toMatchObject({ code: "ENOENT", path: "/nowhere/at/all" });
    await expect(helper.call("end", call)).rejects.toThrow("ended early (3)");
    expect(await helper.call("echo", call, "again")).toBe("again");
    helper.close();
  });

  itWhole("does the same for callers that cannot wait, who do not ask twice at once", () => {
    const { helper, pipe, place } = scene();
    expect(helper.callSync("echo", { place }, { big: 1n })).toEqual({ big: 1n });
    expect(() => helper.callSync("throwOurs", { place })).toThrow("no table.");
    const startedMs = performance.now();
    expect(() => helper.callSync("open", { place, withinMs: 500 }, pipe)).toThrow(Unanswered);
    const waitedMs = performance.now() - startedMs;
    expect(() => helper.callSync("echo", { place }, 1)).toThrow(Unanswered);
    expect(performance.now() - startedMs - waitedMs).toBeLessThan(1_000);
  });

  itWhole("keeps a program neither from ending nor outlives it", async () => {
    const { pipe } = scene();
    const file = path.join(path.dirname(pipe), "main.ts");
    const source = path.join(import.meta.dirname, "..", "..", "src", "platform", "helper-process.ts");
    writeFileSync(
      file,
      `import { helperFor } from ${JSON.stringify(source)};
       const helper = helperFor(${JSON.stringify(PROGRAM)}, "place");
       await helper.call("hold", { place: "place" }, ${JSON.stringify(pipe)});`,
    );
    // The pipe ends when no process holds it any more.
    const reader = new Socket({ fd: openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK) });
    execFileSync(process.execPath, [file], { timeout: 20_000 });
    await once(reader.resume(), "end");
  });
});
