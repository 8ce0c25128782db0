import { FEEDS } from "./messages.ts";
import type { ImportOptions, SandboxOptions, SandboxOptionsPatch, ShapeOptions, UpdatesOptions } from "./options.ts";

/** Says what a value should have been, or nothing when it is right. */
type Check = (value: unknown) => string | undefined;
interface Checks {
  readonly [key: string]: Check | Checks;
}

const oneOf =
  (...choices: readonly (string | number | boolean | null)[]): Check =>
  (value) =>
    choices.some((choice) => choice === value) ? undefined : choices.map((choice) => JSON.stringify(choice)).join(", ");

const either =
  (...checks: readonly Check[]): Check =>
  (value) => {
    const wrong = checks.map((check) => check(value));
    return wrong.includes(undefined) ? undefined : wrong.join(" or ");
  };

const whole =
  (least: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= least ? undefined : `a whole number, at least ${least}`;

const text: Check = (value) => (typeof value === "string" && value !== "" ? undefined : "text");
const list =
  (item: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every((each) => item(each) === undefined) ? undefined : "a list of such values";
const map =
  (item: Check): Check =>
  (value) =>
    isMap(value) && Object.values(value).every((each) => item(each) === undefined) ? undefined : "a map of lists";

const flag = oneOf(true, false);
const nothing = oneOf(null);
const path = list(text);
const name = either(text, list(text), nothing);
const names = <K extends string>(...keys: readonly K[]): Record<K, Check> =>
  Object.fromEntries(keys.map((key) => [key, name])) as Record<K, Check>;

const SHAPE = {
  batch: path,
  batchId: path,
  updates: path,
  snapshot: path,
  order: names("order_id", "number", "status", "created_at", "updated_at", "currency", "total", "items"),
  line: names("id", "sku", "name", "quantity", "price"),
  change: names("order_id", "status", "updated_at", "items"),
  upperCaseIds: flag,
  amounts: oneOf("number", "string"),
  extra: oneOf("everywhere", "snapshot"),
  shuffleKeys: flag,
} satisfies Record<keyof ShapeOptions, Check | Checks>;

const UPDATES = {
  boundary: oneOf("inclusive", "exclusive"),
  pageLimit: whole(1),
  carry: oneOf("changes", "whole"),
  lines: flag,
  keeps: oneOf("oldest", "newest"),
  order: oneOf("ascending", "descending", "shuffled"),
  scope: oneOf("handed-out", "all"),
  history: oneOf("latest", "log"),
  created: flag,
  next: either(path, nothing),
  nextForm: oneOf("stamp", "cursor"),
  since: oneOf("any", "iso", "unix", "unix_ms"),
  emptySince: oneOf("refused", "beginning"),
  sinceAgeMax: either(whole(0), nothing),
  stuck: oneOf("none", "same-page", "empty"),
} satisfies Record<keyof UpdatesOptions, Check>;

const IMPORT = {
  path: text,
  property: text,
  key: path,
  file: either(text, nothing),
  replace: flag,
} satisfies Record<keyof ImportOptions, Check>;

const ALL = {
  handOut: oneOf("repeat", "next"),
  redeliverAfterMs: either(whole(0), oneOf(null, "cycle")),
  batchSize: whole(1),
  batchIdKind: oneOf("string", "number", "huge-number", "none"),
  batchOverlap: whole(0),
  batchTwice: oneOf("no", "equal", "older"),
  confirmForm: oneOf("batch_id", "order_ids", "all", "everything"),
  confirmKey: either(path, nothing),
  confirmRepeated: oneOf(200, 404, 409, 410),
  confirmUnknown: oneOf(200, 404, 409, 410),
  emptyForm: oneOf("list", "null", "null-parent", "204", "bare-list"),
  shape: SHAPE,
  stamps: oneOf("iso-z", "iso-offset", "iso-naive", "unix", "unix_ms"),
  precision: oneOf("s", "ms", "us"),
  stampOffsetMinutes: whole(-840),
  naiveOffsetMinutes: whole(-840),
  dateHeader: flag,
  clockOffsetMs: whole(Number.MIN_SAFE_INTEGER),
  updates: UPDATES,
  orderRetentionMs: either(whole(0), nothing),
  goneStatus: oneOf(404, 410),
  status: {
    path: either(text, nothing),
    method: oneOf("POST", "PUT", "PATCH"),
    key: path,
    transitions: either(map(list(text)), nothing),
    refusal: oneOf(409, 422),
  },
  imports: Object.fromEntries(FEEDS.map((feed) => [feed, IMPORT])),
  importAnswer: oneOf("counts", "changes", "success", "empty", "text"),
  reject: { skus: either(list(text), oneOf("all")), how: oneOf("422", "500", "per-record", "success-false") },
  limits: {
    maxBodyBytes: either(whole(0), nothing),
    maxRecords: either(whole(0), nothing),
    takenRecords: either(whole(1), nothing),
    requestsPerMinute: either(whole(0), nothing),
  },
  paid: flag,
  refuse: list(oneOf("import", "1c")),
} satisfies Record<keyof SandboxOptions, Check | Checks>;

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function merge(base: Record<string, unknown>, patch: unknown, checks: Checks, at: string): Record<string, unknown> {
  if (!isMap(patch)) throw new TypeError(`${at || "switches"}: expected a map of switches`);
  const result = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    const where = at === "" ? key : `${at}.${key}`;
    const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
    if (check === undefined)
      throw new TypeError(`${where}: no such switch; known here: ${Object.keys(checks).join(", ")}`);
    if (typeof check === "function") {
      const expected = check(value);
      if (expected !== undefined) throw new TypeError(`${where}: expected ${expected}`);
      result[key] = structuredClone(value);
    } else {
      result[key] = merge(base[key] as Record<string, unknown>, value, check, where);
    }
  }
  return result;
}

/** Options with a patch laid over them. Throws TypeError that names the switch and what it takes. */
export function mergeOptions(base: SandboxOptions, patch: SandboxOptionsPatch): SandboxOptions {
  return merge({ ...base }, patch, ALL, "") as unknown as SandboxOptions;
}

/** The same for a value of unknown shape, such as a file or a request body. */
export function mergeUnknownOptions(base: SandboxOptions, patch: unknown): SandboxOptions {
  return mergeOptions(base, patch as SandboxOptionsPatch);
}
