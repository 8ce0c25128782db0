/*
 * How a 2xx answer to an import, a confirm or a status is understood. No list of words covers every service, so words decide
 * first, and then what is usual for the endpoint. The order of decisions:
 *
 * 1. Read (here): a web page, truncated JSON, or no text leaves the outcome unknown. All else is an `Answer`, whose members are
 *    found in one walk (`answer.ts`) for steps 3 and 5 to 7; steps 2 and 4 look deeper. The words stand in `vocabulary.ts`.
 * 2. Error (`reported-errors.ts`): the answer reports one, of the whole or of what was sent. A refusal.
 * 3. Doubt (`unknown-outcome.ts`): words of failure, or counts of nothing. Accepted only where that is usual.
 * 4. Report (`import-result.ts`): records of an import that are refused by name, at the configured path, also beside an error.
 * 5. Counts (`answer-counts.ts`): of fewer records than were sent. A refusal, or doubt.
 * 6. Part (`partial-acceptance.ts`): "2 of 3", or a list of what was left out. Doubt.
 * 7. Form (`answer-form.ts`): kind, names, verdicts and texts; beside them the words for each record of the request
 *    (`record-reports.ts`, with `named-records.ts` and `member-repeats.ts`).
 * 8. Compare (`compare-forms.ts`): an unusual form is neither an acceptance nor a refusal. Unusual words for some records are
 *    about these.
 * 9. Learn, in the transaction that settles the request (`pass/answer-forms.ts`, which has loaded what is usual).
 *
 * What is usual is learned from the first acceptances, and changes later by age, proofs, or a person (`usual.ts`). It is kept
 * by endpoint, as JSON with pure functions: forms (`usual-forms.ts`), and with them words for records (`usual-reports.ts`) and
 * texts (`usual-texts.ts`); counts (`usual-counts.ts`).
 */

import { type ScannedJson, scanJson } from "../../answers/scan-json.ts";
import { looksLikeHtml } from "../../answers/web-page.ts";
import { m } from "../../messages/messages.ts";
import { Answer } from "./answer.ts";
import { readErrorWords, readReportedWords, readSentWords, readTextError } from "./reported-errors.ts";
import { ofWords, readFailureWords, readUnknown } from "./unknown-outcome.ts";

/** `unknown`: why it may be no acceptance; it is one only where the endpoint usually answers so. */
export interface Accepted {
  kind: "accepted";
  answer: Answer;
  unknown?: WhyUnknown;
}

/** What a 2xx answer to a POST means, whatever was posted. */
export type Acceptance =
  | Accepted
  /** A web page, so it is not from the service. The outcome is unknown. */
  | { kind: "html" }
  /** Truncated JSON, or no text: the outcome is unknown. */
  | { kind: "cut" }
  /** An error report that names no record. Treated as 422. */
  | { kind: "error"; words: string; answer: Answer };

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

/** Empty bodies, plain text and complete JSON are an acceptance unless they report an error. */
export function readAcceptance(
  answer: { contentType: string; body: Buffer },
  to: "request" | "import" = "request",
): Acceptance {
  const { body } = answer;
  if (body.length === 0) return { kind: "accepted", answer: new Answer(body) };
  if (looksLikeHtml(answer)) return { kind: "html" };
  let root: ScannedJson;
  try {
    root = scanJson(body);
  } catch {
    return readText(new Answer(body));
  }
  const words =
    readErrorWords(body, root, "acceptance") ??
    (to === "import" ? readReportedWords(body, root) : readSentWords(body, root));
  const read = new Answer(body, root);
  if (words !== undefined) return { kind: "error", words, answer: read };
  return withUnknown({ kind: "accepted", answer: read }, readUnknown(read));
}

function withUnknown(accepted: Accepted, unknown: WhyUnknown | undefined): Accepted {
  return unknown === undefined ? accepted : { ...accepted, unknown };
}

function readText(answer: Answer): Acceptance {
  const { text } = answer;
  const bare = text.replace(/^\ufeff/, "").trim();
  if (bare === "") return { kind: "accepted", answer };
  // NUL means UTF-16 or no text. A text that begins like JSON and is invalid was truncated.
  if (/^[[{"]/.test(bare) || text.includes("\0") || text.startsWith("\ufffd") || "false".startsWith(bare))
    return { kind: "cut" };
  const words = readTextError(text);
  if (words !== undefined) return { kind: "error", words, answer };
  return withUnknown({ kind: "accepted", answer }, ofWords(readFailureWords(text)));
}
