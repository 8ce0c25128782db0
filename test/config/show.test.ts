import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { configJsonSchema, showConfig } from "../../src/config/show.ts";
import { formatBytes, formatDuration, parseBytes, parseDuration } from "../../src/config/units.ts";
import { MINIMAL, parse, SECRET } from "./support.ts";

describe("the effective configuration", () => {
  it("reads as the same configuration again", () => {
    const text = `${MINIMAL}
updates: { overlap: 90s, fields: { number: $.no } }
imports: { catalog: { path: /c, record: { a: ["{name}", 1, null] }, result: { rejected: $.e, key: $.k } } }
http: { listen: "[::1]:0" }
alerts: { command: [notify] }
orders: { query: { limit: 5 }, extra: { телефон: $.phone } }
`;
    const loaded = parse(text);
    expect(parse(showConfig(loaded).replaceAll('"***"', SECRET).replaceAll("***", SECRET)).config).toEqual(
      loaded.config,
    );
  });

  it("is written in people's units", () => {
    const shown = parseYaml(showConfig(parse(MINIMAL)));
    expect(shown).toMatchObject({
      service: { client_secret: "***", timeouts: { connect: "5s", import: "2m" }, answer_bytes_max: "256MB" },
      retention: { events: "2y" },
      http: { listen: "127.0.0.1:9469" },
      erp: { write_within: { stocks: "26h", prices: null } },
    });
  });
});

describe("units", () => {
  it.each([
    ["0s", 0],
    ["1ms", 1],
    ["90s", 90_000],
    ["10m", 600_000],
    ["24h", 86_400_000],
    ["30d", 2_592_000_000],
    ["2y", 63_072_000_000],
  ])("%s is %d milliseconds", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
    expect(parseDuration(formatDuration(ms))).toBe(ms);
  });

  it.each(["", "5", "s", "-5s", "1.5h", "5 s", "5S", "5min", "1h30m", "9999999999s", "٥s", "5s\n"])(
    "%j is no duration",
    (text) => {
      expect(parseDuration(text)).toBeNull();
    },
  );

  it.each([
    ["1B", 1],
    ["1KB", 1000],
    ["1KiB", 1024],
    ["256MB", 256_000_000],
    ["2MiB", 2_097_152],
    ["1GB", 1_000_000_000],
  ])("%s is %d bytes", (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
    expect(formatBytes(bytes)).toBe(text);
  });
});

interface Schema {
  type?: string | string[];
  description?: string;
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: unknown;
}

describe("the JSON Schema", () => {
  const schema = configJsonSchema() as Schema;

  it("describes every key for editors and asks for the service", () => {
    expect(schema.required).toEqual(["service"]);
    expect(schema.properties?.["service"]?.required).toEqual(["base_url", "client_id"]);
    expect(schema.properties?.["orders"]?.type).toEqual(["object", "null"]);
    expect(schema.properties?.["updates"]?.properties?.["overlap"]).toMatchObject({ type: "string", default: "10m" });
    const bare: string[] = [];
    const visit = (node: Schema, path: string) => {
      for (const [name, child] of Object.entries(node.properties ?? {})) {
        if (child.description === undefined) bare.push(`${path}.${name}`);
        visit(child, `${path}.${name}`);
      }
      if (node.properties !== undefined && node.additionalProperties !== false) bare.push(path);
    };
    visit(schema, "");
    expect(bare).toEqual([]);
  });

  it("keeps the program's own notes to itself", () => {
    expect(JSON.stringify(schema)).not.toMatch(/"(wording|kind|assumption)":/);
  });
});

it("shows the program that alerts are given to, and none of its arguments", () => {
  const shown = (command: string) =>
    parseYaml(showConfig(parse(`${MINIMAL}\nalerts: { command: ${command} }\n`))).alerts.command;
  expect(shown('[/usr/bin/tell, --token=t0k3n, "-100123"]')).toEqual(["/usr/bin/tell", "***", "***"]);
  expect(shown("/usr/bin/tell")).toEqual(["/usr/bin/tell"]);
  expect(shown("null")).toBeNull();
});
