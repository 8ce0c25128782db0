// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the file, meant as it stands
import { describe, expect, it } from "vitest";
import { nearest } from "../../src/config/problems.ts";
import { itSome, itWhole } from "../support/whole.ts";
import { errorOf, FILE, MINIMAL, parse, problemsOf } from "./support.ts";

/** A line below a good service part, and what must be said of it; MINIMAL has four lines. */
const BAD: [name: string, text: string, expected: string[]][] = [
  [
    "a placeholder without quotes",
    "imports:\n  stocks:\n    record: { sku: {sku}, quantity: {available|number} }",
    [
      "7:21 imports.stocks.record.sku: must stand in quotes: YAML reads bare braces as a group of keys",
      "7:38 imports.stocks.record.quantity: must stand in quotes: YAML reads bare braces as a group of keys",
    ],
  ],
  [
    "a placeholder without quotes in another template",
    "statuses:\n  body:\n    status: {status}",
    ["7:14 statuses.body.status: must stand in quotes: YAML reads bare braces as a group of keys"],
  ],
  [
    "a stock record without a number that can be sold",
    'imports:\n  stocks:\n    record: { sku: "{sku}", shelf: "{available} of {quantity}" }',
    [
      "7:13 imports.stocks.record: names no number that can be sold, so the guard could not see rows go to zero; write {available} by itself where the number stands",
    ],
  ],
  [
    "a deletion that leaves the number as it was",
    'imports:\n  stocks:\n    record: { sku: "{sku}", stock: { amount: "{available|number}" } }\n    on_delete: { amount: 0 }',
    [
      "8:16 imports.stocks.on_delete: leaves the number that can be sold as it was, so a deleted row would stay on sale; set it to 0: $.stock.amount",
    ],
  ],
  ["a mistyped key", "retension:\n  runs: 1d", ['5:1 retension: is not a known key; did you mean "retention"?']],
  [
    "a key of another group",
    "orders:\n  chunk: 5",
    ['6:3 orders.chunk: is not a known key here; did you mean "imports.stocks.chunk"?'],
  ],
  [
    "a duplicate key",
    "log:\n  level: info\n  level: warn",
    ["7:3 log.level: is a duplicate; it stands in line 6 already: keep all of it there"],
  ],
  [
    "a duplicate section",
    "log: {}\nlog: {}",
    ["6:1 log: is a duplicate; it stands in line 5 already: keep all of it there"],
  ],
  [
    "a duration without a unit",
    "updates:\n  overlap: 600",
    ["6:12 updates.overlap: must be a duration such as 30s, from 0s to 30d, not a number"],
  ],
  [
    "a unit that does not exist",
    "updates: { overlap: 10min }",
    ["5:21 updates.overlap: must be a duration such as 30s, from 0s to 30d"],
  ],
  [
    "a duration beyond its limit",
    "orders: { confirm: { wait: 8d } }",
    ["5:28 orders.confirm.wait: must be a duration such as 30s, from 1s to 7d"],
  ],
  [
    "text for a number",
    'backup: { keep: "14" }',
    ["5:17 backup.keep: must be a whole number from 1 to 3650, not text"],
  ],
  ["a number too small", "backup: { keep: 0 }", ["5:17 backup.keep: must be a whole number from 1 to 3650"]],
  [
    "a number too large to be exact",
    "backup: { keep: 9007199254740993 }",
    ["5:17 backup.keep: is a number too large to be exact; put it in quotes if it is text"],
  ],
  ["the word of YAML 1.1", "language: no", ["5:11 language: must be one of en, ru"]],
  ["a group that is text", "http: off", ["5:7 http: must be a group of keys (listen), not text"]],
  [
    "a group that is a list",
    "orders:\n  - 1",
    ["6:3 orders: must be a group of keys (schedule, query, batch, confirm, fields, line), not a list"],
  ],
  [
    "an empty value",
    "orders:\n  schedule:\n",
    ["6:12 orders.schedule: must be a cron schedule of five or six fields, not empty"],
  ],
  [
    "a schedule that is none",
    "orders: { schedule: every minute }",
    ['5:21 orders.schedule: is not a schedule of cron such as "*/5 * * * *": minute, hour, day, month, weekday'],
  ],
  [
    "a schedule by nickname",
    'orders: { schedule: "@daily" }',
    ['5:21 orders.schedule: is not a schedule of cron such as "*/5 * * * *": minute, hour, day, month, weekday'],
  ],
  [
    "a path without $",
    "orders: { fields: { number: number } }",
    ["5:29 orders.fields.number: is not a path such as $.key: a path begins with $ (column 1)"],
  ],
  [
    "a placeholder that a confirm does not know",
    'orders: { confirm: { body: { id: "{batch}" } } }',
    [
      "5:34 orders.confirm.body.id: is not a template such as {name}: {batch} is unknown here; there are {batch_id}, {order_ids}",
    ],
  ],
  [
    "a lonely brace inside a list of a template",
    'statuses: { body: { a: ["x", "}"] } }',
    [
      "5:30 statuses.body.a[1]: is not a template such as {name}: this brace belongs to no {name}; a literal one is written {{ or }} (column 1)",
    ],
  ],
  [
    "a placeholder in a template's key",
    'statuses: { body: { "{a}": 1 } }',
    ['5:21 statuses.body."{a}": is no name for a property: a key cannot hold a placeholder; write { as {{'],
  ],
  [
    "a calculation that ends early",
    "imports: { stocks: { available: quantity - } }",
    [
      "5:33 imports.stocks.available: is not a calculation such as quantity - reserved: the expression ends where a column or a number should be (column 11)",
    ],
  ],
  [
    "{available} without a calculation",
    "imports:\n  stocks:\n    available: null",
    ["6:3 imports.stocks.record.quantity: names {available}, but available is null"],
  ],
  ["a status path without the order", "statuses: { path: /x }", ["5:19 statuses.path: must name {order_id} once"]],
  [
    "a status path with another name",
    'statuses: { path: "/x/{order_id}/{status}" }',
    ["5:19 statuses.path: may name nothing but {order_id}"],
  ],
  ["an import path without /", "imports: { prices: { path: x } }", ["5:28 imports.prices.path: must begin with /"]],
  [
    "an import path that climbs",
    "imports: { prices: { path: /a/../b } }",
    ["5:28 imports.prices.path: must hold no .."],
  ],
  [
    "an import path that climbs in disguise",
    "imports: { prices: { path: /a/%2e%2E/b } }",
    ["5:28 imports.prices.path: must hold no .."],
  ],
  [
    "an import path to another host",
    "imports: { prices: { path: //evil.example/x } }",
    ["5:28 imports.prices.path: is not a path such as /api/v1/import/stocks"],
  ],
  [
    "a column of orders_wide taken twice",
    "orders:\n  extra:\n    Status: $.x\n    a b: $.y\n    phone: $.z\n    PHONE: $.z",
    [
      "7:5 orders.extra.Status: is a column that orders_wide has already",
      '8:5 orders.extra."a b": is not a column name of letters, digits and _',
      "10:5 orders.extra.PHONE: is a column twice (capitals make no difference)",
    ],
  ],
  [
    "half a result",
    "imports: { stocks: { result: { rejected: $.e } } }",
    ["5:22 imports.stocks.result.key: is missing; it must be a path such as $.key"],
  ],
  [
    "a listen address without a port",
    "http: { listen: localhost }",
    ["5:17 http.listen: must be host:port, for example 127.0.0.1:9469, or off"],
  ],
  ...["0.0.0.0:9469", "192.168.1.5:9469", "shop.example:80"].map((address): [string, string, string[]] => [
    `a listen address that others reach: ${address}`,
    `http: { listen: "${address}" }`,
    [
      "5:17 http.listen: must be a loopback address such as 127.0.0.1 (the page asks nobody who they are; put a proxy before it)",
    ],
  ]),
  ["a merge key", "log: { <<: { level: info } }", ['5:8 log."<<": is not a known key; known here: level']],
  [
    "a prototype",
    "orders: { extra: { __proto__: $.x } }",
    ["5:20 orders.extra.__proto__: is a name that cannot be used"],
  ],
  ["a key that is a list", "? [a]\n: 1", ["5:3 : the file holds a key that is no text"]],
  [
    "an unset variable",
    'log: { level: "${NOPE}" }',
    ["5:15 log.level: names the environment variable NOPE, which is not set"],
  ],
  [
    "a variable written wrongly",
    'log: { level: "${A-b}" }',
    ["5:15 log.level: holds a ${ that is neither ${VAR} nor ${VAR:-default}"],
  ],
];

/** Whole files whose syntax is broken or that are no configuration at all. */
const BROKEN: [name: string, text: string, expected: string][] = [
  ["an empty file", "", "1:1 : the file is empty; erp-bridge init writes one with every key explained"],
  [
    "nothing but a comment",
    "# later\n",
    "1:1 : the file is empty; erp-bridge init writes one with every key explained",
  ],
  ["a list", "- service\n", "1:1 : the file holds no keys; it must begin with a line such as service:"],
  ["a tab", "service:\n\tbase_url: x\n", "2:1 : the file is indented with a tab; YAML takes spaces only"],
  [
    "a quote left open",
    'log:\n  level: "info\n',
    "3:1 : the file lacks a character here: a closing quote, bracket or brace, a comma, a colon or a space",
  ],
  [
    "a bracket left open",
    "log: {level: info\n",
    "2:1 : the file is not indented like the lines around it, or a bracket or brace above is not closed",
  ],
  ["two documents", "log: {}\n---\nlog: {}\n", "2:1 : the file holds more than one document; remove what follows ---"],
  ["a tag", "log: !env {}\n", "1:6 : the file has a tag (!) that is not known here"],
  [
    "two keys on a line",
    "log: level: info\n",
    "1:6 : the file has a nested value on one line; quote the value, or write it on lines of its own",
  ],
];

describe("a wrong configuration", () => {
  itSome(11)(BAD)("names the place of %s", (_, text, expected) => {
    expect(problemsOf(`${MINIMAL}${text}\n`)).toEqual(expected);
  });

  it.each(BROKEN)("names the place of %s", (_, text, expected) => {
    expect(problemsOf(text)[0]).toBe(expected);
  });

  it("refuses an alias bomb at the alias that goes too far", () => {
    const level = (name: string, of: string) => `${name}: &${name} [${Array(9).fill(of).join(", ")}]`;
    const bomb = [level("a", "x"), level("b", "*a"), level("c", "*b"), level("d", "*c"), level("e", "*d")].join("\n");
    expect(problemsOf(bomb)).toEqual(["5:12 : the file holds more than 20000 values"]);
    expect(problemsOf(`${MINIMAL}orders: { extra: &x { a: *x } }\n`).join()).toContain("is nested too deeply");
  });

  it("tells of a value behind an alias at the alias", () => {
    expect(problemsOf(`${MINIMAL}log: { level: &l info }\nbackup:\n  keep: *l\n`)).toEqual([
      "7:9 backup.keep: must be a whole number from 1 to 3650, not text",
    ]);
  });

  it("tells everything at once, in the order of the file, with the line and the meaning", () => {
    const text = [
      "service:",
      "  bas_url: https://api.example.com",
      "  client_id: 12",
      "log: { level: loud }",
      "log: {}",
      "orders: { schedule: x, batch: { orders: y } }",
    ].join("\n");
    const { message, code, hint } = errorOf(() => parse(text));
    expect(code).toBe("config_invalid");
    expect(String(hint)).toContain("erp-bridge check");
    expect(message.split("\n")).toEqual([
      `${FILE}:1:1 service.base_url: is missing; it must be an https address`,
      "    service:",
      "  Address of the service, https (http on loopback only), without query and credentials.",
      `${FILE}:1:1 service: lacks the secret: write client_secret_file, or give systemd the credential client-secret`,
      "    service:",
      "  The service, and how the bridge behaves towards it.",
      `${FILE}:2:3 service.bas_url: is not a known key; did you mean "base_url"?`,
      "    bas_url: ***",
      "  Address of the service, https (http on loopback only), without query and credentials.",
      `${FILE}:3:14 service.client_id: must be text of 1 to 200 printable ASCII characters without a colon, not a number; put it in quotes`,
      "    client_id: 12",
      "  Client ID from the service's API access settings.",
      `${FILE}:4:15 log.level: must be one of debug, info, warn, error`,
      "    log: { level: loud }",
      "  The least important messages that are written.",
      `${FILE}:5:1 log: is a duplicate; it stands in line 4 already: keep all of it there`,
      "    log: {}",
      "  What the program logs.",
      `${FILE}:6:21 orders.schedule: is not a schedule of cron such as "*/5 * * * *": minute, hour, day, month, weekday`,
      "    orders: { schedule: x, batch: { orders: y } }",
      "  When new orders are pulled (cron).",
      `${FILE}:6:41 orders.batch.orders: is not a path such as $.key: a path begins with $ (column 1)`,
      "    orders: { schedule: x, batch: { orders: y } }",
      "  The list of orders in a batch.",
    ]);
  });

  itWhole("counts what it does not list", () => {
    const { problems, message } = errorOf(() => parse(Array.from({ length: 5000 }, (_, i) => `key${i}: 1`).join("\n")));
    expect(problems).toHaveLength(50);
    expect(message).toMatch(/\nand 4953 more$/);
  });

  it("keeps control characters and terminal codes out of its messages", () => {
    const { message } = errorOf(() => parse(`${MINIMAL}"\\e[31mred\\n": 1\nlog: "\u202eevil"\n`));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not appear
    expect(message.replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f\u202e]/);
  });
});

describe("the nearest known key", () => {
  const keys = ["base_url", "client_id", "timeouts", "requests_per_second"];
  it.each([
    ["baseUrl", "base_url"],
    ["base-url", "base_url"],
    ["bsae_url", "base_url"],
    ["timeout", "timeouts"],
    ["request_per_seconds", "requests_per_second"],
    ["url", null],
    ["x", null],
    ["", null],
    ["y".repeat(100_000), null],
  ])("of %.30s is %s", (word, expected) => {
    expect(nearest(word, keys)).toBe(expected);
  });
});
