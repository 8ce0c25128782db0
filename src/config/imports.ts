import * as z from "zod";
import { requestPath } from "./addresses.ts";
import { type FeedName, KEY_COLUMNS_MAX } from "./feed-names.ts";
import { imageKeys, refuseImages } from "./images.ts";
import type { Json, Template } from "./kinds.ts";
import {
  answerPath,
  duration,
  expression,
  integer,
  key,
  name,
  oneOf,
  place,
  refuse,
  schedule,
  section,
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
  meaning: string;
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
    .array(name("a column"))
    .min(1)
    .max(KEY_COLUMNS_MAX)
    .refine((list) => new Set(list).size === list.length, "names a column twice"),
  `a list of 1 to ${KEY_COLUMNS_MAX} columns`,
);

const result = worded(
  z.strictObject({
    rejected: key(
      answerPath(),
      "The rejected records in the answer: a list of them, or an object of reasons by key; none where an accepted answer lacks it.",
    ),
    key: key(answerPath(), "In a rejected record: what ties it to the record sent."),
    message: key(answerPath().nullable().prefault(null), "In a rejected record: the reason, in the service's words."),
  }),
  "null or a group of paths",
);

/** Where the rows come from. */
function sourceKeys(d: FeedDefaults) {
  return {
    table: key(name("a table").prefault(d.table), "Table or view that holds the rows."),
    query: key(select().nullable().prefault(null), "A SELECT that gives the rows, in place of table."),
    file: key(
      place("a file").nullable().prefault(null),
      "Another SQLite file that holds the table or answers the query, relative to this file; opened for reading only.",
    ),
    key: key(columns.prefault(d.key), "Columns that together name a row."),
    parent: key(
      name("a column").nullable().prefault(d.parent),
      "Column that holds the key of the row which must be on the site before this one, where record names it; null: the order does not matter.",
    ),
  };
}

/** Where the rows come from and what a request looks like. */
function requestKeys(d: FeedDefaults) {
  const unseen = d.path === null;
  return {
    schedule: key(schedule().prefault(d.schedule), "When changed rows are looked for (cron, UTC)."),
    path: key(
      requestPath().nullable().prefault(d.path),
      "Path of the import below base_url; null: the feed is off.",
      unseen ? `The path is not shown, only its shape /api/v1/import/*: ask the service.` : undefined,
    ),
    property: key(
      text(200).prefault(d.property),
      "Name of the array in the request body.",
      unseen ? `The payload is not shown: ${ASK}.` : undefined,
    ),
    ...sourceKeys(d),
    available: key(
      expression().nullable().prefault(d.available),
      "A value calculated from columns, used in the record as {available}.",
      d.available === null
        ? undefined
        : "Whether the service subtracts reserves itself is not shown: reserve an article there and compare; if it does, write quantity.",
    ),
    record: key(
      template().prefault(d.record),
      "One record of the array; {column} is the row's value.",
      `Fields of the record are not shown: ${ASK}.`,
    ),
    scope: key(
      oneOf(["changed", "whole"]).prefault("changed"),
      "changed: only rows that differ; whole: each request is the complete table, never chunked, never from an empty table.",
      "Whether records that are absent from a request are left alone is not shown: ask the service, or try it with few articles on a test account.",
    ),
    chunk: key(
      integer(1, 10_000).prefault(d.chunk),
      "Records a request; adapts downward on 413.",
      "Size limits are not shown: lower it if requests are slow or refused.",
    ),
  };
}

/** What happens to rows that go away and to answers that name single records. */
function outcomeKeys(d: FeedDefaults) {
  return {
    delete_after: key(duration("0s", "30d").prefault("2m"), "A row that is absent for less is not deleted."),
    on_delete: key(
      worded(z.union([z.literal("ignore"), template()]), "ignore or an object of templates").prefault(d.on_delete),
      "What a deleted row sends: the last sent record with these properties replaced, by default what {available} or {active} stands for, wherever record has it; ignore: nothing.",
      "How the service removes a record is not shown: ask the service.",
    ),
    guard: section("Holds a sudden emptying until it is approved.", {
      percent: key(
        integer(1, 100).prefault(30),
        "More than this share of the rows going to zero or away waits for approve.",
      ),
      over: key(duration("1s", "7d").prefault("1h"), "Time within which they are counted together."),
      from: key(integer(0, 1_000_000).prefault(20), "Fewer rows than this never wait."),
    }),
    result: key(
      result.nullable().prefault(null),
      "Where an answer reports single records: { rejected, key, message }; null: the status code alone decides.",
      "The shape of the answer is not shown: ask the service what it answers when one of many records is wrong.",
    ),
    compare: key(
      schedule().prefault("43 3 * * *"),
      "When all rows are compared with what was acknowledged (cron, UTC).",
    ),
  };
}

function feed(defaults: FeedDefaults) {
  const schema = z
    .strictObject({ ...requestKeys(defaults), ...outcomeKeys(defaults) })
    .superRefine((value, context) => refuseFeed(defaults.name, value, context))
    .prefault({} as never);
  return schema.meta({ description: defaults.meaning, kind: "section", wording: "a group of keys" });
}

/** The feed whose rows may stand for files. */
function imageFeed(defaults: FeedDefaults) {
  const schema = z
    .strictObject({ ...requestKeys(defaults), ...imageKeys, ...outcomeKeys(defaults) })
    .superRefine((value, context) => {
      refuseFeed(defaults.name, value, context);
      refuseImages(value, context, defaults.record);
    })
    .prefault({} as never);
  return schema.meta({ description: defaults.meaning, kind: "section", wording: "a group of keys" });
}

/** Keys of a feed that do not go together. */
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
  if (wrongTable !== null) context.addIssue({ code: "custom", message: wrongTable, path: ["table"] });
  const named =
    value.on_delete === "ignore" ? undefined : textsOf(value.on_delete).find(([, part]) => namesIn(part).length > 0);
  if (named !== undefined) {
    context.addIssue({
      code: "custom",
      message: "names a column of a row that is gone; leave the property out and its last value stays",
      path: ["on_delete", ...named[0]],
    });
  }
  if (value.parent !== null && value.key.length > 1) {
    context.addIssue({ code: "custom", message: "needs a key of one column, or null", path: ["parent"] });
  }
  const use =
    value.available === null
      ? textsOf(value.record).find(([, part]) => namesIn(part).includes("available"))
      : undefined;
  if (use !== undefined) {
    context.addIssue({
      code: "custom",
      message: "names {available}, but available is null",
      path: ["record", ...use[0]],
    });
  }
  if (named !== undefined || use !== undefined || value.path === null) return;
  const problem = deletionProblem(feedName, value);
  if (problem !== null) refuse(context, problem);
}

const stocks = feed({
  name: "stocks",
  meaning: "What is in stock.",
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
  meaning: "What it costs. Off until its path is set.",
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
  meaning: "What there is. Off until its path is set.",
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
  meaning: "What it looks like. Off until its path is set.",
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

export const imports = section("What the ERP pushes to the service, one feed each.", {
  stocks,
  prices,
  catalog,
  images,
});
