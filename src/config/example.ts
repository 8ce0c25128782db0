import { stringify } from "yaml";
import { type ConfigKey, describeConfig } from "./describe.ts";

/** Notes from the reference that a newcomer needs beside the keys. */
const HEAD = `# erp-bridge configuration.
#
# A line that begins with # and a letter is a key with its default: remove the # to change it. Only service must be
# filled in. A path into an answer that is written here must match; a default may be absent from answers.
# Inside values \${VAR} and \${VAR:-default} stand for environment variables. Durations: 30s, 10m, 24h. Schedules: cron,
# in timezone. Keys marked "assumed" guess at the service; docs/configuration.md says how to find out.
# Check with: erp-bridge check
`;

const STARTERS: Readonly<Record<string, unknown>> = {
  "service.base_url": "https://api.example.com",
  "service.client_id": "shop-1",
  "service.client_secret_file": "client-secret",
};

/**
 * Every key with a line of explanation and its default as a comment. `values`, by dotted path, are written as set
 * instead.
 */
export function exampleConfig(values: Readonly<Record<string, unknown>> = {}): string {
  const active = { ...STARTERS, ...values };
  if ("service.client_secret" in values) delete active["service.client_secret_file"];
  const keys = describeConfig();
  const leaves = keys.filter(({ section }) => !section).map(({ path }) => path);
  const lines = keys
    .filter(({ path }) => !leaves.some((leaf) => path.startsWith(`${leaf}.`)))
    .flatMap((key) => linesOf(key, active));
  return `${HEAD}${lines.join("\n")}\n`;
}

function linesOf(key: ConfigKey, active: Readonly<Record<string, unknown>>): string[] {
  const steps = key.path.split(".");
  const indent = "  ".repeat(steps.length - 1);
  const name = steps.at(-1) ?? "";
  const isWritten = Object.hasOwn(active, key.path);
  const assumed = key.assumption === undefined ? "" : " (assumed)";
  const none = !isWritten && !key.section && key.default === undefined ? " No default." : "";
  const comment = `${indent}# ${key.meaning}${none}${assumed}`;
  const gap = steps.length === 1 || (key.section && steps.length === 2 && steps[0] === "imports") ? [""] : [];
  if (key.section) return [...gap, comment, `${indent}${name}:`];
  const value = isWritten ? active[key.path] : key.default;
  // A key without a default is only explained: a commented-out line would have no value to offer.
  if (value === undefined) return [...gap, comment.replace("# ", `# ${name}: `)];
  const mark = isWritten ? "" : "#";
  return [...gap, comment, ...inFlow(name, value).map((line) => `${indent}${mark}${line}`)];
}

const LINE_MAX = 110;

/** `name: value` on one line, or a line for each part where that is too long. */
function inFlow(name: string, value: unknown): string[] {
  const line = `${name}: ${inline(value)}`;
  if (line.length <= LINE_MAX) return [line];
  return stringify({ [name]: value }, { lineWidth: 0 })
    .trimEnd()
    .split("\n");
}

/** The value as YAML on one line. */
export function inline(value: unknown): string {
  return stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
}
