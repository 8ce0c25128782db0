/*
 * The usual properties of the service's answers, by topic and endpoint. Written in the transaction that settles the answer they
 * were learned from; no position depends on them, and after a crash they are learned again from the same answer.
 */
import type { learnedAnswers } from "../database/schema.ts";
import type { Store } from "../database/store.ts";

/** More than the endpoints of one configuration; those of former configurations are deleted first. */
const ENDPOINTS_MAX = 12;

/** `forms` and `counts` of the answers to POSTs, `list`: what stands beside a list, `changes`: how changes are followed. */
export type TopicName = (typeof learnedAnswers.$inferSelect)["topic"];

export class LearnedTopic<T extends object> {
  readonly #topic: TopicName;
  readonly #nothing: T;

  /** @param nothing the value before the first answer */
  constructor(topic: TopicName, nothing: T) {
    this.#topic = topic;
    this.#nothing = nothing;
  }

  load(store: Store, endpoint: string): T {
    const text = this.#find(store, endpoint);
    return text === undefined ? this.#nothing : this.#read(text);
  }

  /** Every endpoint with a stored value. */
  list(store: Store): { endpoint: string; learned: T }[] {
    return store
      .prepare<{ endpoint: string; learned: string }>(
        "SELECT endpoint, learned FROM learned_answers WHERE topic = ? ORDER BY rowid",
      )
      .all(this.#topic)
      .map(({ endpoint, learned }) => ({ endpoint, learned: this.#read(learned) }));
  }

  /** Writes only a changed value. */
  save(store: Store, endpoint: string, learned: T): void {
    const text = JSON.stringify(learned);
    if (this.#find(store, endpoint) === text) return;
    store
      .prepare("REPLACE INTO learned_answers (topic, endpoint, learned) VALUES (?, ?, ?)")
      .run(this.#topic, endpoint, text);
    store
      .prepare(
        `DELETE FROM learned_answers WHERE topic = @topic AND rowid NOT IN
           (SELECT rowid FROM learned_answers WHERE topic = @topic ORDER BY rowid DESC LIMIT ${ENDPOINTS_MAX})`,
      )
      .run({ topic: this.#topic });
  }

  /** Writes what follows from the stored value, unless that is the same object. */
  change(store: Store, endpoint: string, change: (learned: T) => T): { before: T; after: T } {
    const before = this.load(store, endpoint);
    const after = change(before);
    if (after !== before) this.save(store, endpoint, after);
    return { before, after };
  }

  #find(store: Store, endpoint: string): string | undefined {
    return store
      .prepare<{ learned: string }>("SELECT learned FROM learned_answers WHERE topic = ? AND endpoint = ?")
      .get(this.#topic, endpoint)?.learned;
  }

  /** A value that cannot be read counts as absent. */
  #read(text: string): T {
    try {
      return { ...this.#nothing, ...(JSON.parse(text) as T) };
    } catch {
      return this.#nothing;
    }
  }
}

/** For another account: its service may answer differently. */
export function forgetLearned(store: Store): void {
  store.prepare("DELETE FROM learned_answers").run();
}
