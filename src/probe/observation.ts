import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

/** Something about the service that a person is shown once. Names and types only, never a value of an order. */
export interface Observation {
  kind:
    | "field"
    | "status"
    | "path"
    | "answer"
    | "return"
    | "zone"
    | "times"
    | "steps"
    | "ahead"
    | "cancelled"
    | "short";
  /**
   * Field or status as the service writes it; for a path the key of the configuration and the path itself; for an answer
   * where it came from, and its form; for a return of the service to an earlier state the time of that state; for times that name no zone any more since when; for times in two forms the second one;
   * for timestamps in long steps one of them; for a watermark ahead of this machine's clock that watermark; for
   * orders that only a change calls cancelled their own status, and one of them; for batches that were confirmed although they may have held
   * more the time of the last, its records and what says so.
   */
  name: string;
  sample: string;
}

const KIND_WORDS = {
  short: () => m.probe.shortBatches,
  cancelled: () => m.probe.calledCancelled,
  return: () => m.probe.returns,
  zone: () => m.probe.zoneLost,
  times: () => m.probe.twoForms,
  ahead: () => m.probe.aheads,
  steps: () => m.probe.longSteps,
  answer: () => m.probe.newAnswers,
  path: () => m.probe.stoppedPaths,
  status: () => m.probe.newStatuses,
  field: () => m.probe.newFields,
} satisfies Record<Observation["kind"], unknown>;
const NAMES_SHOWN = 6;

/** One line for a person; undefined where there is nothing new. */
export function describeObservations(observations: readonly Pick<Observation, "kind" | "name">[]): Message | undefined {
  const parts = Object.entries(KIND_WORDS).flatMap(([kind, words]) => {
    const names = observations.filter((one) => one.kind === kind).map(({ name }) => name);
    if (names.length === 0) return [];
    const shown = names.slice(0, NAMES_SHOWN).join(", ");
    return [words()({ count: names.length, names: names.length > NAMES_SHOWN ? `${shown}, …` : shown })];
  });
  return parts.length === 0 ? undefined : m.probe.noticed({ parts });
}
