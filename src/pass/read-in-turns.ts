/*
 * Reads a large answer without keeping the event loop: after each slice others have their turn. What is slow to read is
 * bounded like what is slow to arrive.
 */

import { inTurns, type Slices } from "../answers/slices.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import type { Clock } from "../platform/ports.ts";
import type { ServiceAnswer } from "../service/client.ts";

/** @throws BridgeError `timed_out` where reading takes longer than the whole request was allowed to. */
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
