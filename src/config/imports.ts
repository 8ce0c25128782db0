import * as z from "zod";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { requestPath } from "./addresses.ts";
import { type FeedName, KEY_COLUMNS_MAX } from "./feed-names.ts";
import { imageKeys, refuseImages } from "./images.ts";
import type { Json, Template } from "./kinds.ts";
import {
  answerPath,
  describe,
  duration,
  expression,
  integer,
  key,
  name,
  oneOf,
  place,
  refuse,
  saying,
  schedule,
  section,
  sectionMeta,
  select,
  template,
  text,
  textsOf,
  worded,
} from "./kinds.ts";
import { tableProblem } from "./source-text.ts";
import { deletionProblem, namesIn } from "./syntax.ts";

interface FeedDefaults {
  name: FeedName;
  meaning: Message;
  schedule: string;
  path: string | null;
  property: string;
  table: string;
  key: string[];
  parent: string | null;
  available: string | null;
  record: Template;
  chunk: number;
  on_delete: Template | "ignore";
}

const ASK =
  "ask the service, then look at one article there; names that it refuses hold the feed with its words, names that it ignores change nothing";

const columns = worded(
  z
    .array(name(m.kinds.column))
    .min(1)
    .max(KEY_COLUMNS_MAX)
    .refine((list) => new Set(list).size === list.length, saying(m.config.duplicateColumnName)),
  m.kinds.columns({ max: KEY_COLUMNS_MAX }),
);

const result = worded(
  z.strictObject({
    rejected: key(answerPath(), m.keys.feedResultRejected),
    key: key(answerPath(), m.keys.feedResultKey),
    message: key(answerPath().nullable().prefault(null), m.keys.feedResultMessage),
  }),
  m.kinds.pathsOrNull,
);

/** Source of the rows. */
function sourceKeys(d: FeedDefaults) {
  return {
    table: key(name(m.kinds.table).prefault(d.table), m.keys.feedTable),
    query: key(select().nullable().prefault(null), m.keys.feedQuery),
    file: key(place(m.kinds.file).nullable().prefault(null), m.keys.feedFile),
    key: key(columns.prefault(d.key), m.keys.feedKey),
    parent: key(name(m.kinds.column).nullable().prefault(d.parent), m.keys.feedParent),
  };
}

/** Source of the rows and form of a request. */
function requestKeys(d: FeedDefaults) {
  const unseen = d.path === null;
  return {
    schedule: key(schedule().prefault(d.schedule), m.keys.feedSchedule),
    path: key(
      requestPath().nullable().prefault(d.path),
      m.keys.feedPath,
      unseen ? `The path is not shown, only its shape /api/v1/import/*: ask the service.` : undefined,
    ),
    property: key(
      text(200).prefault(d.property),
      m.keys.feedProperty,
      unseen ? `The payload is not shown: ${ASK}.` : undefined,
    ),
    ...sourceKeys(d),
    available: key(
      expression().nullable().prefault(d.available),
      m.keys.feedAvailable,
      d.available === null
        ? undefined
        : "Whether the service subtracts reserves itself is not shown: reserve an article there and compare; if it does, write quantity.",
    ),
    record: key(template().prefault(d.record), m.keys.feedRecord, `Fields of the record are not shown: ${ASK}.`),
    scope: key(
      oneOf(["changed", "whole"]).prefault("changed"),
      m.keys.feedScope,
      "Whether records that are absent from a request are left alone is not shown: ask the service, or try it with few articles on a test account.",
    ),
    chunk: key(
      integer(1, 10_000).prefault(d.chunk),
      m.keys.feedChunk,
      "Size limits are not shown: lower it if requests are slow or refused.",
    ),
  };
}

/** Deleted rows, the guard, and answers that name single records. */
function outcomeKeys(d: FeedDefaults) {
  return {
    delete_after: key(duration("0s", "30d").prefault("2m"), m.keys.feedDeleteAfter),
    on_delete: key(
      worded(z.union([z.literal("ignore"), template()]), m.kinds.templatesOrIgnore).prefault(d.on_delete),
      m.keys.feedOnDelete,
      "How the service removes a record is not shown: ask the service.",
    ),
    guard: section(m.keys.feedGuard, {
      percent: key(integer(1, 100).prefault(30), m.keys.feedGuardPercent),
      over: key(duration("1s", "7d").prefault("1h"), m.keys.feedGuardOver),
      from: key(integer(0, 1_000_000).prefault(20), m.keys.feedGuardFrom),
    }),
    result: key(
      result.nullable().prefault(null),
      m.keys.feedResult,
      "The shape of the answer is not shown: ask the service what it answers when one of many records is wrong.",
    ),
    compare: key(schedule().prefault("43 3 * * *"), m.keys.feedCompare),
  };
}

function feed(defaults: FeedDefaults) {
  const schema = z
    .strictObject({ ...requestKeys(defaults), ...outcomeKeys(defaults) })
    .superRefine((value, context) => refuseFeed(defaults.name, value, context))
    .prefault({} as never);
  return describe(schema, sectionMeta(defaults.meaning));
}

/** The feed whose rows may name files. */
function imageFeed(defaults: FeedDefaults) {
  const schema = z
    .strictObject({ ...requestKeys(defaults), ...imageKeys, ...outcomeKeys(defaults) })
    .superRefine((value, context) => {
      refuseFeed(defaults.name, value, context);
      refuseImages(value, context, defaults.record);
    })
    .prefault({} as never);
  return describe(schema, sectionMeta(defaults.meaning));
}

/** Refuses keys that do not go together. */
function refuseFeed(
  feedName: FeedName,
  value: {
    table: string;
    query: string | null;
    file: string | null;
    on_delete: Json;
    parent: string | null;
    key: readonly string[];
    available: string | null;
    record: Json;
    scope: string;
    path: string | null;
  },
  context: z.core.$RefinementCtx,
): void {
  const wrongTable = value.query === null ? tableProblem(value.table, value.file === null) : null;
  if (wrongTable !== null) refuse(context, { what: wrongTable, path: ["table"] });
  const named =
    value.on_delete === "ignore" ? undefined : textsOf(value.on_delete).find(([, part]) => namesIn(part).length > 0);
  if (named !== undefined) {
    refuse(context, { what: m.config.columnOfDeletedRow, path: ["on_delete", ...named[0]] });
  }
  if (value.parent !== null && value.key.length > 1) {
    refuse(context, { what: m.config.parentNeedsOneColumn, path: ["parent"] });
  }
  const use =
    value.available === null
      ? textsOf(value.record).find(([, part]) => namesIn(part).includes("available"))
      : undefined;
  if (use !== undefined) {
    refuse(context, { what: m.config.availableIsNull, path: ["record", ...use[0]] });
  }
  if (named !== undefined || use !== undefined || value.path === null) return;
  const problem = deletionProblem(feedName, value);
  if (problem !== null) refuse(context, problem);
}

const stocks = feed({
  name: "stocks",
  meaning: m.keys.importsStocks,
  schedule: "* * * * *",
  path: "/api/v1/import/stocks",
  property: "stocks",
  table: "stock",
  key: ["sku", "warehouse"],
  parent: null,
  available: "quantity - reserved",
  record: { sku: "{sku}", warehouse: "{warehouse}", quantity: "{available|number}" },
  chunk: 500,
  on_delete: { quantity: 0 },
});

const prices = feed({
  name: "prices",
  meaning: m.keys.importsPrices,
  schedule: "* * * * *",
  path: null,
  property: "prices",
  table: "prices",
  key: ["sku", "price_type"],
  parent: null,
  available: null,
  record: {
    sku: "{sku}",
    price_type: "{price_type}",
    price: "{price|number}",
    old_price: "{old_price|number}",
    currency: "{currency}",
  },
  chunk: 500,
  on_delete: "ignore",
});

const catalog = feed({
  name: "catalog",
  meaning: m.keys.importsCatalog,
  schedule: "*/5 * * * *",
  path: null,
  property: "products",
  table: "products",
  key: ["sku"],
  parent: "parent",
  available: null,
  record: {
    sku: "{sku}",
    parent: "{parent}",
    is_group: "{is_group|bool}",
    name: "{name}",
    article: "{article}",
    barcode: "{barcode}",
    unit: "{unit}",
    vat: "{vat}",
    description: "{description}",
    active: "{active|bool}",
  },
  chunk: 200,
  on_delete: { active: false },
});

const images = imageFeed({
  name: "images",
  meaning: m.keys.importsImages,
  schedule: "*/5 * * * *",
  path: null,
  property: "images",
  table: "images",
  key: ["sku", "position"],
  parent: null,
  available: null,
  record: { sku: "{sku}", position: "{position|number}", url: "{source}", alt: "{alt}" },
  chunk: 50,
  on_delete: "ignore",
});

export const imports = section(m.keys.imports, {
  stocks,
  prices,
  catalog,
  images,
});
