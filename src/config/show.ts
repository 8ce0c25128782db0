import { stringify } from "yaml";
import * as z from "zod";
import { formatListen, type Listen } from "./addresses.ts";
import type { KeyMeta } from "./kinds.ts";
import type { LoadedConfig } from "./load.ts";
import { configSchema } from "./schema.ts";
import { childOf, nodeOf } from "./schema-walk.ts";
import { formatBytes, formatDuration } from "./units.ts";

const HIDDEN = "***";

/** The effective configuration in the file's notation, without secrets. */
export function showConfig({ config }: LoadedConfig): string {
  const { client_secret_file: file, ...service } = config.service;
  // The file and the inline secret exclude each other; only the one in use is shown.
  const { client_secret: _, ...withFile } = { ...service, client_secret_file: file };
  const { url, url_file: urlFile, ...mirror } = config.mirror;
  const address = urlFile !== null ? { url_file: urlFile } : url !== null ? { url } : {};
  const shown = { ...config, service: file === null ? service : withFile, mirror: { ...address, ...mirror } };
  return stringify(written(configSchema, shown), { lineWidth: 120 });
}

/** The value in the file's notation. */
function written(schema: z.core.$ZodType | undefined, value: unknown): unknown {
  if (value === undefined || schema === undefined) return value;
  const special = notation(nodeOf(schema).meta, value);
  if (special !== undefined) return special;
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, written(childOf(schema, name), inner)]),
  );
}

function notation({ kind }: KeyMeta, value: unknown): string | string[] | undefined {
  if (kind === "listen") return formatListen(value as Listen | null);
  if (value === null) return undefined;
  if (kind === "duration") return formatDuration(Number(value));
  if (kind === "bytes") return formatBytes(Number(value));
  if (kind === "secret") return HIDDEN;
  // Arguments often are tokens or ids of chats, and none can be recognised for certain.
  if (kind === "command") return (value as string[]).map((part, index) => (index === 0 ? part : HIDDEN));
  return kind === "token-url" ? withoutToken(String(value)) : undefined;
}

/** Such an address often holds its token in the path or the query. */
function withoutToken(address: string): string {
  return URL.canParse(address) ? `${new URL(address).origin}/${HIDDEN}` : address;
}

/** JSON Schema (draft 7, which editors read) of the file. */
export function configJsonSchema(): object {
  const schema = z.toJSONSchema(configSchema, {
    target: "draft-7",
    io: "input",
    override: ({ jsonSchema }) => tidy(jsonSchema as JsonSchema),
  }) as JsonSchema;
  return { ...schema, title: "erp-bridge configuration", required: ["service"] };
}

interface JsonSchema extends KeyMeta {
  [name: string]: unknown;
}

/** Turns our own metadata into what editors show. A group may be empty, which YAML reads as null. */
function tidy(schema: JsonSchema): void {
  const { assumption, kind, description } = schema;
  if (assumption !== undefined) schema.description = `${description ?? ""} Assumption: ${assumption}`;
  if (kind === "section") {
    schema["type"] = ["object", "null"];
    delete schema["default"];
  }
  delete schema.assumption;
  delete schema.kind;
  delete schema.wording;
}
