/* One failure, one sentence: the same words in the log, in `runs`, in `status` and on the terminal. */
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { BridgeError } from "../platform/errors.ts";
import { ContradictedAnswer } from "./contradicted-answer.ts";

/** What went wrong, in words for a shop owner, with the original error in brackets. */
export function describeFailure(error: Pick<BridgeError, "code" | "text" | "hint">): Message {
  const { code, text, hint } = error;
  // No text shows the hold: `status` names it in the next command.
  const what = m.common.bare({ text, ...(error instanceof ContradictedAnswer && { hold: error.hold }) });
  switch (code) {
    case "credentials_refused":
      return m.pass.refusesCredentials({ what });
    case "payment_required":
      return m.pass.notPaid({ what });
    case "rate_limited":
      return m.pass.asksToWait({ what });
    case "unreachable":
    case "timed_out":
      return m.pass.notReached({ what });
    case "unavailable":
      return m.pass.outOfOrder({ what });
    default:
      // Only this text names the next step.
      if (!code.startsWith("mirror_") || hint === undefined) return what;
      return m.common.bare({ text: m.common.sentences({ parts: [text, hint] }) });
  }
}
