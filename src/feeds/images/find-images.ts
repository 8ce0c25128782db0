/*
 * The files of the images feed. They are examined before their rows are absorbed, so that a row of the outbox contains the
 * SHA-256 of the content, not the content. The bytes are read only when a request is built, and must have the committed
 * hash. A file that changed in between is examined again and its row absorbed again: the newest content wins. After a crash
 * the files are examined again.
 */
import { basename } from "node:path";
import { setImmediate } from "node:timers/promises";
import { isUnknownHere } from "../../database/objects/verify-tables.ts";
import type { Store } from "../../database/store.ts";
import type { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";
import { commit } from "../../pass/commit.ts";
import type { JobContext } from "../../pass/job.ts";
import { childProgram } from "../../platform/child-program.ts";
import { BridgeError } from "../../platform/errors.ts";
import { type HelperOptions, helperFor, Unanswered } from "../../platform/helper-process.ts";
import type { FeedRules } from "../feed.ts";
import type { OutboxRow } from "../feed-outbox.ts";
import type { ColumnValue, SourceRow } from "../feed-record.ts";
import { loadSourceRows, markKeyDirty } from "../source/feed-source.ts";
import {
  fileMark,
  filesIn,
  type ImageRules,
  type ImportBody,
  imageBody,
  imagePlaceOf,
  type LoadedFile,
} from "./image-feed.ts";
import { refusalOf } from "./image-file.ts";
import type { ImageFunctions } from "./image-helper.ts";
import {
  deleteUnnamedFiles,
  type ImageFile,
  loadFilesOf,
  loadImageFile,
  markFileUnknown,
  saveImageFile,
} from "./image-rows.ts";
import { type Look, unreadable } from "./read-image.ts";

/** In the same folder as this file, both in the sources and in the bundle. */
const HELPER = childProgram("image-helper", import.meta.url);

/** Limit of the files in a request. A single image may be larger. */
const REQUEST_BYTES_MAX = 16 * 1024 * 1024;
/** Results are committed in such steps, so that a stop loses little of a long examination. */
const FILES_PER_COMMIT = 100;
/** Other files with the same content that are tried when the row's own file has changed. */
const TWINS_MAX = 5;

/** A row with the state of its file: the row to render, why it cannot be sent, or that the file was not examined yet. */
export type SeenRow = { kind: "row"; row: SourceRow } | { kind: "bad"; reason: Message } | { kind: "unseen" };

/** Called inside the transaction that plans the row. */
export function seeRow(store: Store, images: ImageRules, row: SourceRow): SeenRow {
  const place = imagePlaceOf(images, row[images.source]);
  if (place.kind === "address") return { kind: "row", row };
  if (place.kind === "bad") return place;
  const name = place.steps.join("/");
  const file = loadImageFile(store, name);
  if (file === undefined) return { kind: "unseen" };
  const refusal = refusalOf(file, images);
  if (refusal !== undefined) return { kind: "bad", reason: m.common.about({ subject: images.source, text: refusal }) };
  return { kind: "row", row: { ...row, ...columnsOf(name, file) } };
}

/** Values of the file for placeholders of a template. */
function columnsOf(name: string, { sha256, size, type }: ImageFile): Record<string, ColumnValue> {
  return {
    "file.base64": fileMark(sha256 ?? ""),
    "file.name": basename(name),
    "file.type": type,
    "file.size": BigInt(size),
    "file.sha256": sha256,
  };
}

export class ImageFiles {
  readonly #context: JobContext;
  readonly #rules: FeedRules;
  readonly #images: ImageRules;
  /** The files of the request being sent, by content: each is read once, even if several rows use it. */
  #loaded = new Map<string, LoadedFile>();
  readonly #helper: ReturnType<typeof helperFor<ImageFunctions>>;
  readonly #call: HelperOptions;

  constructor(context: JobContext, rules: FeedRules, images: ImageRules) {
    this.#context = context;
    this.#rules = rules;
    this.#images = images;
    this.#helper = helperFor(HELPER, images.folder);
    this.#call = { place: images.folder, isStopping: context.isStopping };
  }

  /** Undefined where the feed reads no files. */
  static of(context: JobContext, rules: FeedRules): ImageFiles | undefined {
    const { images } = rules;
    return images === null || images.send === "url" ? undefined : new ImageFiles(context, rules, images);
  }

  /**
   * Examines the files of these rows and stores changes. Waits once for files that were just written.
   * @throws BridgeError `stopped` where the program is to end: results until then are stored
   */
  async lookAt(rows: readonly SourceRow[], signal: AbortSignal): Promise<void> {
    const names = this.#namesOf(rows);
    if (names.length === 0) return;
    const { clock } = this.#context;
    const young: string[] = [];
    let waitMs = 0;
    for (let from = 0; from < names.length; from += FILES_PER_COMMIT) {
      const looks = await this.#lookAtSome(names.slice(from, from + FILES_PER_COMMIT), signal);
      for (const { name, look } of looks) {
        if (look.kind !== "young") continue;
        young.push(name);
        waitMs = Math.max(waitMs, look.waitMs);
      }
    }
    if (young.length === 0) return;
    await clock.sleep(waitMs, signal);
    const looks = await this.#lookAtSome(young, signal);
    // Still being written: they are tried again with the other refused rows.
    const growing = looks.filter(({ look }) => look.kind === "young");
    await this.#save(
      growing.map(({ name }) => unreadable(name, "written")),
      signal,
    );
  }

  async #lookAtSome(names: readonly string[], signal: AbortSignal): Promise<{ name: string; look: Look }[]> {
    const { store, clock, isStopping } = this.#context;
    const files = names.map((name) => ({ name, known: loadImageFile(store, name) }));
    const limits = { bytesMax: this.#images.bytesMax, nowMs: clock.nowMs() };
    const call = { ...this.#call, isStopping: () => isStopping() || signal.aborted };
    const looks = await this.#attempt(this.#helper.call("look", call, this.#images.folder, files, limits));
    await this.#save(
      looks.flatMap(({ look }) => (look.kind === "found" ? [look.file] : [])),
      signal,
    );
    if (looks.length < names.length) throw new BridgeError("stopped", m.feeds.stoppedAtImages);
    return looks;
  }

  async #save(files: readonly ImageFile[], signal: AbortSignal): Promise<void> {
    if (files.length === 0) return;
    const { store } = this.#context;
    await commit(this.#context, signal, () => {
      for (const file of files) saveImageFile(store, file);
    });
  }

  #namesOf(rows: readonly SourceRow[]): string[] {
    const names = rows.flatMap((row) => {
      const place = imagePlaceOf(this.#images, row[this.#images.source]);
      return place.kind === "file" ? [place.steps.join("/")] : [];
    });
    return [...new Set(names)];
  }

  /** Begins the examination of a whole table. */
  listNone(): void {
    const { db } = this.#context.store;
    db.exec("DROP TABLE IF EXISTS temp.named_files");
    db.exec("CREATE TEMP TABLE named_files (path TEXT PRIMARY KEY) WITHOUT ROWID");
  }

  list(rows: readonly SourceRow[]): void {
    const { store } = this.#context;
    const note = store.prepare("INSERT INTO temp.named_files VALUES (?) ON CONFLICT DO NOTHING");
    store.db.transaction(() => {
      for (const name of this.#namesOf(rows)) note.run(name);
    })();
  }

  /** Ends the examination of a whole table: deletes stored results of files that no row names. */
  async forgetOthers(signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const others = store.prepare(
      "SELECT 1 FROM image_files WHERE path NOT IN (SELECT path FROM temp.named_files) LIMIT 1",
    );
    if (others.get() !== undefined) await commit(this.#context, signal, () => deleteUnnamedFiles(store));
    store.db.exec("DROP TABLE IF EXISTS temp.named_files");
  }

  /**
   * Reads the files of the next request, for as many rows from the first on as fit. Rows whose file differs from the
   * committed hash are omitted and marked as dirty.
   * @returns `stale`: number of omitted rows
   */
  async take(rows: readonly OutboxRow[], signal: AbortSignal): Promise<{ rows: OutboxRow[]; stale: number }> {
    this.#loaded = new Map();
    const taken: OutboxRow[] = [];
    const stale: { row: OutboxRow; names: string[] }[] = [];
    let bytes = 0;
    for (const row of rows) {
      const size = await this.#load(row, stale, signal);
      if (size === undefined) continue;
      bytes += size;
      if (taken.length > 0 && bytes > REQUEST_BYTES_MAX) break;
      taken.push(row);
    }
    const { store } = this.#context;
    if (stale.length > 0) {
      await commit(this.#context, signal, () => {
        for (const { row, names } of stale) {
          markKeyDirty(store, this.#rules, row.key);
          for (const name of names) markFileUnknown(store, name);
        }
      });
    }
    return { rows: taken, stale: stale.length };
  }

  /** Bytes that the row's files add to the request; undefined where one of them is missing or has changed. */
  async #load(
    row: OutboxRow,
    stale: { row: OutboxRow; names: string[] }[],
    signal: AbortSignal,
  ): Promise<number | undefined> {
    let size = 0;
    for (const sha256 of filesIn(this.#images, row.record)) {
      signal.throwIfAborted();
      if (!this.#loaded.has(sha256)) {
        const names = this.#candidates(row, sha256);
        const file = await this.#readAny(names, sha256);
        if (file === undefined) {
          stale.push({ row, names });
          return undefined;
        }
        this.#loaded.set(sha256, file);
      }
      size += this.#loaded.get(sha256)?.content.length ?? 0;
    }
    return size;
  }

  /** The row's own file first, for its name; then others of the same content. */
  #candidates(row: OutboxRow, sha256: string): string[] {
    const { store } = this.#context;
    // Rows of a query or another database file are not looked up one by one: any file with the content is used.
    const isHere = this.#rules.query === null && this.#rules.file === null;
    const own = isHere ? this.#namesOf(this.#rowsOf(row)) : [];
    const same = own.filter((name) => loadImageFile(store, name)?.sha256 === sha256);
    return [...new Set([...same, ...loadFilesOf(store, sha256, TWINS_MAX).map(({ path }) => path)])];
  }

  /** Empty for a view that this connection cannot read: see quoted-text.ts. */
  #rowsOf({ key }: OutboxRow): SourceRow[] {
    try {
      return loadSourceRows(this.#context.store, this.#rules, key);
    } catch (error) {
      if (isUnknownHere(error)) return [];
      throw error;
    }
  }

  async #readAny(names: readonly string[], sha256: string): Promise<LoadedFile | undefined> {
    const wanted = { sha256, bytesMax: this.#images.bytesMax };
    const found = await this.#attempt(this.#helper.call("read", this.#call, this.#images.folder, names, wanted));
    if (found === undefined) return undefined;
    const { name, bytes } = found;
    const type = loadImageFile(this.#context.store, name)?.type;
    const content = this.#images.send === "base64" ? await inBase64(bytes) : bytes;
    return { name: basename(name), type: type ?? "application/octet-stream", content };
  }

  /** Distinguishes a folder that does not respond from errors of a file. */
  async #attempt<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      throw new BridgeError("folder_missing", m.feeds.folderUnanswered({ folder: this.#images.folder }), {
        hint: m.feeds.folderDiskAway,
        cause: error,
      });
    }
  }

  /** The body of the request with the files loaded for it. */
  bodyOf(records: readonly string[]): ImportBody {
    const fileOf = (sha256: string) => {
      const file = this.#loaded.get(sha256);
      if (file === undefined) throw new BridgeError("internal", m.feeds.fileNotRead);
      return file;
    };
    return imageBody(this.#images, { property: this.#rules.property, records, fileOf });
  }
}

/** Divisible by three, so that the concatenated pieces are the base64 of the whole. */
const BASE64_PIECE_BYTES = 3 * 256 * 1024;

/** Encodes in pieces, so that the event loop is not blocked. */
async function inBase64(bytes: Buffer): Promise<Buffer> {
  const text = Buffer.allocUnsafe(Math.ceil(bytes.length / 3) * 4);
  for (let from = 0, to = 0; from < bytes.length; from += BASE64_PIECE_BYTES) {
    to += text.write(bytes.toString("base64", from, Math.min(from + BASE64_PIECE_BYTES, bytes.length)), to, "latin1");
    await setImmediate();
  }
  return text;
}
