import { type Expression, parseExpression } from "../answers/expression.ts";
import { parsePath } from "../answers/json-path.ts";
import { parseTemplate, placeholdersOf, type Template } from "../answers/template.ts";
import { type Deletion, type RecordPlace, readLevels } from "../config/feed-level.ts";
import { type FeedName, FILE_NAMES } from "../config/feed-names.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { ResultPaths } from "../service/outcome/import-result.ts";
import { compileImages, type ImageRules, type ImageSettings, readImageSettings } from "./images/image-feed.ts";
import { articleOf, identityOf, isOneRowEach, placeOf } from "./record-identity.ts";

/** Ids of the feeds in the database; also the order in which backlogs are sent. */
export const FEED_IDS: Record<FeedName, number> = { stocks: 1, prices: 2, catalog: 3, images: 4 };

/** A feed of the configuration, with its names; durations in milliseconds. Only images have the settings of files. */
export interface FeedSettings extends Partial<ImageSettings> {
  path: string;
  property: string;
  table: string;
  query: string | null;
  file: string | null;
  key: readonly string[];
  parent: string | null;
  available: string | null;
  record: unknown;
  scope: "changed" | "whole";
  chunk: number;
  delete_after: number;
  on_delete: unknown;
  guard: { percent: number; over: number; from: number };
  result: { rejected: string; key: string; message: string | null } | null;
}

export interface FeedRules {
  feedId: number;
  name: FeedName;
  path: string;
  property: string;
  table: string;
  /** A SELECT that returns the rows, instead of the table. */
  query: string | null;
  /** Another SQLite file with the rows; null: the bridge's own database. */
  file: string | null;
  keys: readonly string[];
  /** The column that names the row which must be on the site before this one. */
  parent: string | null;
  /** Columns used in a record, including the key's. */
  columns: readonly string[];
  available: Expression | null;
  record: Template;
  /** The properties of a record by which the service identifies the article; empty where unknown. */
  identity: readonly (readonly string[])[];
  /** Those of them that name the article, without the warehouse and the like; empty where unknown. */
  article: readonly (readonly string[])[];
  /** Feeds whose records a service may ignore as long as it does not have the article from this feed. */
  dependents: readonly Pick<FeedRules, "feedId" | "name" | "keys" | "article">[];
  /** No key column is part of a record: answers can name records only by the article. */
  isKeyUntold: boolean;
  /** What a row has sent of an article that it no longer names is stored separately: the article is deleted, or another row names it. */
  leavesArticles: boolean;
  /** Two rows of the source may name the same article; deleting one of them then sends nothing. */
  sharesArticles: boolean;
  /** The same where deleted rows never send anything: the site keeps the last record, even if another row names the article. */
  keepsShared: boolean;
  /** What a deleted row sends; null: nothing. */
  deletion: Deletion | null;
  /** Places of the available quantity in a record; empty where it has none. */
  levels: readonly RecordPlace[];
  scope: "changed" | "whole";
  chunk: number;
  deleteAfterMs: number;
  guard: { percent: number; overMs: number; from: number };
  result: ResultPaths | null;
  /** How images are read and sent; null for other feeds. */
  images: ImageRules | null;
  /** Differs whenever records would be rendered differently: all rows are then compared. */
  signature: string;
  /** Differs whenever records are sent elsewhere: earlier acknowledgements are then invalid. */
  address: string;
}

/** The rules needed to read the rows of a feed. */
export type SourceRules = Pick<FeedRules, "name" | "table" | "query" | "file" | "columns" | "keys">;

export function compileFeed(name: FeedName, settings: FeedSettings): FeedRules {
  const files = imageSettingsOf(settings);
  const { kept, onDelete } =
    files === null ? { kept: settings.record, onDelete: {} } : readImageSettings(files, settings.record);
  const record = parseTemplate(kept);
  const images = files === null ? null : compileImages(files, record);
  const available = settings.available === null ? null : parseExpression(settings.available);
  const isColumn = (placeholder: string) =>
    (placeholder !== "available" || available === null) &&
    (images === null || images.send === "url" || !(FILE_NAMES as readonly string[]).includes(placeholder));
  const named = [
    ...placeholdersOf(record).filter(isColumn),
    ...(images === null || images.send === "url" ? [] : [images.source]),
  ];
  const result = readResult(settings);
  const identity = identityOf({
    keys: settings.key,
    record,
    levelColumns: available?.columns ?? [],
    resultKey: result?.key ?? null,
  });
  const levels = readLevels(name, {
    key: settings.key,
    available: settings.available,
    record: kept,
    on_delete: settings.on_delete === "ignore" ? "ignore" : { ...onDelete, ...(settings.on_delete as object) },
  });
  const namesArticles = identity.length > 0 && settings.scope !== "whole";
  const isShared = namesArticles && !isOneRowEach({ keys: settings.key, identity, record });
  // Images of one article are separate on the site, so rows do not share them.
  const keepsShared = isShared && levels.deletion === null && images === null;
  return {
    feedId: FEED_IDS[name],
    name,
    path: settings.path,
    property: settings.property,
    table: settings.table,
    query: settings.query,
    file: settings.file,
    keys: settings.key,
    // A record that does not contain its parent does not depend on it.
    parent: settings.parent !== null && named.includes(settings.parent) ? settings.parent : null,
    columns: [...new Set([...settings.key, ...named, ...(available?.columns ?? [])])],
    available,
    record,
    identity,
    article: articleOf(identity),
    dependents: [],
    isKeyUntold: identity.length > 0 && !settings.key.some((key) => placeholdersOf(record).includes(key)),
    leavesArticles: (namesArticles && levels.deletion !== null) || keepsShared,
    sharesArticles: isShared && levels.deletion !== null,
    keepsShared,
    ...levels,
    scope: settings.scope,
    // A form has one record and its file.
    chunk: images?.send === "multipart" ? 1 : settings.chunk,
    deleteAfterMs: settings.delete_after,
    guard: { percent: settings.guard.percent, overMs: settings.guard.over, from: settings.guard.from },
    result,
    images,
    signature: JSON.stringify([
      ...[settings.table, settings.key, settings.available, settings.record, settings.on_delete],
      ...(settings.query === null && settings.file === null ? [] : [settings.query, settings.file]),
      ...(files === null || files.send === "url" ? [] : [files]),
    ]),
    address: JSON.stringify([settings.path, settings.property]),
  };
}

/** Links the feeds of a configuration by their articles: those of the catalog have the others' stock, prices and images. */
export function linkFeeds(feeds: readonly FeedRules[]): FeedRules[] {
  const catalog = feeds.find(({ name }) => name === "catalog");
  if (catalog === undefined) return [...feeds];
  const linked = feeds.map((feed) => (feed === catalog ? feed : { ...feed, article: articleIn(feed, catalog) }));
  const dependents = linked.filter((feed) => feed !== catalog);
  return linked.map((feed) => (feed === catalog ? { ...feed, dependents } : feed));
}

/** Of several properties the one that names the catalog's article: under the same name, or made of a column of the same name. */
function articleIn({ article, record }: FeedRules, catalog: FeedRules): FeedRules["article"] {
  const [named, column] = [catalog.article, catalog.keys];
  if (article.length < 2 || named.length !== 1 || column.length !== 1) return article;
  const same = article.find((steps) => steps.join(".") === named[0]?.join("."));
  const made = same ?? placeOf(record, column[0] ?? "");
  return made === undefined ? article : [made];
}

function readResult({ result }: FeedSettings): ResultPaths | null {
  if (result === null) return null;
  return {
    rejected: parsePath(result.rejected),
    key: parsePath(result.key),
    message: result.message === null ? null : parsePath(result.message),
  };
}

function imageSettingsOf(settings: FeedSettings): ImageSettings | null {
  const { source, send, folder = null, bytes_max = 0, types = [], multipart } = settings;
  if (source === undefined || send === undefined || multipart === undefined) return null;
  return { source, send, folder, bytes_max, types, multipart };
}

/** Describes the source of a feed's rows. */
export function sourceOf(rules: Pick<FeedRules, "name" | "table" | "query" | "file">): Message {
  const what = rules.query === null ? m.feeds.table({ table: rules.table }) : m.feeds.query({ name: rules.name });
  return rules.file === null ? what : m.feeds.sourceOfFile({ source: what, file: rules.file });
}
