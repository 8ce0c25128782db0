import { shortWords } from "../answers/inert-text.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";

/** What the headers of an answer say of a cache that gave it, whatever was asked of caches. */
export interface CacheSigns {
  /** It shows nothing of what was changed since. */
  isCached: boolean;
  /** The header that says so, where the answer is older than a minute, or nothing shows how old it is. */
  oldBy?: string;
}

/** What is younger is no older than what the next request brings. */
const FRESH_S = 60;

/** Where caches say what they did; the last is RFC 9211's. */
const MARKS = ["X-Cache", "X-Cache-Status", "X-Proxy-Cache", "X-Varnish-Cache", "CF-Cache-Status", "Cache-Status"];
/** `HIT`, `TCP_MEM_HIT`, `MISS, HIT`, `Hit from cloudfront`, `edge; hit`; what was asked for anew at the service is none. */
const IS_HIT = /(?:^|[^a-z])(?<!refresh_)(?:hit(?!-for)|stale|updating)(?![a-z])/i;

export function readCacheSigns(header: (name: string) => string | undefined): CacheSigns {
  const [age, warning] = [header("age"), header("warning")];
  const marks = MARKS.find((name) => IS_HIT.test(header(name.toLowerCase()) ?? "")) ?? "";
  const mark = header(marks.toLowerCase()) ?? "";
  const ageS = Number(age ?? 0);
  const isStale = /(?:^|,)\s*11[01]\b/.test(warning ?? "");
  const isHit = marks !== "";
  const sign =
    ageS > FRESH_S
      ? `Age: ${age}`
      : isStale
        ? `Warning: ${warning}`
        : isHit && age === undefined
          ? `${marks}: ${mark}`
          : "";
  return { isCached: ageS > 0 || isStale || isHit, ...(sign !== "" && { oldBy: shortWords(sign) }) };
}

/** What a pass fails with whose answer is an old one: what is new is not in it. */
export function findOld({ oldBy }: Partial<CacheSigns>, path: string): BridgeError | undefined {
  if (oldBy === undefined) return undefined;
  return new BridgeError("answer_unreadable", m.service.cached({ path, sign: oldBy }), {
    hint: m.service.exemptFromCache,
  });
}
