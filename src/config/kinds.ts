import { validate as isCron } from "node-cron";
import * as z from "zod";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { queryProblem } from "./source-text.ts";
import { expressionProblem, pathProblem, templateKeyProblem, templateProblem } from "./syntax.ts";
import { BYTES, DURATION, formatBytes, formatDuration, parseBytes, parseDuration } from "./units.ts";

/**
 * The kinds of values in the configuration. Each has a `wording` ("a duration from 1s to 1h"), used in every message
 * and the reference, and a `kind` where a value must be formatted again.
 */
export type Kind = "text" | "command" | "duration" | "bytes" | "secret" | "listen" | "token-url" | "section";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Template = { [name: string]: Json };

export interface KeyMeta {
  /** The meaning in English, for editors. */
  description?: string;
  meaning?: Message;
  /** What the default assumes about the service, and how to find out. */
  assumption?: string;
  wording?: Message;
  kind?: Kind | undefined;
}

/** Gives a key its meaning and, where its default assumes something about the service, how to find out. */
export function key<S extends z.ZodType>(schema: S, meaning: Message, assumption?: string): S {
  return describe(schema, { ...meaningMeta(meaning), ...(assumption === undefined ? {} : { assumption }) });
}

/** Adds to the metadata of a schema, in place: zod's `meta` copies the schema. So each schema must belong to one key alone. */
export function describe<S extends z.ZodType>(schema: S, meta: KeyMeta): S {
  z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), ...meta });
  return schema;
}

function meaningMeta(meaning: Message): KeyMeta {
  return { description: String(meaning), meaning };
}

export function sectionMeta(meaning: Message): KeyMeta {
  return { ...meaningMeta(meaning), kind: "section", wording: m.kinds.group };
}

/** A group of keys. Absent or empty, it stands for its defaults. */
export function section<S extends z.ZodRawShape>(meaning: Message, shape: S) {
  return describe(z.strictObject(shape).prefault({} as never), sectionMeta(meaning));
}

export function worded<S extends z.ZodType>(schema: S, wording: Message, kind?: Kind): S {
  // `kind` is set even where it is undefined: otherwise the kind of the inner schema would apply.
  return describe(schema, { wording, kind });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what the expression is there to refuse
const CONTROL = /[\u0000-\u001f\u007f\u2028\u2029]/;
const IDENTIFIER = /^[\p{L}_][\p{L}\p{N}_]{0,62}$/u;

function hasControl(text: string): boolean {
  return CONTROL.test(text) || !text.isWellFormed();
}

const noControl = z.refine<string>((value) => !hasControl(value), saying(m.config.controlCharacter));

/** Text in which `checks` find nothing. All in one call: each `refine` copies what it is called on. */
export function checked(max: number, ...checks: z.core.$ZodCheck<string>[]) {
  return z.string().check(z.minLength(1), z.maxLength(max), noControl, ...checks);
}

export function text(max = 500, wording?: Message) {
  const schema = checked(max);
  return wording === undefined ? worded(schema, m.kinds.textUpTo({ max }), "text") : worded(schema, wording);
}

/** A table or column: a letter or `_`, then letters, digits and `_`. */
export function name(wording = m.kinds.name) {
  return worded(z.string().regex(IDENTIFIER), wording);
}

export function isName(value: string): boolean {
  return IDENTIFIER.test(value);
}

/** A path in the file system. */
export function place(wording: Message) {
  const schema = checked(
    1000,
    z.refine((value) => !value.startsWith(":memory:") && !value.startsWith("file:"), saying(m.config.notPlace)),
    z.refine((value) => !/^~(\/|$)/.test(value), saying(m.config.homePlace)),
    z.refine((value) => !/^([A-Za-z]:)?\\/.test(value), saying(m.config.windowsPlace)),
  );
  return worded(schema, wording);
}

/** A statement that only reads; SQLite itself checks it where it is used. */
export function select() {
  const schema = z
    .string()
    .min(1)
    .max(10_000)
    .refine((value) => /^\s*(SELECT|WITH|VALUES)\b/i.test(value), saying(m.config.notSelect))
    .superRefine((value, context) => {
      const what = queryProblem(value);
      if (what !== null) refuse(context, { what });
    });
  return worded(schema, m.kinds.select);
}

/** A text of the service or the ERP, such as a status; a number is taken as its digits. */
export function word() {
  return worded(
    z.union([text(200), z.int()]).transform((value) => String(value)),
    m.kinds.textOrNumber,
    "text",
  );
}

export function oneOf<const V extends readonly [string, ...string[]]>(values: V) {
  return worded(
    z.enum(values),
    values.length === 1 ? m.common.foreign({ text: values[0] }) : m.kinds.oneOf({ values }),
  );
}

export function integer(min: number, max: number) {
  return worded(z.int().check(z.gte(min), z.lte(max)), m.kinds.wholeNumber({ min, max }));
}

export function decimal(min: number, max: number) {
  return worded(z.number().check(z.gte(min), z.lte(max)), m.kinds.numberFromTo({ min, max }));
}

/** Milliseconds, written with a unit. */
export function duration(min: string, max: string) {
  return limited(
    { form: DURATION, parse: parseDuration, show: formatDuration, min, max },
    m.kinds.duration,
    "duration",
  );
}

/** Bytes, written with a unit. */
export function bytes(min: string, max: string) {
  return limited({ form: BYTES, parse: parseBytes, show: formatBytes, min, max }, m.kinds.size, "bytes");
}

interface Units {
  form: RegExp;
  parse: (text: string) => number | null;
  show: (value: number) => string;
  min: string;
  max: string;
}

function limited(
  { form, parse, show, min, max }: Units,
  words: (limits: { from: string; to: string }) => Message,
  kind: Kind,
) {
  const least = parse(min) ?? 0;
  const most = parse(max) ?? 0;
  const wording = words({ from: show(least), to: show(most) });
  const schema = z
    .string()
    .regex(form)
    .transform((written) => parse(written) ?? 0)
    .refine((value) => value >= least && value <= most, saying(m.config.mustBe({ kind: wording })));
  return worded(schema, wording, kind);
}

/** Cron with five or six fields, in `timezone`. */
export function schedule() {
  const isSchedule = (value: string) => /^\S+( +\S+){4,5}$/.test(value) && isCron(value);
  const schema = checked(200, z.refine(isSchedule, saying(m.config.notSchedule)));
  return worded(schema, m.kinds.schedule);
}

function isTimezone(value: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: value });
    return true;
  } catch {
    return false;
  }
}

export function timezone() {
  const schema = checked(60, z.refine(isTimezone, saying(m.config.notTimezone)));
  return worded(schema, m.kinds.timezone);
}

/** A refused value. `detail` may quote the value, so it is kept apart from the message. */
export interface Refusal {
  what: Message;
  detail?: Message;
  path?: PropertyKey[];
  /** The key is wrong, not the value below it. */
  aboutKey?: boolean;
}

export function refuse(context: z.core.$RefinementCtx, { what, path = [], ...params }: Refusal): void {
  context.addIssue({ code: "custom", message: String(what), params: { what, ...params }, path });
}

/** The same for `refine`: carries the message beside zod's text. */
export function saying(what: Message): { error: string; params: { what: Message } } {
  return { error: String(what), params: { what } };
}

/** A path into an answer, in the notation of SQLite's JSON functions. */
export function answerPath() {
  const schema = checked(
    500,
    z.superRefine((value, context) => {
      const detail = pathProblem(value);
      if (detail !== null) refuse(context, { what: m.config.notAnswerPath, detail });
    }),
  );
  return worded(schema, m.kinds.answerPath);
}

/** Arithmetic over columns. */
export function expression() {
  const schema = checked(
    500,
    z.superRefine((value, context) => {
      const detail = expressionProblem(value);
      if (detail !== null) refuse(context, { what: m.config.notCalculation, detail });
    }),
  );
  return worded(schema, m.kinds.calculation);
}

const jsonObject = z.record(z.string(), z.json());

/** A JSON object whose texts may name values in braces; `names` limits which. */
export function template(names?: readonly string[]) {
  const schema = jsonObject.superRefine((value, context) => {
    for (const [path, part] of textsOf(value)) {
      const detail = templateProblem(part, names);
      if (detail !== null) refuse(context, { what: m.config.notTemplate, detail, path });
    }
    for (const path of keysIn(value)) {
      const detail = templateKeyProblem(String(path.at(-1)));
      if (detail !== null) refuse(context, { what: m.config.badProperty, detail, path, aboutKey: true });
    }
  });
  return worded(schema as unknown as z.ZodType<Template, Template>, m.kinds.templates);
}

/** Every text inside a template, with its path. */
export function textsOf(value: Json, path: PropertyKey[] = []): [PropertyKey[], string][] {
  if (typeof value === "string") return [[path, value]];
  return partsOf(value).flatMap(([step, part]) => textsOf(part, [...path, step]));
}

function keysIn(value: Json, path: PropertyKey[] = []): PropertyKey[][] {
  return partsOf(value).flatMap(([step, part]) => {
    const inner = [...path, step];
    return [...(typeof step === "string" ? [inner] : []), ...keysIn(part, inner)];
  });
}

function partsOf(value: Json): [PropertyKey, Json][] {
  if (value === null || typeof value !== "object") return [];
  return Array.isArray(value) ? value.map((part, index) => [index, part]) : Object.entries(value);
}
