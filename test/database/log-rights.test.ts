import { describe, expect, it } from "vitest";
import { type KeepsOut, type LogFacts, planLog, type Rights } from "../../src/database/file/log-rights.ts";

const [ERP, BRIDGE, OTHER, SHARED] = [1001, 1002, 1003, 2000];

/** `erp:shared 640`: owner, group and mode. */
function rights(text: string): Rights {
  const ids: Record<string, number> = { root: 0, erp: ERP, bridge: BRIDGE, other: OTHER, shared: SHARED };
  const [, owner = "", group = "", mode = ""] = /^(\w+):(\w+) (\d+)$/.exec(text) ?? [];
  return { uid: ids[owner] ?? -1, gid: ids[group] ?? -1, mode: Number.parseInt(mode, 8) };
}

const facts = (file: string, folder: string, logs: readonly (string | undefined)[], user = "bridge:bridge 0") => {
  const { uid, gid } = rights(user);
  const found = logs.map((log) => (log === undefined ? undefined : rights(log)));
  return { file: rights(file), folder: rights(folder), logs: found, self: { uid, gid } } satisfies LogFacts;
};

const NONE = [undefined, undefined];
const both = (log: string) => [log, log];
const [PLAIN, SETGID] = ["erp:shared 770", "erp:shared 2770"];

describe("a log that SQLite would make", () => {
  it.each<[string, string, KeepsOut | undefined]>([
    ["erp:erp 600", SETGID, "new"],
    ["erp:erp 640", SETGID, "new"],
    ["erp:erp 644", SETGID, "new"],
    ["erp:shared 640", SETGID, "new"],
    // The folder gives its group only with setgid.
    ["erp:shared 660", SETGID, undefined],
    ["erp:shared 664", SETGID, undefined],
    ["erp:shared 660", PLAIN, "new"],
    ["erp:bridge 660", PLAIN, undefined],
    ["erp:erp 660", SETGID, "new"],
    ["erp:erp 666", PLAIN, undefined],
    // Nobody writes the file; root writes everywhere.
    ["erp:erp 444", SETGID, undefined],
    ["root:root 640", SETGID, undefined],
    ["bridge:bridge 640", SETGID, undefined],
    // The owner may, members of the group may not.
    ["root:shared 660", PLAIN, "new"],
    ["bridge:shared 660", PLAIN, "new"],
    ["root:shared 660", SETGID, undefined],
  ])("beside %s in a folder %s: %s", (file, folder, expected) => {
    expect(planLog(facts(file, folder, NONE))).toBe(expected);
    expect(planLog(facts(file, folder, ["erp:erp 644", undefined]))).toBe(expected);
    expect(planLog(facts(file, folder, [undefined, "erp:erp 644"]))).toBe(expected);
    // Root gives it the owner and the group of the file.
    expect(planLog(facts(file, folder, NONE, "root:root 0"))).toBe(undefined);
  });
});

describe("a log that is there", () => {
  it.each<[string, string, KeepsOut | undefined]>([
    ["erp:erp 640", "erp:erp 640", undefined],
    ["erp:erp 644", "other:other 644", undefined],
    ["erp:erp 644", "bridge:bridge 644", "own"],
    ["erp:shared 640", "bridge:shared 640", "own"],
    ["erp:shared 660", "bridge:shared 660", undefined],
    ["erp:shared 660", "bridge:bridge 660", "own"],
    // The mode of the file was changed after the log was made.
    ["erp:shared 660", "bridge:shared 640", "own"],
    ["erp:shared 666", "bridge:shared 660", "own"],
    ["erp:shared 640", "bridge:bridge 666", undefined],
    ["root:root 644", "bridge:bridge 644", undefined],
    ["bridge:shared 660", "bridge:bridge 660", undefined],
  ])("beside %s as %s: %s", (file, log, expected) => {
    expect(planLog(facts(file, SETGID, both(log)))).toBe(expected);
  });

  it("counts also where only one of the two is there, or only one is at fault", () => {
    expect(planLog(facts("erp:erp 644", SETGID, ["bridge:bridge 644", undefined]))).toBe("own");
    expect(planLog(facts("erp:erp 644", SETGID, ["erp:erp 644", "bridge:bridge 644"]))).toBe("own");
  });
});
