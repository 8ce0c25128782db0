import { execFile } from "node:child_process";

/**
 * Tells systemd how the service is doing, where it runs under systemd: variables such as `READY=1`. Through the
 * `systemd-notify` program, because Node has no Unix datagram sockets; the unit allows it with `NotifyAccess=all`. One
 * message after the other, so that `READY=1` never overtakes `RELOADING=1`.
 */
export function createNotifier(env: NodeJS.ProcessEnv): (...variables: string[]) => void {
  if (env["NOTIFY_SOCKET"] === undefined) return () => {};
  let last = Promise.resolve();
  return (...variables) => {
    last = last.then(() => notify(variables));
  };
}

function notify(variables: string[]): Promise<void> {
  return new Promise((resolve) => {
    // Nothing to do about a failure: systemd notices a missing message by itself.
    execFile("systemd-notify", ["--", ...variables], { timeout: 5_000 }, () => resolve());
  });
}
