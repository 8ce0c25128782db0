import type { Message } from "../messages/message.ts";
import { BridgeError } from "../platform/errors.ts";
import type { HoldReason } from "./hold-reasons.ts";

/**
 * The list is where the configuration says, and something beside it or in it contradicts it. `resume AREA --hold answer`
 * says that this means nothing.
 */
export class ContradictedAnswer extends BridgeError {
  readonly hold: HoldReason = "answer";

  constructor(text: Message, options: { hint: Message; cause?: unknown }) {
    super("answer_shape", text, options);
  }
}
