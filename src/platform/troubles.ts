/*
 * Troubles of the daemon itself: files that it may not write, a full disk, a failed reload. They are kept in memory,
 * because what blocks the database also blocks recording them, and they come first wherever the daemon's state is
 * shown.
 */
import type { Message } from "../messages/message.ts";
import { withTexts } from "../messages/pack.ts";
import type { BridgeError, ErrorCode } from "./errors.ts";

/**
 * Each ends when the same operation succeeds. `files`: checks of the database's files; `secure`: the flush before a
 * confirm.
 */
export type TroubleOf = "files" | "write" | "secure" | "reload";

export interface Trouble {
  of: TroubleOf;
  code: ErrorCode;
  /** Also shown by `status`; without paths of folders. */
  sentence: Message;
  /** UTC, ISO 8601. */
  since: string;
}

interface Standing extends Trouble {
  error: BridgeError;
  sinceMs: number;
}

/** An ERP may hold the write lock for this long during a nightly rewrite; that is no trouble. */
const BUSY_MS = 30_000;

export class Troubles {
  readonly #nowMs: () => number;
  readonly #standing = new Map<TroubleOf, Standing>();

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs;
  }

  /** @param folder of the database; removed from the sentence */
  note(of: TroubleOf, error: BridgeError, folder?: string): void {
    const before = this.#standing.get(of);
    // One error may fail both a check of the files and the write that requested it: it is listed once.
    if ([...this.#standing.values()].some((other) => other.error === error)) return;
    const sinceMs = before?.code === error.code ? before.sinceMs : this.#nowMs();
    const shown = withTexts(error.inFull, (words) => hideFolder(words, folder));
    const since = new Date(sinceMs).toISOString();
    this.#standing.set(of, { of, code: error.code, sentence: shown, since, error, sinceMs });
  }

  end(of: TroubleOf): void {
    this.#standing.delete(of);
  }

  has(of: TroubleOf): boolean {
    return this.#standing.has(of);
  }

  /** The oldest trouble of the database, else the oldest of the others; undefined where there is none. */
  get first(): Trouble | undefined {
    const reported = [...this.#standing.values()].filter(
      ({ code, sinceMs }) => code !== "database_busy" || this.#nowMs() - sinceMs >= BUSY_MS,
    );
    const [first] = reported.sort((a, b) => Number(isOfDatabase(b)) - Number(isOfDatabase(a)) || a.sinceMs - b.sinceMs);
    if (first === undefined) return undefined;
    const { of, code, sentence, since } = first;
    return { of, code, sentence, since };
  }
}

/** Whether it prevents storing and confirming. */
export function isOfDatabase({ of }: Pick<Trouble, "of">): boolean {
  return of !== "reload";
}

function hideFolder(text: string, folder: string | undefined): string {
  if (folder === undefined || folder === "/") return text;
  return text.replaceAll(`${folder}/`, "").replaceAll(folder, folder.slice(folder.lastIndexOf("/") + 1));
}
