/*
 * What a failed request is about: the feed or the connection, all its records, or single ones that the answer names. Records
 * that an answer with a 2xx status names are refused likewise.
 */
import { type ImportResult, readImportResult } from "../../service/outcome/import-result.ts";
import { ServiceError } from "../../service/service-error.ts";
import type { FeedRules } from "../feed.ts";
import type { OutboxRow } from "../feed-outbox.ts";
import { type FlightEnd, inFlight } from "./flights.ts";
import { isHeldAsDenied, isOfRecord } from "./refusal-trial.ts";
import type { Entry, Named, Outcome, Refused, SendPass } from "./send-pass.ts";

/** Only a request that found no connection has certainly had no effect. */
export function effectOf(error: unknown): FlightEnd {
  if (!(error instanceof ServiceError) || error.effect === "unknown") return "unknown";
  return error.status === undefined ? "nothing" : "over";
}

/**
 * A refusal that may be about a record; rate limits and outages are about the feed or the connection.
 * @param mayBeDenied 401, 402 and 403 may be about a record as well: {@link isAboutRows}
 */
export function refusalOf(error: unknown, mayBeDenied: boolean): Refused | undefined {
  if (!(error instanceof ServiceError) || error.status === undefined) return undefined;
  const { code, status } = error;
  if (code === "credentials_refused" || code === "payment_required") {
    if (!mayBeDenied) return undefined;
  } else if (code !== "request_refused" && code !== "redirected") return undefined;
  return { kind: "refused", code, status, words: error.words ?? "", body: error.body };
}

/**
 * Whether 401, 402 or 403 to a request with these rows is about them. The first such answer is about the feed, and holds it.
 * It is about the rows where the probe of that hold has been accepted with another row, or where each of them was refused
 * like this, or for good, while others were accepted.
 */
export function isAboutRows(
  { heldFor, trial }: Pick<SendPass, "heldFor" | "trial">,
  rows: readonly OutboxRow[],
): boolean {
  if (isHeldAsDenied(heldFor)) return trial.hasAccepted;
  return rows.length > 0 && rows.every(({ isDenied, isRefused }) => isDenied || isRefused);
}

/** The records that a refused table's answer names: the table goes again without them. Other requests are divided. */
export function withNamed(
  refused: Refused,
  entries: readonly Entry[],
  options: { rules: FeedRules; hideSecrets: (text: string) => string; names: () => readonly (readonly string[])[] },
): Outcome {
  const { rules, hideSecrets, names } = options;
  const { body, status, words } = refused;
  if (rules.scope !== "whole" || body === undefined || !isOfRecord(status)) return refused;
  const result = readImportResult({ contentType: "", body }, names(), rules.result);
  const named = "rejected" in result ? namedOf(result.rejected, entries, hideSecrets) : [];
  return named.length === 0 || named.length === entries.length ? refused : { kind: "partial", status, words, named };
}

export function namedOf(
  rejected: (ImportResult & { kind: "partial" })["rejected"],
  entries: readonly Entry[],
  hideSecrets: (text: string) => string,
): Named[] {
  return rejected.flatMap(({ index, message }) => {
    const entry = entries[index];
    return entry === undefined
      ? []
      : [{ ...entry, row: entry.row && inFlight(entry.row), words: hideSecrets(message) }];
  });
}
