import type * as z from "zod";
import type { Message } from "../messages/message.ts";
import { wordingOf } from "./issues.ts";
import { configSchema } from "./schema.ts";
import { keysOf, nodeOf } from "./schema-walk.ts";

/** One key of the file, for the reference, the example and editors. */
export interface ConfigKey {
  /** Dotted, as in `orders.fields.number`. */
  path: string;
  /** The allowed values in words, limits included. */
  type: string;
  /** In the file's notation; undefined where there is none. */
  default: unknown;
  /** One sentence. */
  meaning: string;
  /** What the default assumes about the service, and how to find out. */
  assumption?: string;
  /** The key only groups others. */
  section: boolean;
  required: boolean;
}

/** Every key in the order of the file, a group before its keys. */
export function describeConfig(say: (message: Message) => string = String): ConfigKey[] {
  return keysOf(configSchema).flatMap(([name, schema]) => describe(name, schema, say));
}

function describe(path: string, schema: z.core.$ZodType, say: (message: Message) => string): ConfigKey[] {
  const { meta, required, default: standard } = nodeOf(schema);
  const section = meta.kind === "section";
  const own: ConfigKey = {
    path,
    type: saidBy(say, wordingOf(schema)),
    default: section ? undefined : standard,
    meaning: saidBy(say, meta.meaning),
    ...(meta.assumption === undefined ? {} : { assumption: meta.assumption }),
    section,
    required,
  };
  return [own, ...keysOf(schema).flatMap(([name, child]) => describe(`${path}.${name}`, child, say))];
}

function saidBy(say: (message: Message) => string, message: Message | undefined): string {
  return message === undefined ? "" : say(message);
}
