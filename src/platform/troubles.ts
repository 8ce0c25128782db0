/*
 * The daemon's own troubles: files that it may not write, a disk that is full, a reload that failed. It is kept in memory,
 * because what stands in the way of the database stands in the way of writing it down, and it comes first wherever
 * the state of the daemon is shown.
 */
import type { Message } from "../messages/message.ts";
import { withTexts } from "../messages/pack.ts";
import type { BridgeError, ErrorCode } from "./errors.ts";

/** Each ends by itself once the same succeeds. `files`: looks at the database's files; `secure`: what precedes a confirm. */
export type TroubleOf = "files" | "write" | "secure" | "reload";

export interface Trouble {
  of: TroubleOf;
  code: ErrorCode;
  /** What `status` says of it as well, without the names of folders. */
  sentence: Message;
  /** UTC, ISO 8601. */
  since: string;
}

interface Standing extends Trouble {
  error: BridgeError;
  sinceMs: number;
}

/** An ERP may hold the write lock for its nightly rewrite: for so long that is no trouble. */
const BUSY_MS = 30_000;

export class Troubles {
  readonly #nowMs: () => number;
  readonly #standing = new Map<TroubleOf, Standing>();

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs;
  }

  /** @param folder of the database, which is not shown */
  note(of: TroubleOf, error: BridgeError, folder?: string): void {
    const before = this.#standing.get(of);
    // What fails a look fails the write that asked for it too.
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

  /** The oldest of what concerns the database, or else of the rest; undefined where nothing stands. */
  get first(): Trouble | undefined {
    const told = [...this.#standing.values()].filter(
      ({ code, sinceMs }) => code !== "database_busy" || this.#nowMs() - sinceMs >= BUSY_MS,
    );
    const [first] = told.sort((a, b) => Number(isOfDatabase(b)) - Number(isOfDatabase(a)) || a.sinceMs - b.sinceMs);
    if (first === undefined) return undefined;
    const { of, code, sentence, since } = first;
    return { of, code, sentence, since };
  }
}

/** Whether nothing is stored or confirmed while it stands. */
export function isOfDatabase({ of }: Pick<Trouble, "of">): boolean {
  return of !== "reload";
}

function hideFolder(text: string, folder: string | undefined): string {
  if (folder === undefined || folder === "/") return text;
  return text.replaceAll(`${folder}/`, "").replaceAll(folder, folder.slice(folder.lastIndexOf("/") + 1));
}
