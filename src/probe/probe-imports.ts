/*
 * The part of `probe` about imports. A body without its array is refused by any service after it has looked at the
 * credentials, so that one is sent unasked. An empty array and a single record could have an effect: each is sent only
 * after a person said yes, and never again by itself. A crash in between leaves at most what was said yes to.
 */

import { FEED_NAMES, type FeedName } from "../config/feed-names.ts";
import { acquireInstanceLock, type InstanceLock } from "../database/instance-lock.ts";
import { asError } from "../platform/errors.ts";
import { readAcceptance } from "../service/acceptance.ts";
import { sendImport } from "../service/imports.ts";
import { shortWords } from "../service/service-error.ts";
import { describeShape } from "./guess-fields.ts";
import { type Outcome, type Probe, parsed } from "./probe.ts";
import { loadAcknowledged } from "./probe-rows.ts";

export async function probeImports(probe: Probe): Promise<void> {
  const { config } = probe;
  probe.progress("imports: a body without its array");
  for (const feed of FEED_NAMES) {
    if (config.imports[feed].path === null) continue;
    await probeRefusal(probe, feed);
  }
  if (config.imports.stocks.path === null) return;
  await probeEmpty(probe);
  await probeOne(probe);
}

function send({ asker, config }: Probe, feed: FeedName, body: string): Promise<Outcome> {
  const path = config.imports[feed].path ?? "";
  const totalTimeoutMs = config.service.timeouts.import;
  return asker.ask("imports", (client, signal) => sendImport(client, { path, body, totalTimeoutMs, signal }));
}

async function probeRefusal(probe: Probe, feed: FeedName): Promise<void> {
  const { report } = probe;
  const outcome = await send(probe, feed, "{}");
  if (outcome.state === "silent") return;
  if (outcome.state === "answered") {
    report.add(
      "errors",
      "needs you",
      `${feed}: a body without its array is accepted with ${outcome.status} and ${describeShape(parsed(outcome.answer))}: a refusal cannot be told by its status`,
    );
    return;
  }
  const { status, words } = outcome;
  const isCredentials = status === 401 || status === 403 || status === 402;
  report.add(
    isCredentials ? "refusals" : "errors",
    "found",
    `${feed}: ${isCredentials ? "the answer" : "a body without its array"} is ${status}: ${words}`,
  );
}

async function probeEmpty(probe: Probe): Promise<void> {
  const { report, config } = probe;
  if (probe.asker.blocked.has("imports")) return;
  const { property, path } = config.imports.stocks;
  const body = JSON.stringify({ [property]: [] });
  const may = await probe.consent(
    `Send ${body} to ${path}? A service that takes each request for the whole table would empty the stock on the site.`,
  );
  if (!may) {
    report.add("scope", "skipped", "the empty array was not sent: nobody said yes to it");
    return;
  }
  tellAccepted(probe, `the empty array ${body}`, await send(probe, "stocks", body));
  report.add("scope", "needs you", "look at the site: if its stock is gone now, write imports.stocks.scope: whole");
}

/** Under the instance lock: beside a daemon the old value could arrive after a newer one. */
async function probeOne(probe: Probe): Promise<void> {
  const { report, store } = probe;
  if (probe.asker.blocked.has("imports")) return;
  if (store === undefined || loadAcknowledged(store, "stocks") === undefined) {
    report.add(
      "stockRecord",
      "not found",
      "no stock was sent yet: put one article into the table stock, then erp-bridge sync stocks",
    );
    return;
  }
  let lock: InstanceLock | undefined;
  try {
    lock = acquireInstanceLock(store.path, { command: "probe" });
    await sendOne(probe, loadAcknowledged(store, "stocks"));
  } catch (error) {
    if (asError(error).code !== "instance_running") throw error;
    report.add(
      "stockRecord",
      "skipped",
      "one record was not sent: a bridge is running, and the record could arrive after a newer one; stop it first",
    );
  } finally {
    lock?.release();
  }
}

async function sendOne(probe: Probe, record: string | undefined): Promise<void> {
  const { report, config } = probe;
  if (record === undefined) return;
  const body = `{${JSON.stringify(config.imports.stocks.property)}:[${record}]}`;
  const may = await probe.consent(
    `Send one record that the service has taken before (${shortWords(record)}) again? A service that takes each request for the whole table would drop all others.`,
  );
  if (!may) {
    report.add("stockRecord", "skipped", "one record was not sent: nobody said yes to it");
    return;
  }
  const outcome = await send(probe, "stocks", body);
  tellAccepted(probe, "one record", outcome);
  if (outcome.state === "answered")
    report.add("stockRecord", "found", "a record made by imports.stocks.record is taken");
  report.add(
    "scope",
    "needs you",
    "look at the site: if only this one article is left there, write imports.stocks.scope: whole",
  );
}

function tellAccepted({ report }: Probe, what: string, outcome: Outcome): void {
  if (outcome.state === "silent") return;
  if (outcome.state === "refused") {
    report.add("importAnswer", "found", `${what} is refused with ${outcome.status}: ${outcome.words}`);
    return;
  }
  const { answer, status } = outcome;
  const acceptance = readAcceptance(answer);
  const shape = answer.body.length === 0 ? "an empty body" : describeShape(parsed(answer) ?? "text");
  const verdict =
    acceptance.kind === "accepted" && acceptance.doubt?.why !== "words"
      ? "accepted"
      : acceptance.kind === "accepted"
        ? `answered with words that speak against it (${acceptance.doubt?.words})`
        : acceptance.kind === "error"
          ? `refused in words (${acceptance.words})`
          : acceptance.kind === "html"
            ? "answered by a web page"
            : "answered by JSON that breaks off";
  report.add("importAnswer", "found", `${what} is ${verdict} with ${status} and ${shape}`);
  if (/errors|rejected|failed/i.test(shape)) {
    report.add(
      "importAnswer",
      "needs you",
      "the answer has room for single records: write imports.stocks.result once you know how it names them",
    );
  }
}
