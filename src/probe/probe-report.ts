import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
/** The open questions by a short name. */
export type ProbeQuestion = keyof typeof m.questions;

/** What became of one question that the interface document leaves open. */
export type FindingState = "found" | "not found" | "needs you" | "skipped";

export interface Finding {
  /** As it stands among the open questions. */
  question: Message;
  state: FindingState;
  /** Sentences with names, types, counts and the service's own error words; no value of an order. */
  facts: Message[];
  /** Keys of the configuration, dotted, with the values that the service's answers show. */
  keys: Record<string, unknown>;
  /** The same where only a person can say whether the value is meant. */
  choices: Record<string, unknown>;
}

type Proposed = Readonly<Record<string, unknown>>;

/** Gathers what the probes find, question by question. */
export class ProbeReport {
  readonly #findings = new Map<ProbeQuestion, Finding>();

  constructor() {
    for (const [name, question] of Object.entries(m.questions)) {
      this.#findings.set(name as ProbeQuestion, { question, state: "not found", facts: [], keys: {}, choices: {} });
    }
  }

  found(question: ProbeQuestion, fact: Message, keys: Proposed = {}): void {
    this.#add(question, "found", fact, keys);
  }

  needsYou(question: ProbeQuestion, fact: Message, keys: Proposed = {}): void {
    this.#add(question, "needs you", fact, keys);
  }

  notFound(question: ProbeQuestion, fact: Message): void {
    this.#add(question, "not found", fact, {});
  }

  skipped(question: ProbeQuestion, fact: Message): void {
    this.#add(question, "skipped", fact, {});
  }

  /** Adds a fact. Of several states the one that needs most of a person stays, and `found` replaces `not found`. */
  #add(question: ProbeQuestion, state: FindingState, fact: Message, keys: Proposed): void {
    const finding = this.#findings.get(question);
    if (finding === undefined) return;
    if (STRENGTH[state] > STRENGTH[finding.state]) finding.state = state;
    if (!finding.facts.some((one) => String(one) === String(fact))) finding.facts.push(fact);
    Object.assign(finding.keys, keys);
  }

  /** Adds values that may be meant. */
  offer(question: ProbeQuestion, fact: Message, choices: Proposed): void {
    this.needsYou(question, fact);
    Object.assign(this.#findings.get(question)?.choices ?? {}, choices);
  }

  get findings(): Finding[] {
    return [...this.#findings.values()];
  }

  get keys(): Record<string, unknown> {
    return Object.assign({}, ...this.findings.map(({ keys }) => keys));
  }

  get choices(): Record<string, unknown> {
    return Object.assign({}, ...this.findings.map(({ choices }) => choices));
  }
}

const STRENGTH: Record<FindingState, number> = { "not found": 0, skipped: 1, found: 2, "needs you": 3 };
