/*
 * Looks for what a simulation of one process cannot see. Run from a copy of the source with the name of a check;
 * tells what it found, or nothing where all is well.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Dispatcher } from "undici";
import { parsePath } from "../../src/answers/json-path.ts";
import { inTurns } from "../../src/answers/slices.ts";
import { acquireInstanceLock } from "../../src/database/file/instance-lock.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { readListInSlices } from "../../src/records/read-list.ts";
import { ServiceClient } from "../../src/service/client.ts";
import { fetchSnapshot } from "../../src/service/orders.ts";
import { type Check, FILE_CHECKS } from "./direct-files.ts";
import { GUARD_CHECKS } from "./direct-guards.ts";

const SECRET = "s3cret-of-shop-1";

/** A service that refuses every request and repeats in its words what it was told. */
class Echo extends Dispatcher {
  readonly paths: string[] = [];

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const controller = { aborted: false, paused: false, reason: null, abort() {}, pause() {}, resume() {} };
    const headers = options.headers as Record<string, string>;
    this.paths.push(options.path);
    handler.onRequestStart?.(controller, {});
    handler.onResponseStart?.(controller, 400, {}, "");
    const [, encoded = ""] = (headers["authorization"] ?? "").split(" ");
    handler.onResponseData?.(controller, Buffer.from(Buffer.from(encoded, "base64").toString("utf8")));
    handler.onResponseEnd?.(controller, {});
    return true;
  }

  override destroy(): Promise<void> {
    return Promise.resolve();
  }
}

async function ask(id: string): Promise<{ paths: string[]; words: string }> {
  const dispatcher = new Echo();
  const client = new ServiceClient({
    baseUrl: "http://127.0.0.1:8080",
    clientId: "shop-1",
    clientSecret: SECRET,
    requestsPerSecond: 1_000,
    connectTimeoutMs: 1_000,
    headersTimeoutMs: 1_000,
    totalTimeoutMs: 1_000,
    answerBytesMax: 1_000,
    userAgent: "erp-bridge",
    clock: systemClock,
    dispatcher,
  });
  const words = await fetchSnapshot(client, id, new AbortController().signal).then(
    () => "",
    (error: Error) => error.message,
  );
  return { paths: dispatcher.paths, words };
}

const CHECKS: Readonly<Record<string, Check>> = {
  ...FILE_CHECKS,
  ...GUARD_CHECKS,
  "encoded id": async () => {
    const { paths } = await ask("../confirm?x=/");
    return paths.every((each) => /^\/api\/v1\/1c\/orders\/[^/?]+$/.test(each)) ? undefined : `asked ${paths.join()}`;
  },
  secret: async () => {
    const { words } = await ask("an-order");
    return words.includes(SECRET) ? "the secret stands in an error's words" : undefined;
  },
  "second instance": () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-lock-"));
    const database = path.join(folder, "bridge.db");
    const first = acquireInstanceLock(database, { command: "first" });
    try {
      acquireInstanceLock(database, { command: "second" }).release();
      return "two instances have one database";
    } catch {
      return undefined;
    } finally {
      first.release();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  turns: async () => {
    let turns = 0;
    const body = Buffer.from(
      `{"orders":[${Array.from({ length: 100_000 }, (_, n) => `{"n":${n},"words":"${"w".repeat(40)}"}`).join()}]}`,
    );
    await inTurns(
      readListInSlices({ status: 200, contentType: "application/json", body }, parsePath("$.orders")),
      () => {
        turns += 1;
        return Promise.resolve();
      },
    );
    return turns > 1 ? undefined : `an answer of ${body.length} bytes is read in ${turns} turns`;
  },
};

const found = await CHECKS[process.argv[2] ?? ""]?.();
if (found !== undefined) console.log(found);
