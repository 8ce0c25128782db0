import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  parseTemplate,
  placeholdersOf,
  RenderError,
  renderPath,
  renderTemplate,
  type TemplateValue,
} from "../../src/answers/template.ts";
import { TextSyntaxError } from "../../src/answers/text-syntax-error.ts";
import { ANY_CHARACTER } from "../support/any-text.ts";

const text = (value: string): TemplateValue => ({ kind: "text", text: value });
const number = (literal: string): TemplateValue => ({ kind: "number", literal });
const json = (value: string): TemplateValue => ({ kind: "json", text: value });
const bool = (value: boolean): TemplateValue => ({ kind: "bool", value });
const none: TemplateValue = { kind: "null" };

function render(template: unknown, x?: TemplateValue): string {
  return renderTemplate(parseTemplate(template), (name) => (name === "x" ? x : undefined));
}

describe("parseTemplate", () => {
  it("names every placeholder once, in order", () => {
    const template = parseTemplate({ a: "{b|number}", c: ["{a} {b}", { d: "{цена за шт}" }], e: 1 });
    expect(placeholdersOf(template)).toEqual(["b", "a", "цена за шт"]);
  });

  it.each([
    ["{", "$", 1],
    ["a}", "$", 2],
    ["{}", "$", 1],
    ["{ }", "$", 1],
    ["{a", "$", 1],
    ["{a|}", "$", 1],
    ["x {a|float}", "$", 3],
    ["{a|number|string}", "$", 1],
    ["{a{b}}", "$", 1],
    ["{{a}", "$", 4],
    [{ list: ["ok", "{a|money}"] }, "$.list[1]", 1],
    [{ "{key}": 1 }, '$."{key}"', undefined],
    [{ n: Number.NaN }, "$.n", undefined],
    [{ n: 9007199254740992 }, "$.n", undefined],
    [{ d: new Date(0) }, "$.d", undefined],
    [{ f: () => 1 }, "$.f", undefined],
    [{ u: undefined }, "$.u", undefined],
  ])("refuses %j at %s, column %s", (template, at, column) => {
    if (at === undefined) expect(parseTemplate(template)).toBeDefined();
    else
      expect(() => parseTemplate(template)).toThrow(expect.objectContaining({ name: "TextSyntaxError", at, column }));
  });

  it("refuses a template without end", () => {
    const loop: Record<string, unknown> = {};
    loop["again"] = loop;
    expect(() => parseTemplate(loop)).toThrow(TextSyntaxError);
  });
});

describe("renderTemplate", () => {
  it.each<[unknown, TemplateValue, string]>([
    ["{x}", text('a"б\n'), '"a\\"б\\n"'],
    ["{x}", number("1234567890.10"), "1234567890.10"],
    ["{x}", none, "null"],
    ["{x}", bool(false), "false"],
    ["{x}", json(' {"a" : [1.0]} '), '{"a" : [1.0]}'],
    [" {x}", number("1.0"), '" 1.0"'],
    ["№{x}!", text("\ud83d"), '"№\\ud83d!"'],
    ["[{x}]", none, '"[]"'],
    ["{x}{x}", bool(true), '"truetrue"'],
    ["{{{x}", text("1"), '"{1"'],
    ["{{x}} {x} }}", text("1"), '"{x} 1 }"'],
    ["{x|number}", text(" +007.50 "), "7.50"],
    ["{x|number}", number("0.250"), "0.250"],
    ["{x|number}", json("12"), "12"],
    ["{x|number}", none, "null"],
    ["{x|number} kg", text("+1"), '"1 kg"'],
    ["{x|string}", number("7.0"), '"7.0"'],
    ["{x|string}", bool(true), '"true"'],
    ["{x|string}", json('{"a":1}'), '"{\\"a\\":1}"'],
    ["{x|string}", none, "null"],
    ["{x|json}", text('{"a":1e2}\n'), '{"a":1e2}'],
    ["{x|json}", number("5"), "5"],
    ["{x|bool}", number("1"), "true"],
    ["{x|bool}", number("0.0"), "false"],
    ["{x|bool}", text(" TRUE"), "true"],
    ["{x|bool}", text("0"), "false"],
    ["{ x | number }", text("3"), "3"],
  ])("renders %j", (template, value, expected) => {
    expect(render(template, value)).toBe(expected);
  });

  it.each<[unknown, TemplateValue | undefined, RegExp]>([
    ["{x}", undefined, /no such value/],
    ["{x}", number("NaN"), /JSON/],
    ["{x}", number("-Infinity"), /JSON/],
    ["{x}", number("1e400"), /JSON/],
    ["{x}", number("+1"), /JSON/],
    ["{x}", number(".5"), /JSON/],
    ["{x}", json("{"), /valid JSON/],
    ["{x|number}", text("ten"), /not a number/],
    ["{x|number}", text(""), /not a number/],
    ["{x|number}", text("1,5"), /not a number/],
    ["{x|number}", bool(true), /not a number/],
    ["{x|number}", json("[1]"), /not a number/],
    ["{x|json}", text('{"a":'), /valid JSON/],
    ["{x|bool}", text("maybe"), /neither/],
    ["{x|bool}", number("2"), /neither/],
  ])("refuses %j with %j", (template, value, reason) => {
    expect(() => render(template, value)).toThrow(
      expect.objectContaining({
        name: "RenderError",
        placeholder: "x",
        reason: expect.toSatisfy((text) => reason.test(String(text))),
      }),
    );
  });

  it("keeps the rest of the template as YAML gave it", () => {
    const template = { a: [1, 0.5, null, true, -0], 'q"': "{{}}", "{{k}}": 12n, ["__proto__"]: {}, e: "" };
    expect(render(template)).toBe('{"a":[1,0.5,null,true,0],"q\\"":"{}","{k}":12,"__proto__":{},"e":""}');
  });

  it("does not render a value again that looks like a placeholder", () => {
    expect(render("{x} {x}", text("{x}"))).toBe('"{x} {x}"');
  });

  it("always gives JSON that holds the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER }), fc.string({ unit: ANY_CHARACTER }), (literal, value) => {
        const escaped = literal.replaceAll("{", "{{").replaceAll("}", "}}");
        const rendered = render({ whole: "{x}", part: `${escaped}{x}.`, [escaped]: [escaped] }, text(value));
        expect(JSON.parse(rendered)).toEqual(
          Object.fromEntries([
            ["whole", value],
            ["part", `${literal}${value}.`],
            [literal, [literal]],
          ]),
        );
      }),
    );
  });
});

describe("renderPath", () => {
  const path = "/api/v1/1c/orders/{order_id}/status";

  it.each([
    ["0b9a", "/api/v1/1c/orders/0b9a/status"],
    ["../confirm", "/api/v1/1c/orders/..%2Fconfirm/status"],
    ["a/b?c#d e%", "/api/v1/1c/orders/a%2Fb%3Fc%23d%20e%25/status"],
    ["заказ", "/api/v1/1c/orders/%D0%B7%D0%B0%D0%BA%D0%B0%D0%B7/status"],
    ["...", "/api/v1/1c/orders/.../status"],
  ])("encodes %s", (order_id, expected) => {
    expect(renderPath(path, { order_id })).toBe(expected);
  });

  it.each(["", ".", "..", "\ud83d"])("refuses the value %j", (order_id) => {
    expect(() => renderPath(path, { order_id })).toThrow(RenderError);
  });

  it("refuses a missing value, inherited ones too", () => {
    expect(() => renderPath(path, {})).toThrow(RenderError);
    expect(() => renderPath("/{constructor}", {})).toThrow(RenderError);
    expect(() => renderPath("/.{a}", { a: "." })).toThrow(RenderError);
  });

  it.each([
    ...["", "orders", "//evil.example/x", "/\\evil.example", "/a#b", "/a b", "/a/../b", "/a/%2E%2e", "/./a"],
    ...["/{order_id", "/{order_id|string}", "https://evil.example/"],
  ])("refuses the path %j", (wrong) => {
    expect(() => renderPath(wrong, { order_id: "1" })).toThrow(TextSyntaxError);
  });

  it("stays below its place on the same host, whatever the value", () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER }), (order_id) => {
        let rendered: string;
        try {
          rendered = renderPath(path, { order_id });
        } catch (error) {
          expect(error).toBeInstanceOf(RenderError);
          return;
        }
        const url = new URL(rendered, "https://api.example.com");
        expect([url.host, url.search, url.hash]).toEqual(["api.example.com", "", ""]);
        expect(url.pathname.split("/").map(decodeURIComponent)).toEqual([
          "",
          "api",
          "v1",
          "1c",
          "orders",
          order_id,
          "status",
        ]);
      }),
    );
  });
});
