import { shortWords } from "../messages/inert-text.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";

/** Evidence in an answer's headers that a cache sent it, although requests ask caches not to. */
export interface CacheSigns {
  /** Whether a cache sent the answer, which may lack recent changes. */
  isCached: boolean;
  /** The header that shows it, where the answer is older than a minute or of unknown age. */
  oldBy?: string;
  /**
   * The copy is stale by its own header: the cache may have asked the service and had no answer from it in time, so the
   * service may have acted.
   */
  mayHaveAsked?: true;
}

/** A younger answer is treated as current: the next request comes as late. */
const FRESH_S = 60;

/** Headers in which caches report hits; the last is RFC 9211's. */
const MARKS = ["X-Cache", "X-Cache-Status", "X-Proxy-Cache", "X-Varnish-Cache", "CF-Cache-Status", "Cache-Status"];
/** `HIT`, `TCP_MEM_HIT`, `MISS, HIT`, `Hit from cloudfront`, `edge; hit`; revalidation with the service is no hit. */
const IS_HIT = /(?:^|[^a-z])(?<!refresh_)(?:hit(?!-for)|stale|updating)(?![a-z])/i;

const IS_STALE = /(?:^|[^a-z])(?:stale|updating)(?![a-z])/i;

export function readCacheSigns(header: (name: string) => string | undefined): CacheSigns {
  const [age, warning] = [header("age"), header("warning")];
  const marks = MARKS.find((name) => IS_HIT.test(header(name.toLowerCase()) ?? "")) ?? "";
  const mark = header(marks.toLowerCase()) ?? "";
  const ageS = Number(age ?? 0);
  const isStaleByWarning = /(?:^|,)\s*11[01]\b/.test(warning ?? "");
  const isHit = marks !== "";
  const isStale = isStaleByWarning || IS_STALE.test(mark);
  const sign =
    ageS > FRESH_S
      ? `Age: ${age}`
      : isStaleByWarning
        ? `Warning: ${warning}`
        : isHit && (age === undefined || isStale)
          ? `${marks}: ${mark}`
          : "";
  return {
    isCached: ageS > 0 || isStale || isHit,
    ...(sign !== "" && { oldBy: shortWords(sign) }),
    ...(isStale && { mayHaveAsked: true }),
  };
}

/** The error for a pass whose answer is an old copy, which may lack new records. */
export function findOld({ oldBy }: Partial<CacheSigns>, path: string): BridgeError | undefined {
  if (oldBy === undefined) return undefined;
  return new BridgeError("answer_unreadable", m.service.cached({ path, sign: oldBy }), {
    hint: m.service.exemptFromCache,
  });
}
