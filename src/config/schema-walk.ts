import * as z from "zod";
import type { KeyMeta } from "./kinds.ts";

/** The schema of one key, without its wrappers. */
export interface SchemaNode {
  /** The schema inside defaults, null and transformations. */
  core: z.core.$ZodTypes;
  meta: KeyMeta;
  /** In the file's notation; undefined where there is none. */
  default: unknown;
  /** The key must be set. */
  required: boolean;
  nullable: boolean;
}

export function nodeOf(schema: z.core.$ZodType): SchemaNode {
  const node: SchemaNode = {
    core: schema as z.core.$ZodTypes,
    meta: {},
    default: undefined,
    required: true,
    nullable: false,
  };
  for (;;) {
    // An outer schema describes the key, an inner one only the kind of its value, so outer properties win.
    node.meta = { ...(z.globalRegistry.get(node.core) as KeyMeta | undefined), ...node.meta };
    const def = node.core._zod.def;
    switch (def.type) {
      case "prefault":
        node.default = def.defaultValue;
        node.required = false;
        break;
      case "optional":
        node.required = false;
        break;
      case "nullable":
        node.nullable = true;
        break;
      case "pipe":
        node.core = def.in as z.core.$ZodTypes;
        continue;
      default:
        return node;
    }
    node.core = def.innerType as z.core.$ZodTypes;
  }
}

/** The schema of the value at `step` inside values of `schema`; undefined where there is none. */
export function childOf(schema: z.core.$ZodType, step: PropertyKey): z.core.$ZodType | undefined {
  const def = nodeOf(schema).core._zod.def;
  switch (def.type) {
    case "object":
      return Object.hasOwn(def.shape, step) ? def.shape[step as string] : undefined;
    case "record":
      return def.valueType;
    case "array":
      return def.element;
    case "union":
      return def.options.map((option) => childOf(option, step)).find((child) => child !== undefined);
    default:
      return undefined;
  }
}

export function schemaAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): z.core.$ZodType | undefined {
  return path.reduce<z.core.$ZodType | undefined>((at, step) => at && childOf(at, step), schema);
}

/** The fixed keys of a group; empty where keys are free. */
export function keysOf(schema: z.core.$ZodType): [string, z.core.$ZodType][] {
  const def = nodeOf(schema).core._zod.def;
  if (def.type === "object") return Object.entries(def.shape);
  return def.type === "union" ? def.options.flatMap(keysOf) : [];
}
