import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
/** The open questions by short names. */
export type ProbeQuestion = keyof typeof m.questions;

/** The outcome of one question that the interface document leaves open. */
export type FindingState = "found" | "not found" | "needs you" | "skipped";

export interface Finding {
  /** As in the list of open questions. */
  question: Message;
  state: FindingState;
  /** Sentences with names, types, counts and the service's error texts; no value of an order. */
  facts: Message[];
  /** Values for the configuration by dotted path, as the service's answers show them. */
  keys: Record<string, unknown>;
  /** The same for values that only a person can confirm. */
  choices: Record<string, unknown>;
}

type Proposed = Readonly<Record<string, unknown>>;

/** Collects what the probes find, by question. */
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

  /** Adds a fact. The state that requires most of a person wins, and `found` replaces `not found`. */
  #add(question: ProbeQuestion, state: FindingState, fact: Message, keys: Proposed): void {
    const finding = this.#findings.get(question);
    if (finding === undefined) return;
    if (STRENGTH[state] > STRENGTH[finding.state]) finding.state = state;
    if (!finding.facts.some((one) => String(one) === String(fact))) finding.facts.push(fact);
    Object.assign(finding.keys, keys);
  }

  /** Adds values that only a person can confirm. */
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
