/*
 * The files behind the rows of the images feed. Looks at them before their rows are absorbed, so that a row of the outbox
 * names the content (its SHA-256) and never holds it; reads the bytes only when a request is built, and only those that
 * were committed. A file that changed in between is looked at again and its row absorbed anew: the newest wins. After a
 * crash at any point the files are simply looked at once more.
 */
import { basename } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Store } from "../../database/store.ts";
import { isUnknownHere } from "../../database/verify-tables.ts";
import type { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";
import { commit } from "../../pass/commit.ts";
import type { JobContext } from "../../pass/job.ts";
import { childProgram } from "../../platform/child-program.ts";
import { BridgeError } from "../../platform/errors.ts";
import { type HelperOptions, helperFor, Unanswered } from "../../platform/helper-process.ts";
import type { ColumnValue, FeedRules, SourceRow } from "../feed.ts";
import type { OutboxRow } from "../feed-outbox.ts";
import { loadSourceRows, markKeyDirty } from "../feed-source.ts";
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

/** Beside this file, in the sources and in the bundle alike. */
const HELPER = childProgram("image-helper", import.meta.url);

/** How much of a request is files. One image may be larger by itself. */
const REQUEST_BYTES_MAX = 16 * 1024 * 1024;
/** What was found is kept in such steps, so that a stop loses little of a long look. */
const FILES_PER_COMMIT = 100;
/** Files of one content that are tried when the row's own has another one now. */
const TWINS_MAX = 5;

/** A row with what is known of its file: what to render, why not, or that the file is still to be looked at. */
export type SeenRow = { kind: "row"; row: SourceRow } | { kind: "bad"; reason: Message } | { kind: "unseen" };

/** Inside the transaction that decides what becomes of the row. */
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

/** What a template may say of the file. */
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
  /** The files of the request that is being sent, by their content: each is read once, however many rows show it. */
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
   * Looks at the files that these rows name and keeps what is new. Files that were just written are waited for, once.
   * @throws BridgeError `stopped` where the program is to end: what was found until then is kept.
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
    // Still growing: they are tried again with the other refused rows.
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

  /** Begins a look at the whole table. */
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

  /** The look at the whole table has ended: files that nothing names are forgotten. */
  async forgetOthers(signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const others = store.prepare(
      "SELECT 1 FROM image_files WHERE path NOT IN (SELECT path FROM temp.named_files) LIMIT 1",
    );
    if (others.get() !== undefined) await commit(this.#context, signal, () => deleteUnnamedFiles(store));
    store.db.exec("DROP TABLE IF EXISTS temp.named_files");
  }

  /**
   * Reads the files of the next request: as many rows, from the first on, as one request may carry. Rows whose file is
   * not what was committed are left out and marked as dirty.
   * @returns `stale`: how many were left out.
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

  /** Bytes that the row's files add to the request; undefined where one of them is not there as it was. */
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
    // Rows of a query or of another file are not looked up one by one: the content is all that matters.
    const isHere = this.#rules.query === null && this.#rules.file === null;
    const own = isHere ? this.#namesOf(this.#rowsOf(row)) : [];
    const same = own.filter((name) => loadImageFile(store, name)?.sha256 === sha256);
    return [...new Set([...same, ...loadFilesOf(store, sha256, TWINS_MAX).map(({ path }) => path)])];
  }

  /** None where it is a view that this connection cannot read: see quoted-text.ts. */
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

  /** No file is to be blamed where the folder does not answer. */
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

  /** The request with the files that were taken for it. */
  bodyOf(records: readonly string[]): ImportBody {
    const fileOf = (sha256: string) => {
      const file = this.#loaded.get(sha256);
      if (file === undefined) throw new BridgeError("internal", m.feeds.fileNotRead);
      return file;
    };
    return imageBody(this.#images, { property: this.#rules.property, records, fileOf });
  }
}

/** Divisible by three, so that the pieces put together are the base64 of the whole. */
const BASE64_PIECE_BYTES = 3 * 256 * 1024;

/** In pieces, because the event loop must go on meanwhile. */
async function inBase64(bytes: Buffer): Promise<Buffer> {
  const text = Buffer.allocUnsafe(Math.ceil(bytes.length / 3) * 4);
  for (let from = 0, to = 0; from < bytes.length; from += BASE64_PIECE_BYTES) {
    to += text.write(bytes.toString("base64", from, Math.min(from + BASE64_PIECE_BYTES, bytes.length)), to, "latin1");
    await setImmediate();
  }
  return text;
}
