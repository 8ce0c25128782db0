import type { Store } from "../database/store.ts";
import type { Clock } from "../platform/ports.ts";
import { TtlCache } from "../platform/ttl-cache.ts";
import { type Condition, type Limits, listConditions, listCovered, measureAges } from "./conditions.ts";
import { loadFacts } from "./fact-rows.ts";
import { type Facts, withoutForeignWords } from "./facts.ts";

/** The present facts and conditions, for everything that polls them. */
export interface Watched {
  nowMs: number;
  facts: Facts;
  conditions: readonly Condition[];
  covered: readonly Condition[];
}

/** Caches one read of the database for all callers; a costly read is cached longer. */
export function watchConditions(
  { store, clock, startedAtMs, everyMs }: { store: Store; clock: Clock; startedAtMs: number; everyMs: number },
  limits: Limits,
): () => Watched {
  const cache = new TtlCache(
    clock,
    () => {
      const nowMs = clock.nowMs();
      const facts = measureAges(withoutForeignWords(loadFacts(store)), { nowMs, startedAtMs });
      const now = { nowMs, isRunning: true };
      return { nowMs, facts, conditions: listConditions(facts, now, limits), covered: listCovered(facts, now) };
    },
    { restMinMs: 0, everyMs },
  );
  return () => cache.get();
}
