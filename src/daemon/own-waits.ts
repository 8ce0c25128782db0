import { flowOf, type HoldKey, keyOf } from "./hold-key.ts";

/**
 * Until when a flow leaves all probes of an area's hold to others, because its own refusal asks for longer waits.
 * Times are monotonic.
 */
export class OwnWaits {
  /** By hold and flow. */
  readonly #untilMs = new Map<string, number>();

  set(hold: HoldKey, areas: readonly string[], untilMs: number): void {
    this.#untilMs.set(`${keyOf(hold)}\n${flowOf(areas)}`, untilMs);
  }

  untilMs(hold: HoldKey, areas: readonly string[]): number {
    return this.#untilMs.get(`${keyOf(hold)}\n${flowOf(areas)}`) ?? 0;
  }

  /** The flows that the hold is of, with their own waits. */
  of(hold: HoldKey): { flow: string; untilMs: number }[] {
    const prefix = `${keyOf(hold)}\n`;
    return [...this.#untilMs].flatMap(([key, untilMs]) =>
      key.startsWith(prefix) ? [{ flow: key.slice(prefix.length), untilMs }] : [],
    );
  }

  forget(hold: HoldKey): void {
    for (const { flow } of this.of(hold)) this.#untilMs.delete(`${keyOf(hold)}\n${flow}`);
  }
}
