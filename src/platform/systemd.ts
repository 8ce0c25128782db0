import { execFile } from "node:child_process";

/**
 * Tells systemd how the service is doing, where it runs under systemd. Through the `systemd-notify` program, because
 * Node has no Unix datagram sockets; the unit allows it with `NotifyAccess=all`.
 */
export function createNotifier(env: NodeJS.ProcessEnv): (state: string) => void {
  if (env["NOTIFY_SOCKET"] === undefined) return () => {};
  return (state) => {
    execFile("systemd-notify", [state], { timeout: 5_000 }, () => {
      // Nothing to do about a failure: systemd notices a missing message by itself.
    });
  };
}
