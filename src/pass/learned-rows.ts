/*
 * What is usual of the service's answers, by topic and endpoint. Written in the transaction that settles the answer from which it
 * was learned; no position depends on it, and after a crash the same answer teaches it again.
 */
import type { learnedAnswers } from "../database/schema.ts";
import type { Store } from "../database/store.ts";

/** More than the endpoints of one configuration; those of former ones go first. */
const ENDPOINTS_MAX = 12;

/** `forms` and `counts` of the answers to POSTs, `list`: what stands beside a list, `changes`: how changes are followed. */
export type TopicName = (typeof learnedAnswers.$inferSelect)["topic"];

export class LearnedTopic<T extends object> {
  readonly #topic: TopicName;
  readonly #nothing: T;

  /** @param nothing what is known before the first answer */
  constructor(topic: TopicName, nothing: T) {
    this.#topic = topic;
    this.#nothing = nothing;
  }

  load(store: Store, endpoint: string): T {
    const text = this.#find(store, endpoint);
    return text === undefined ? this.#nothing : this.#read(text);
  }

  /** Every endpoint of which something is known. */
  list(store: Store): { endpoint: string; learned: T }[] {
    return store
      .prepare<{ endpoint: string; learned: string }>(
        "SELECT endpoint, learned FROM learned_answers WHERE topic = ? ORDER BY rowid",
      )
      .all(this.#topic)
      .map(({ endpoint, learned }) => ({ endpoint, learned: this.#read(learned) }));
  }

  /** The same again is no write. */
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

  #find(store: Store, endpoint: string): string | undefined {
    return store
      .prepare<{ learned: string }>("SELECT learned FROM learned_answers WHERE topic = ? AND endpoint = ?")
      .get(this.#topic, endpoint)?.learned;
  }

  /** What cannot be read was not learned. */
  #read(text: string): T {
    try {
      return { ...this.#nothing, ...(JSON.parse(text) as T) };
    } catch {
      return this.#nothing;
    }
  }
}

/** Another account: nothing is known of what answers there. */
export function forgetLearned(store: Store): void {
  store.prepare("DELETE FROM learned_answers").run();
}
