/*
 * Reads a large answer without blocking the event loop, which gets its turn after each slice. Reading has the time limit of
 * the request, as receiving has.
 */

import { inTurns, type Slices } from "../answers/slices.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import type { Clock } from "../platform/ports.ts";
import type { ServiceAnswer } from "../service/client.ts";

/** @throws BridgeError `timed_out` if reading takes longer than the time limit of the request. */
export async function readInTurns<T>(
  clock: Clock,
  { readWithinMs = Number.POSITIVE_INFINITY }: Pick<ServiceAnswer, "readWithinMs">,
  work: Slices<T>,
  signal: AbortSignal,
): Promise<T> {
  const startedMs = clock.monotonicMs();
  return await inTurns(work, async () => {
    await clock.sleep(0, signal);
    if (clock.monotonicMs() - startedMs <= readWithinMs) return;
    throw new BridgeError("timed_out", m.pass.notReadInTime({ seconds: readWithinMs / 1000 }), {
      hint: m.pass.lowerAnswerBytes,
    });
  });
}
