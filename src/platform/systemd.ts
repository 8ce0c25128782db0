import { execFile } from "node:child_process";
import { writeSync } from "node:fs";

/** How often, and after how long, a message is sent again that a busy manager had no room for. */
const TRIES_MAX = 5;
const AGAIN_MS = 1_000;

/**
 * Notifies systemd of how the service is doing, where it runs under systemd: variables such as `READY=1`. Node has no Unix
 * datagram sockets, but it can write to one that it was started with (`packaging/with-notify-socket`); without one the
 * program `systemd-notify` sends for it, which the unit must allow with `NotifyAccess=all`. One message after the
 * other, so that `READY=1` never overtakes `RELOADING=1`.
 */
export function createNotifier(env: NodeJS.ProcessEnv): (...variables: string[]) => void {
  if (env["NOTIFY_SOCKET"] === undefined) return () => {};
  const descriptor = Number(env["ERP_BRIDGE_NOTIFY_FD"]);
  const send = Number.isInteger(descriptor) && descriptor > 2 ? sendThrough(descriptor) : sendByProgram;
  let last = Promise.resolve();
  return (...variables) => {
    // A line break would begin another variable, and what stands here may be a service's own words.
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
        // Nothing to do about any other failure: systemd notices a missing message by itself.
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS).unref());
      }
    }
  };
}

function sendByProgram(variables: string[]): Promise<void> {
  return new Promise((resolve) => {
    // As above: a failure is noticed by systemd itself.
    execFile("systemd-notify", ["--", ...variables], { timeout: 5_000 }, () => resolve());
  });
}
