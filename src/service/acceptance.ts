import { type ScannedJson, scanJson } from "../answers/scan-json.ts";
import { looksLikeHtml } from "../answers/web-page.ts";
import { m } from "../messages/messages.ts";
import { readDoubt, readTextDoubt } from "./doubt-words.ts";
import { readErrorWords, readTextError } from "./error-words.ts";

/** What a 2xx answer to a POST means, whatever was posted. */
export type Acceptance =
  /** `root`: the JSON of the answer, if any. `doubt`: why it may be no acceptance; it counts as one only where the endpoint answers so. */
  | { kind: "accepted"; root?: ScannedJson; doubt?: Doubt }
  /** A web page: not the service answered. The outcome is unknown. */
  | { kind: "html" }
  /** JSON that breaks off, or no text at all: what it would have said is unknown, and so is the outcome. */
  | { kind: "cut" }
  /** The service says that something was wrong, in a form that names no record. Counts as 422. */
  | { kind: "error"; words: string; root?: ScannedJson };

/** `counts`: none of what was sent was taken. `words`: a word that stands in errors. `part`: of several records some were not taken. */
export interface Doubt {
  why: "counts" | "words" | "part";
  words: string;
}

/** What was answered instead of an acceptance, for a message. */
export const UNREADABLE_WORDS = { html: m.service.webPage, cut: m.service.brokenJson } as const;

/** How much of a text is looked at. */
const HEAD_BYTES = 1_200;

/**
 * Empty, plain text and complete JSON bodies are acceptance unless they report an error ({@link readErrorWords}); a web
 * page and JSON that breaks off never are.
 */
export function readAcceptance(answer: { contentType: string; body: Buffer }): Acceptance {
  const { body } = answer;
  if (body.length === 0) return { kind: "accepted" };
  if (looksLikeHtml(answer)) return { kind: "html" };
  let root: ScannedJson;
  try {
    root = scanJson(body);
  } catch {
    return readText(body);
  }
  const words = readErrorWords(body, root, "acceptance");
  if (words !== undefined) return { kind: "error", words, root };
  const doubt = readDoubt(body, root);
  return { kind: "accepted", root, ...(doubt === undefined ? {} : { doubt }) };
}

function readText(body: Buffer): Acceptance {
  const text = body.toString("utf8", 0, HEAD_BYTES);
  const bare = text.replace(/^\ufeff/, "").trim();
  if (bare === "") return { kind: "accepted" };
  // NUL: UTF-16 or no text at all. Whatever begins as JSON does and is not JSON has lost its end.
  if (/^[[{"]/.test(bare) || text.includes("\0") || text.startsWith("\ufffd") || "false".startsWith(bare))
    return { kind: "cut" };
  const words = readTextError(text);
  if (words !== undefined) return { kind: "error", words };
  const doubtful = readTextDoubt(text);
  return { kind: "accepted", ...(doubtful === undefined ? {} : { doubt: { why: "words", words: doubtful } }) };
}
