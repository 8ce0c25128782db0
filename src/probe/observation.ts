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
   * By kind. `field`, `status`: the name as the service writes it. `path`: the key of the configuration and the path.
   * `answer`: its endpoint and form. `return`: the time of the earlier state that the service went back to. `zone`:
   * since when times have no zone. `times`: the second of two forms. `steps`: one of the coarse timestamps. `ahead`:
   * the watermark that is ahead of this machine's clock. `cancelled`: an order that only a change calls cancelled, and
   * its own status. `short`: time, number of records and cause of the last batch that was confirmed although it may
   * have held more.
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
