/*
 * The last answer to each flow. It is kept in memory only: after a restart a hold keeps its scope until two flows have been
 * answered again.
 */

import type { Verdict } from "../pass/holds.ts";
import { flowOf } from "./hold-key.ts";

export class Verdicts {
  /** By area and flow. */
  readonly #verdicts = new Map<string, Verdict>();

  note(areas: readonly string[], verdict: Omit<Verdict, "flow">): void {
    const flow = flowOf(areas);
    this.#verdicts.set(`${areas[0] ?? flow}\n${flow}`, { flow, ...verdict });
  }

  of(area: string): Verdict[] {
    return [...this.#verdicts].flatMap(([key, verdict]) => (key.startsWith(`${area}\n`) ? [verdict] : []));
  }
}
