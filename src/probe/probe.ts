/*
 * What the parts of `probe` share: the report, and the way of sending requests. When requests for orders or for imports
 * are held, refused or not answered, no more of that kind are sent. Stores nothing, so a crash leaves nothing behind.
 */

import type { Config } from "../config/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { factsOf } from "../pass/hold-reasons.ts";
import { stopsPass } from "../pass/holds.ts";
import { asError } from "../platform/errors.ts";
import type { Clock } from "../platform/ports.ts";
import type { ServiceAnswer, ServiceClient } from "../service/client.ts";
import { type Area, ServiceError } from "../service/service-error.ts";
import type { ProbeReport } from "./probe-report.ts";
import type { ProbeKnowledge } from "./probe-rows.ts";

export interface ProbeOptions {
  client: ServiceClient;
  config: Config;
  clock: Clock;
  /** Undefined where there is no database yet. */
  store: Store | undefined;
  signal: AbortSignal;
  /** Asks a person before a request that could have an effect; `what` describes the request and the effect. */
  consent: (what: Message) => Promise<boolean>;
  progress: (text: Message) => void;
}

/** Context of every probe. */
export interface Probe extends ProbeOptions {
  report: ProbeReport;
  known: ProbeKnowledge | undefined;
  asker: Asker;
}

/** The result of a request: an answer, a refusal with the service's text, or nothing because the area is blocked. */
export type Outcome =
  | { state: "answered"; status: number; answer: ServiceAnswer }
  | { state: "refused"; status: number; words: string }
  | { state: "silent"; reason: Message };

/** Sends requests, and stops for an area that refused or did not answer. */
export class Asker {
  readonly #options: Pick<ProbeOptions, "client" | "signal">;
  readonly blocked = new Map<Area, Message>();
  requests = 0;

  constructor(options: Pick<ProbeOptions, "client" | "signal">, holds: readonly { area: string; reason: string }[]) {
    this.#options = options;
    for (const { area, reason } of holds) {
      // Set by an answer, which a request of the probe would get too.
      if ((area === "orders" || area === "imports") && factsOf(reason).blocks?.by !== undefined) {
        this.blocked.set(area, m.probe.areaHeld({ reason, area }));
      }
    }
  }

  async ask(
    area: Area,
    request: (client: ServiceClient, signal: AbortSignal) => Promise<ServiceAnswer>,
  ): Promise<Outcome> {
    const reason = this.blocked.get(area);
    if (reason !== undefined) return { state: "silent", reason };
    this.requests += 1;
    try {
      const answer = await request(this.#options.client, this.#options.signal);
      return { state: "answered", status: answer.status, answer };
    } catch (thrown) {
      const error = asError(thrown);
      if (error.code === "stopped") throw error;
      const status = error instanceof ServiceError ? error.status : undefined;
      if (stopsPass(error) || status === undefined) {
        this.blocked.set(area, error.text);
        // The text of a refusal is kept: its form is one of the open questions.
        if (status === undefined) return { state: "silent", reason: error.text };
      }
      return { state: "refused", status, words: error instanceof ServiceError ? (error.words ?? "") : "" };
    }
  }
}

/** An answer as plain values, for inspection only; undefined where it is not JSON. */
export function parsed(answer: ServiceAnswer): unknown {
  return parsedText(answer.body.toString("utf8"));
}

export function parsedText(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
}
