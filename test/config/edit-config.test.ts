import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { editConfig } from "../../src/config/edit-config.ts";
import { exampleConfig } from "../../src/config/example.ts";
import { parseConfig } from "../../src/config/load.ts";
import { itWhole, runs } from "../support/whole.ts";

const edited = (text: string, keys: Record<string, unknown>) => editConfig(text, keys)?.text;

describe("a value is written into a configuration", () => {
  it.each<[string, string, Record<string, unknown>, string]>([
    ["in the place of another", "a:\n  b: 1 # one\n  c: 2\n", { "a.b": 3 }, "a:\n  b: 3 # one\n  c: 2\n"],
    ["in the place of a quoted one", 'a: "x"\n', { a: "$.y" }, "a: $.y\n"],
    ["in the place of a list of lines", "a:\n  - 1\n  - 2\nb: 1\n", { a: [3] }, "a:\n  [ 3 ]\nb: 1\n"],
    [
      "as a commented default",
      "a:\n  # What b is.\n  #b: 1\n  c: 2\n",
      { "a.b": 3 },
      "a:\n  # What b is.\n  b: 3\n  c: 2\n",
    ],
    ["as a default under a key that is empty", "a:\n  #b: 1\nz: 1\n", { "a.b": 3 }, "a:\n  b: 3\nz: 1\n"],
    ["as a line of its own", "a:\n    c: 2\n", { "a.b": 3 }, "a:\n    b: 3\n    c: 2\n"],
    ["with the keys above it", "a:\n  c: 2\nz: 1\n", { "a.b.d": "x" }, "a:\n  b:\n    d: x\n  c: 2\nz: 1\n"],
    ["where nothing of it stands", "# mine\nz: 1\n", { "a.b": 3 }, "# mine\nz: 1\na:\n  b: 3\n"],
    ["in braces", "a: { c: 2 } # mine\n", { "a.b": "$.x" }, "a: { c: 2, b: $.x } # mine\n"],
    ["in empty braces", "a: {}\n", { "a.b.d": 1 }, "a: { b: { d: 1 } }\n"],
    ["in a file without an end of line", "a:\n  c: 2", { "a.b": 3 }, "a:\n  b: 3\n  c: 2"],
    ["in a file with ends of line of Windows", "a:\r\n  b: 1\r\n", { "a.b": 3 }, "a:\r\n  b: 3\r\n"],
    [
      "beside one of the same name elsewhere",
      "x:\n  b: 1\na:\n  c: 1\n",
      { "a.b": 3 },
      "x:\n  b: 1\na:\n  b: 3\n  c: 1\n",
    ],
  ])("%s", (_, text, keys, expected) => {
    expect(edited(text, keys)).toBe(expected);
  });

  it.each<[string, string, Record<string, unknown>, string]>([
    ["a commented default", "a:\r\n  #b: 1\r\n  c: 2\r\n", { "a.b": 3 }, "a:\r\n  b: 3\r\n  c: 2\r\n"],
    ["lines of their own", "a:\r\n  c: 2\r\n", { "a.b.d": 3, e: 4 }, "a:\r\n  b:\r\n    d: 3\r\n  c: 2\r\ne: 4\r\n"],
    ["a list of lines", "a:\r\n  - 1\r\n  - 2\r\nb: 1\r\n", { a: [3] }, "a:\r\n  [ 3 ]\r\nb: 1\r\n"],
    ["no end of the last line", "a:\r\n  c: 2", { "a.b": 3 }, "a:\r\n  b: 3\r\n  c: 2"],
    ["some lines of another system", "a:\r\n  c: 2\nb: 1\r\nd: 1\n", { b: 3 }, "a:\r\n  c: 2\nb: 3\r\nd: 1\n"],
  ])("in a file of Windows with %s, and no change shows an end of line", (_, text, keys, result) => {
    const edit = editConfig(text, keys);
    expect(edit?.text).toBe(result);
    expect(JSON.stringify(edit?.changes)).not.toContain("\\r");
  });

  it("and what changes is told by lines", () => {
    expect(editConfig("a:\n  b: 1\n  #c: 2\n", { "a.b": 3, "a.c": 4 })?.changes).toEqual([
      { removed: ["  b: 1"], added: ["  b: 3"] },
      { removed: ["  #c: 2"], added: ["  c: 4"] },
    ]);
  });

  it.each([
    ["an alias stands there", "x: &x { b: 1 }\na: *x\n", { "a.b": 3 }],
    ["a text stands where a group would", "a: text\n", { "a.b": 3 }],
    ["the text is no YAML", "a: [\n", { "a.b": 3 }],
  ])("not at all where %s", (_, text, keys) => {
    expect(edited(text, keys)).toBeUndefined();
  });

  itWhole("into the file that init makes, wherever its key stands in it, and nothing else of it changes", () => {
    const text = exampleConfig({ "service.client_secret": "stand-in" });
    const keys = {
      "updates.since": "unix_ms",
      "updates.next": "$.next",
      "updates.fields.order_id": "$.Ссылка",
      "orders.batch.orders": "$.данные.заказы",
      "orders.confirm.body": { packet: "{batch_id}" },
      "orders.statuses.closed": ["done", "cancelled"],
      "orders.line.quantity": "$.qty[0]",
      "imports.stocks.chunk": 50,
    };
    const result = editConfig(text, keys);
    for (const { removed, added } of result?.changes ?? [])
      expect([removed.length, added.length]).toEqual([expect.any(Number), 1]);
    expect(result?.text.split("\n").length).toBeLessThanOrEqual(text.split("\n").length + 1);
    const { config } = parseConfig({ text: result?.text ?? "", file: "/config.yaml", env: {} });
    expect(config.updates).toMatchObject({ since: "unix_ms", next: "$.next", fields: { order_id: "$.Ссылка" } });
    expect(config.orders.batch.orders).toBe("$.данные.заказы");
    expect(config.orders.confirm.body).toEqual({ packet: "{batch_id}" });
    expect(config.orders.line.quantity).toBe("$.qty[0]");
  });

  itWhole("or refused, whatever stands in the file: never a file that says something else", () => {
    const name = fc.constantFrom("a", "b", "c");
    const values = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom<unknown>(1, null, true, "x", "a: b", "# no", "", "line\nbreak", "null", "~"),
        fc.array(tie("value"), { maxLength: 2 }),
        fc.dictionary(name, tie("value"), { maxKeys: 3 }),
      ),
    })).value;
    const group = fc.dictionary(name, values, { maxKeys: 3 });
    const text = fc
      .tuple(group, fc.boolean(), fc.array(fc.tuple(fc.nat(), fc.constantFrom("# a: 1", "  #b: 2", "", "    # c"))))
      .map(([root, flow, extras]) => {
        const lines = (flow ? JSON.stringify(root, null, 1) : yamlOf(root)).split("\n");
        for (const [at, line] of flow ? [] : extras) lines.splice(at % (lines.length + 1), 0, line);
        return lines.join("\n");
      });
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((steps) => steps.join("."));
    fc.assert(
      fc.property(text, path, values, (before, key, value) => {
        let was: unknown;
        try {
          was = parse(before);
        } catch {
          return;
        }
        const after = edited(before, { [key]: value });
        if (after === undefined) return;
        expect(parse(after)).toEqual(put(was, key.split("."), value));
      }),
      { numRuns: runs(30, 1_000) },
    );
  });
});

const yamlOf = (root: object) =>
  Object.entries(root)
    .map(([key, value]) => (value === null ? `${key}:` : `${key}: ${JSON.stringify(value)}`))
    .join("\n");

function put(root: unknown, [step, ...rest]: string[], value: unknown): unknown {
  if (step === undefined) return value;
  const group = (root ?? {}) as Record<string, unknown>;
  return { ...group, [step]: put(group[step], rest, value) };
}
