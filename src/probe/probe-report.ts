/** The open questions, by a short name; a test holds them against those of the configuration. */
export const PROBE_QUESTIONS = {
  stockRecord: "Fields of a stock record",
  otherRecords: "Fields of catalog, price and image records; exact paths and payloads of their imports",
  scope: "Whether a request replaces the whole table or only the records it names",
  importAnswer: "Body of the answer to an import",
  orderFields: "Fields of an order beyond order_id, the status and the composition, and their names",
  bodies: "Response bodies of the 1C endpoints",
  confirm: "Payload of the confirm request, and what a confirm without names covers",
  query: "Query parameters of GET /orders",
  since: "Format of since, and the time zone and order of the service's stamps",
  statusChange: "Method, suffix and payload of the status change",
  statusNames: "Status names and transitions",
  limits: "Rate limits, size limits, batch size",
  refusals: "Shape of the error body of 401 on an import, and the body of 402",
  errors: "Complete list of error codes and conditions",
  version: "Version policy (compatibility, deprecation)",
} as const;

export type ProbeQuestion = keyof typeof PROBE_QUESTIONS;

/** What became of one question that the interface document leaves open. */
export type FindingState = "found" | "not found" | "needs you" | "skipped";

export interface Finding {
  /** As it stands among the open questions. */
  question: string;
  state: FindingState;
  /** Sentences with names, types, counts and the service's own error words; no value of an order. */
  facts: string[];
  /** Keys of the configuration, dotted, with the values that are proposed. */
  keys: Record<string, unknown>;
}

/** Gathers what the probes find, question by question. */
export class ProbeReport {
  readonly #findings = new Map<ProbeQuestion, Finding>();

  constructor() {
    for (const [name, question] of Object.entries(PROBE_QUESTIONS)) {
      this.#findings.set(name as ProbeQuestion, { question, state: "not found", facts: [], keys: {} });
    }
  }

  /** Adds a fact. Of several states the one that asks most of a person stays, and `found` beats `not found`. */
  add(question: ProbeQuestion, state: FindingState, fact: string, keys: Readonly<Record<string, unknown>> = {}): void {
    const finding = this.#findings.get(question);
    if (finding === undefined) return;
    if (STRENGTH[state] > STRENGTH[finding.state]) finding.state = state;
    if (!finding.facts.includes(fact)) finding.facts.push(fact);
    Object.assign(finding.keys, keys);
  }

  get findings(): Finding[] {
    return [...this.#findings.values()];
  }

  /** Every key that is proposed. */
  get keys(): Record<string, unknown> {
    return Object.assign({}, ...this.findings.map(({ keys }) => keys));
  }
}

const STRENGTH: Record<FindingState, number> = { "not found": 0, skipped: 1, found: 2, "needs you": 3 };
