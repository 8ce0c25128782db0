import { type ScannedJson, scanJson } from "../../answers/scan-json.ts";
import { looksLikeHtml } from "../../answers/web-page.ts";
import { m } from "../../messages/messages.ts";
import { TEXT_BYTES } from "./members.ts";
import { readErrorWords, readReportedWords, readSentWords, readTextError } from "./reported-errors.ts";
import { readFailureWords, readUnknown } from "./unknown-outcome.ts";

/** What a 2xx answer to a POST means, whatever was posted. */
export type Acceptance =
  /** `root`: the JSON of the answer, if any. `unknown`: why it may be no acceptance; it is one only where the endpoint usually answers so. */
  | { kind: "accepted"; root?: ScannedJson; unknown?: WhyUnknown }
  /** A web page, so it is not from the service. The outcome is unknown. */
  | { kind: "html" }
  /** Truncated JSON, or no text: the outcome is unknown. */
  | { kind: "cut" }
  /** An error report that names no record. Treated as 422. */
  | { kind: "error"; words: string; root?: ScannedJson };

/**
 * `counts`: nothing was accepted. `words`: the text has a word of errors. `part`: some records were not accepted.
 * `list`: a list or a text of what was left out, or of warnings. `code`: a number or a letter that means a failure to some services.
 */
export interface WhyUnknown {
  why: "counts" | "words" | "part" | "list" | "code";
  words: string;
}

/** Messages for answers that are no acceptance. */
export const UNREADABLE_WORDS = { html: m.service.webPage, cut: m.service.brokenJson } as const;

/**
 * Empty bodies, plain text and complete JSON are an acceptance unless they report an error ({@link readErrorWords}); a web
 * page and truncated JSON never are. What the answer reports of single records ({@link readReportedWords})
 * or of what was sent ({@link readSentWords}) is an error as well.
 */
export function readAcceptance(
  answer: { contentType: string; body: Buffer },
  to: "request" | "import" = "request",
): Acceptance {
  const { body } = answer;
  if (body.length === 0) return { kind: "accepted" };
  if (looksLikeHtml(answer)) return { kind: "html" };
  let root: ScannedJson;
  try {
    root = scanJson(body);
  } catch {
    return readText(body);
  }
  const words =
    readErrorWords(body, root, "acceptance") ??
    (to === "import" ? readReportedWords(body, root) : readSentWords(body, root));
  if (words !== undefined) return { kind: "error", words, root };
  const unknown = readUnknown(body, root);
  return { kind: "accepted", root, ...(unknown && { unknown }) };
}

function readText(body: Buffer): Acceptance {
  const text = body.toString("utf8", 0, TEXT_BYTES);
  const bare = text.replace(/^\ufeff/, "").trim();
  if (bare === "") return { kind: "accepted" };
  // NUL means UTF-16 or no text. A text that begins like JSON and is invalid was truncated.
  if (/^[[{"]/.test(bare) || text.includes("\0") || text.startsWith("\ufffd") || "false".startsWith(bare))
    return { kind: "cut" };
  const words = readTextError(text);
  if (words !== undefined) return { kind: "error", words };
  const unknown = readFailureWords(text);
  return { kind: "accepted", ...(unknown === undefined ? {} : { unknown: { why: "words", words: unknown } }) };
}
