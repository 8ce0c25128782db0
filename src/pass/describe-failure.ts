/* One failure, one sentence: the same words in the log, in `runs`, in `status` and on the terminal. */
import type { BridgeError } from "../platform/errors.ts";

/** What went wrong, in words that a shop owner understands, with the program's own in brackets. */
export function describeFailure({ code, message }: Pick<BridgeError, "code" | "message">): string {
  const plain = message.replace(/\.$/, "");
  switch (code) {
    case "credentials_refused":
      return `the service refuses the credentials (${plain})`;
    case "payment_required":
      return `the import subscription is not paid (${plain})`;
    case "rate_limited":
      return `the service asks to wait (${plain})`;
    case "unreachable":
    case "timed_out":
      return `the service cannot be reached (${plain})`;
    case "unavailable":
      return `the service is out of order (${plain})`;
    default:
      return plain;
  }
}
