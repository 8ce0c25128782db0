import { execFile } from "node:child_process";
import { writeSync } from "node:fs";

/** How often a message is sent again when systemd's queue is full, and the delay. */
const TRIES_MAX = 5;
const AGAIN_MS = 1_000;

/**
 * Sends state variables such as `READY=1` to systemd; does nothing outside of systemd. Node has no Unix datagram
 * sockets, but it can write to one that it inherits (`packaging/with-notify-socket`); without one the program
 * `systemd-notify` sends, which the unit must allow with `NotifyAccess=all`. Messages are sent one after another, so
 * that `READY=1` never overtakes `RELOADING=1`.
 */
export function createNotifier(env: NodeJS.ProcessEnv): (...variables: string[]) => void {
  if (env["NOTIFY_SOCKET"] === undefined) return () => {};
  const descriptor = Number(env["ERP_BRIDGE_NOTIFY_FD"]);
  const send = Number.isInteger(descriptor) && descriptor > 2 ? sendThrough(descriptor) : sendByProgram;
  let last = Promise.resolve();
  return (...variables) => {
    // A line break would start another variable, and the text may come from the service.
    const lines = variables.map((variable) => variable.replace(/[\r\n]+/g, " "));
    last = last.then(() => send(lines));
  };
}

/** One `write` is one datagram. */
function sendThrough(descriptor: number): (variables: string[]) => Promise<void> {
  return async (variables) => {
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      try {
        writeSync(descriptor, variables.join("\n"));
        return;
      } catch (error) {
        // Other failures are ignored: systemd notices a missing message by itself.
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS).unref());
      }
    }
  };
}

function sendByProgram(variables: string[]): Promise<void> {
  return new Promise((resolve) => {
    // Failures are ignored, as above.
    execFile("systemd-notify", ["--", ...variables], { timeout: 5_000 }, () => resolve());
  });
}
