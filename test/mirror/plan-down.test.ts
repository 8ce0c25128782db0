import { describe, expect, it } from "vitest";
import { m } from "../../src/messages/messages.ts";
import { upToOf } from "../../src/mirror/down/down-rows.ts";
import { fitsJsonb, plainText } from "../../src/mirror/down/plain-values.ts";
import { planBeginning } from "../../src/mirror/down/plan-down.ts";
import { codeOf, type MirrorError, mirrorErrorOf } from "../../src/mirror/mirror-error.ts";
import { compareVersions } from "../../src/mirror/schema/schema-version.ts";

describe("what the way down begins with", () => {
  const position = { epoch: 2, ordersSeq: 1_000, eventsSeq: 1_000, walk: null } as const;
  const local = { head: 1_000, oldest: 1, isRestored: false, isOther: false, refusedEvent: undefined };

  it.each([
    ["nothing to do", position, local, false, undefined],
    ["news", position, { ...local, head: 1_003 }, false, undefined],
    ["a night", position, local, true, { walk: "compare", walkAfter: 0 }],
    [
      "a night after an event was refused",
      position,
      { ...local, refusedEvent: 900 },
      true,
      { walk: "compare", walkAfter: 0, eventsSeq: 899 },
    ],
    [
      "a restored copy, whose numbers jump",
      position,
      { ...local, head: 10_000_000, isOther: true },
      false,
      { ordersSeq: 10_000_000, walk: "compare", walkAfter: 0 },
    ],
    ["a night during a copy", { ...position, walk: "copy" as const }, local, true, undefined],
    ["every event removed, all mirrored", position, { ...local, oldest: 1_001 }, false, undefined],
    [
      "events removed too early",
      position,
      { ...local, head: 3_000, oldest: 2_000 },
      false,
      { ordersSeq: 3_000, walk: "compare", walkAfter: 0 },
    ],
    ["the next event is the oldest", position, { ...local, head: 1_002, oldest: 1_001 }, false, undefined],
    ["PostgreSQL restored", position, { ...local, isRestored: true }, false, { walk: "compare", walkAfter: 0 }],
    [
      "PostgreSQL restored during a copy",
      { ...position, walk: "copy" as const },
      { ...local, isRestored: true },
      false,
      { walk: "copy", walkAfter: 0 },
    ],
    [
      "an older file",
      position,
      { ...local, head: 900 },
      false,
      { epoch: 3, ordersSeq: 900, eventsSeq: 0, walk: "compare", walkAfter: 0 },
    ],
  ])("%s", (_, at, own, isAsked, move) => {
    expect(planBeginning(at, own, isAsked).move).toEqual(move ?? {});
  });
});

describe("up to which event the news are written", () => {
  const events = [
    { seq: 11, key: 1 },
    { seq: 12, key: 2 },
    { seq: 15, key: 1 },
  ];
  const keys = (...read: number[]) => new Set(read);

  it.each([
    ["all of them, and there are no more", true, keys(1, 2), 20],
    ["all of them, and more may follow", false, keys(1, 2), 15],
    ["the first order", true, keys(1), 11],
    ["the second order", true, keys(2), 10],
    ["none", true, keys(), 10],
  ])("%s", (_, isAll, read, upTo) => expect(upToOf(10, { events, isAll, head: 20 }, read)).toBe(upTo));
});

describe("values", () => {
  it.each([
    ['{"a":"b"}', true],
    ['{"a":"\\ud83d\\ude00"}', true],
    ['{"a":"\\ud83d"}', false],
    ['{"\\u0000":1}', false],
    ['[["x\\u0000"]]', false],
    ['{"a":"\\\\u0000"}', true],
  ])("%s fits jsonb: %s", (json, fits) => expect(fitsJsonb(json)).toBe(fits));

  it("lose only what PostgreSQL cannot hold", () => {
    expect([plainText("a\0b"), plainText("a\ud800"), plainText("\u{1f600}"), plainText(null)]).toEqual([
      ...["a\ufffdb", "a\ufffd", "\u{1f600}"],
      null,
    ]);
  });
});

describe("errors", () => {
  const thrown = (code: string) => Object.assign(new Error("words"), { code });

  it.each([
    ["ECONNREFUSED", "mirror_away"],
    ["57P01", "mirror_away"],
    ["57P03", "mirror_away"],
    ["08006", "mirror_away"],
    ["57014", "mirror_slow"],
    ["55P03", "mirror_slow"],
    ["40P01", "mirror_slow"],
    ["53100", "mirror_full"],
    ["53300", "mirror_full"],
    ["25006", "mirror_read_only"],
    ["28P01", "mirror_access"],
    ["28000", "mirror_access"],
    ["3D000", "mirror_access"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "mirror_certificate"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "mirror_certificate"],
    ["42501", "mirror_right"],
    ["42P01", "mirror_schema"],
    ["23514", "mirror_failed"],
    ["XX000", "mirror_failed"],
  ])("%s is %s", (code, expected) => expect(codeOf(thrown(code))).toBe(expected));

  it.each([
    ["Connection terminated unexpectedly", "mirror_away"],
    ["timeout expired", "mirror_away"],
    ["Query read timeout", "mirror_slow"],
    ["The server does not support SSL connections", "mirror_certificate"],
    ["SASL: SCRAM-SERVER-FINAL-MESSAGE: server signature does not match", "mirror_access"],
  ])("%s is %s", (words, expected) => expect(codeOf(new Error(words))).toBe(expected));

  const target = { host: "db", port: 5432, user: "north", password: "s3cret", database: "chain", tls: true };
  const met = { target, shop: "north", schema: "erp_bridge", doing: m.mirror.committing, timeoutMs: 10_000 };

  it.each([
    ["57014", 10_001, "tooLong"],
    ["57014", 2_000, "cancelled"],
    ["55P03", 5_001, "locked"],
    ["25P03", 20, "silentHere"],
    ["40P01", 1_000, "gaveWay"],
    ["40001", 1_000, "gaveWay"],
  ])("%s after %s ms says: %s", (code, tookMs, words) => {
    const error = mirrorErrorOf(thrown(code), { ...met, tookMs }) as MirrorError;
    expect([error.code, error.text, error.hint, error.isTooLong]).toMatchObject([
      "mirror_slow",
      { id: `mirror.${words}` },
      { id: `mirror.${words}Hint` },
      words === "tooLong",
    ]);
  });

  it("say of a COMMIT that was not answered that its outcome is unknown, and hold no password", () => {
    const committing = { ...met, isCommit: true };
    const lost = mirrorErrorOf(thrown("ECONNRESET"), committing) as MirrorError;
    const refused = mirrorErrorOf(thrown("40001"), committing) as MirrorError;
    expect([lost.isOutcomeUnknown, refused.isOutcomeUnknown]).toEqual([true, false]);
    expect(JSON.stringify([lost.text, lost.hint, refused.text])).not.toContain("s3cret");
  });
});

describe("the schema's version", () => {
  const expected = ["a", "b"].map((hash) => ({ tag: hash, when: 1, hash, statements: [] }));
  const applied = (...hashes: string[]) => hashes.map((hash) => ({ tag: hash, hash }));

  it.each([
    [applied("a", "b"), "same"],
    [applied("a"), "older"],
    [applied("a", "b", "c"), "newer"],
    [applied("a", "x"), "other"],
  ])("%j is %s", (found, outcome) => expect(compareVersions(found, expected)).toBe(outcome));
});
