// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the file, meant as it stands
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { showConfig } from "../../src/config/show.ts";
import { itSome } from "../support/whole.ts";
import { errorOf, MINIMAL, parse, SECRET, temporaryFile } from "./support.ts";

const HEAD = "service:\n  base_url: https://api.example.com\n  client_id: shop-1\n";

/** Files that are wrong close to the secret, or because of it. */
const LEAKY: [name: string, text: string][] = [
  ["a mistyped key", `${HEAD}  client_secrt: ${SECRET}\n`],
  ["another mistyped key", `${HEAD}  clint_scret: ${SECRET}\n`],
  ["an unknown key", `${HEAD}  pin: ${SECRET}\n`],
  ["an unknown key beside another error", `service: { base_url: nonsense, client_id: x, pin: ${SECRET} }\n`],
  ["a mistyped key without its colon", `${HEAD}  client_secrt ${SECRET}\n`],
  ["a wrong group", `${HEAD}client_secret: ${SECRET}\n`],
  ["another word for it", `${HEAD}  password: ${SECRET}\n`],
  ["a secret given twice", `${HEAD}  client_secret: ${SECRET}\n  client_secret: ${SECRET}\n`],
  ["a secret beside a file", `${HEAD}  client_secret: ${SECRET}\n  client_secret_file: x\n`],
  ["a secret in a group", `${HEAD}  client_secret: { value: ${SECRET} }\n`],
  ["a secret in a list", `${HEAD}  client_secret:\n    - ${SECRET}\n`],
  ["a folded secret", `${HEAD}  client_secret: >-\n    ${SECRET}\n    more\n  x: 1\n`],
  ["a secret with a line break", `${HEAD}  client_secret: "${SECRET}\\n"\n`],
  ["a secret behind an alias", `a: &s ${SECRET}\n${HEAD}  client_secret: *s\n`],
  ["a secret that is an anchor's value", `${HEAD}  client_secret: &s ${SECRET}\nlog: { level: *s }\n`],
  ["everything on one line", `service: { base_url: nonsense, client_id: x, client_secret: ${SECRET} }\n`],
  ["a quote left open", `${HEAD}  client_secret: "${SECRET}\nlog: {}\n`],
  ["a colon forgotten", `${HEAD}  client_secret ${SECRET}\n`],
  ["a colon forgotten alone", `service:\n  client_secret ${SECRET}\n`],
  ["a tab before it", `${HEAD}\tclient_secret: ${SECRET}\n`],
  ["a broken line after it", `${HEAD}  client_secret: ${SECRET}\n  [\n`],
  ["a continued line", `${HEAD}  client_secret: a\n   ${SECRET}: x: y\n`],
  ["a broken line inside it", `${HEAD}  client_secret: "a\n${SECRET}\n`],
  ["a default of a variable", `${HEAD}  client_secret: \${NONE:-${SECRET}é}\n`],
  ["credentials in the address", `service: { base_url: "https://u:${SECRET}@api.example.com", client_id: x }\n`],
  ["a proxy without its scheme", `${HEAD}  client_secret: x\n  proxy: "user:${SECRET}@proxy.example.com:3128"\n`],
  ["a database with one slash", `${MINIMAL}mirror: { url: "postgres:/sh:${SECRET}@db.example.com/shops", shop: a }\n`],
  ["a database without its scheme", `${MINIMAL}mirror: { url: "sh:p@ss${SECRET}@db.example.com/shops", shop: a }\n`],
  [
    "a parameter of a database's address",
    `${MINIMAL}mirror: { url: "postgres://sh:x@db.example.com/shops?optoins=${SECRET}", shop: a }\n`,
  ],
  ["a webhook that is none", `${MINIMAL}alerts: { webhook: "hooks/${SECRET}" }\n`],
];

/** Values that came from a variable, wrong wherever they stand. */
const PLACES = [
  "service: { base_url: '${C}', client_id: '${C}\u00e9', client_secret_file: '${C}' }",
  "orders: { schedule: '${C}', fields: { number: '${C}' }, extra: { a: '${C}' }, ignore: ['${C}'] }",
  "orders: { batch: { orders: '$.x${C}[' }, statuses: { cancelled: '${C}' }, confirm: { body: { a: '{${C}}' } } }",
  "imports: { stocks: { available: '${C} -', record: { a: '{${C}' }, path: '${C}', key: '${C}', on_delete: '${C}' } }",
  "imports: { stocks: { chunk: '${C}', table: '${C}', guard: { over: '${C}' }, result: '${C}', scope: '${C}' } }",
  "statuses: { path: '/{${C}}', method: '${C}', body: '${C}', map: { a: ['${C}'] } }",
  "updates: { fields: '${C}', since: '${C}' }\nhttp: { listen: '${C}' }\nlog: '${C}'\nlanguage: '${C}'\nheartbeat: '${C}'",
  "alerts: { webhook: '${C}', command: ['${C}', {}] }\ndatabase: { path: '${C}\\0' }\nservice: '${C}'",
];

describe("a message", () => {
  itSome(11)(LEAKY)("never holds the secret: %s", (_, text) => {
    const error = errorOf(() => parse(text));
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(SECRET);
    expect(error.problems.length).toBeGreaterThan(0);
  });

  itSome(7)(PLACES)("never holds a value that came from a variable: %s", (text) => {
    const error = errorOf(() => parse(`${text}\n`, { C: SECRET }));
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(SECRET);
  });

  it("never holds what stands in the secret's file", () => {
    const file = temporaryFile("s", `${SECRET}\n\n${SECRET}`);
    const text = MINIMAL.replace(`client_secret: ${SECRET}`, `client_secret_file: ${file}`);
    expect(
      inspect(
        errorOf(() => parse(text)),
        { depth: 20, showHidden: true },
      ),
    ).not.toContain(SECRET);
  });

  it("still shows the lines around the secret", () => {
    const { message } = errorOf(() => parse(`${MINIMAL}log: { level: loud }\n`));
    expect(message).toContain("    log: { level: loud }");
    expect(errorOf(() => parse(`${HEAD}  client_secrett: ${SECRET}\n`)).message).toContain("    client_secrett: ***");
  });
});

describe("the effective configuration", () => {
  it("shows neither the secret nor the tokens of addresses", () => {
    const text = `${MINIMAL}heartbeat: https://hc.example/${SECRET}\nalerts: { webhook: "https://hooks.example/a?t=${SECRET}" }\n`;
    const shown = showConfig(parse(text));
    expect(shown).not.toContain(SECRET);
    expect(shown).toContain("heartbeat: https://hc.example/***");
  });
});
