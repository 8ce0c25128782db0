import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { systemClock } from "../platform/clock.ts";
import type { Clock } from "../platform/ports.ts";
import type { Call, Command } from "./command.ts";
import type { Terminal } from "./terminal.ts";

/** Shorter work shows no progress. */
const QUIET_MS = 2_000;
const DRAW_EVERY_MS = 250;
/** Looking takes at most a twentieth of the time, however long one look takes. */
const LOOK_SHARE = 20;

/** Names of what is counted. */
const UNITS = {
  orders: () => m.progress.orders,
  ordersToRead: () => m.progress.ordersToRead,
  ordersCompared: () => m.progress.ordersCompared,
  payloadsSeen: () => m.progress.payloadsSeen,
  records: () => m.progress.records,
  requests: () => m.progress.requests,
  rows: () => m.progress.rows,
  rowsCompared: () => m.progress.rowsCompared,
  MB: () => m.progress.megabytes,
} as const;

/** State of a piece of work. Unknown counts are left out. */
export interface Step {
  what: Message | string;
  unit?: keyof typeof UNITS;
  done?: number;
  total?: number;
}

/**
 * Shows the progress of a long command in one line on standard error. The line is redrawn in place, a few times a
 * second at most, only after two seconds, and removed before anything else is written. Does nothing without a terminal
 * or where results are for machines.
 */
export class Progress {
  /** Removes the line before it writes. */
  readonly terminal: Terminal;
  readonly #clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly #draw: ((line: Message | string) => void) | undefined;
  #isDrawn = false;
  #drawnMs = 0;
  #begunMs: number | undefined;
  #first: { what: string; done: number; atMs: number } | undefined;

  constructor(options: { terminal: Terminal; clock: Pick<Clock, "monotonicMs" | "sleep">; isOn: boolean }) {
    const { terminal, clock, isOn } = options;
    this.#clock = clock;
    this.#draw = isOn ? terminal.draw : undefined;
    this.terminal = {
      ...terminal,
      out: (text, kind) => {
        this.#clear();
        terminal.out(text, kind);
      },
      err: (text, kind) => {
        this.#clear();
        terminal.err(text, kind);
      },
    };
  }

  /** Shows the progress. May be called at any rate. */
  show(step: Step): void {
    if (this.#draw === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    this.#begunMs ??= nowMs;
    const what = String(step.what);
    if (this.#first?.what !== what) this.#first = { what, done: step.done ?? 0, atMs: nowMs };
    if (nowMs - this.#begunMs < QUIET_MS || (this.#isDrawn && nowMs - this.#drawnMs < DRAW_EVERY_MS)) return;
    this.#drawnMs = nowMs;
    this.#isDrawn = true;
    this.#draw(describeStep(step, { from: this.#first.done, elapsedMs: nowMs - this.#first.atMs }));
  }

  /**
   * Shows at once what comes next, where that blocks the process and nothing could be drawn meanwhile. Returns whether
   * it is shown.
   */
  announce(what: Message): boolean {
    if (this.#draw === undefined) return false;
    this.#isDrawn = true;
    this.#draw(m.progress.next({ what }));
    return true;
  }

  /** Polls the state while `work` runs. A failing poll shows nothing and is ignored. */
  async during<T>(look: () => Step | undefined, work: () => Promise<T>): Promise<T> {
    if (this.#draw === undefined) return await work();
    const over = new AbortController();
    const looking = this.#keepLooking(look, over.signal);
    try {
      return await work();
    } finally {
      over.abort();
      await looking;
      this.end();
    }
  }

  /** Removes the line; the next work has its own two quiet seconds. */
  end(): void {
    this.#clear();
    this.#begunMs = undefined;
    this.#first = undefined;
  }

  async #keepLooking(look: () => Step | undefined, signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const beforeMs = this.#clock.monotonicMs();
        const step = quietly(look);
        const tookMs = this.#clock.monotonicMs() - beforeMs;
        if (step !== undefined) this.show(step);
        await this.#clock.sleep(Math.max(DRAW_EVERY_MS, LOOK_SHARE * tookMs), signal);
      }
    } catch {
      // The work has ended.
    }
  }

  #clear(): void {
    if (this.#isDrawn) this.#draw?.("");
    this.#isDrawn = false;
  }
}

/** The call of a command that may take longer than two seconds. */
export type LongCall = Call & { progress: Progress };

/** Adds progress to a command; the line is removed when the command ends. */
export function withProgress<Options>(
  command: (call: LongCall, options: Options) => ReturnType<Command<Options>>,
): Command<Options> {
  return async (call, options) => {
    const progress = new Progress({ terminal: call.terminal, clock: systemClock, isOn: !call.json });
    try {
      return await command({ ...call, terminal: progress.terminal, progress }, options);
    } finally {
      progress.end();
    }
  };
}

function quietly(look: () => Step | undefined): Step | undefined {
  try {
    return look();
  } catch {
    return undefined; // the database is closing, or locked
  }
}

/** `stocks: 1200 of 60000 rows, 300/s, 196 s left` */
export function describeStep(step: Step, { from, elapsedMs }: { from: number; elapsedMs: number }): Message {
  const { what, unit, total } = step;
  const elapsedS = elapsedMs / 1000;
  if (step.done === undefined || unit === undefined)
    return m.progress.working({ what, time: m.common.span({ seconds: Math.floor(elapsedS) }) });
  const done = Math.floor(step.done);
  const unitText = UNITS[unit]();
  const parts = [
    total === undefined
      ? m.progress.done({ done, unit: unitText })
      : m.progress.doneOf({ done, total: Math.floor(Math.max(step.done, total)), unit: unitText }),
  ];
  const rate = elapsedS > 0 ? (step.done - from) / elapsedS : 0;
  if (rate > 0) parts.push(m.progress.rate({ rate: String(rate >= 10 ? Math.round(rate) : rate.toFixed(1)) }));
  if (rate > 0 && total !== undefined && total > step.done) {
    parts.push(m.progress.left({ time: m.common.span({ seconds: Math.ceil((total - step.done) / rate) }) }));
  }
  return m.progress.far({ what, parts });
}
