import { openSync } from "node:fs";
import { m } from "../../src/messages/messages.ts";
import { BridgeError } from "../../src/platform/errors.ts";
import { type HelperCall, serveCalls } from "../../src/platform/helper-process.ts";

const functions = {
  pid: (): number => process.pid,
  echo: (_call: HelperCall, value: unknown): unknown => value,
  /** Like a call on a disk that does not answer: it returns only when the other end of the pipe is opened. */
  open: (_call: HelperCall, pipe: string): number => openSync(pipe, "r"),
  /** Open as long as this process runs. */
  hold: (_call: HelperCall, pipe: string): number => openSync(pipe, "w"),
  throwOurs: (): void => {
    throw new BridgeError("table_missing", m.common.foreign({ text: "no table." }), {
      hint: m.common.foreign({ text: "Make it." }),
    });
  },
  throwSystems: (): number => openSync("/nowhere/at/all", "r"),
  end: (): void => process.exit(3),
  steps: ({ progress }: HelperCall, count: number): void => {
    for (let step = 0; step < count; step++) progress(step);
  },
  untilAborted: ({ signal }: HelperCall): Promise<string> =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve("tidied up"))),
};

export type WaitingFunctions = typeof functions;

serveCalls(functions);
