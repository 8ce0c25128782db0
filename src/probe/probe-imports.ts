/*
 * The part of `probe` about imports. Any service refuses a body without its array after checking the credentials, so
 * that one is sent without asking. An empty array and a single record could have an effect: each is sent only after a
 * person's consent, and once. After a crash at most one consented request has been sent.
 */

import { FEED_NAMES, type FeedName } from "../config/feed-names.ts";
import { acquireInstanceLock, type InstanceLock } from "../database/file/instance-lock.ts";
import { shortWords } from "../messages/inert-text.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { type LockedAccount, lockAccount } from "../pass/lock-account.ts";
import { asError } from "../platform/errors.ts";
import { sendImport } from "../service/imports.ts";
import { type Acceptance, readAcceptance } from "../service/outcome/acceptance.ts";
import { describeShape, memberNames } from "./guess-fields.ts";
import { type Outcome, type Probe, parsed } from "./probe.ts";
import { loadAcknowledged } from "./probe-rows.ts";

export async function probeImports(probe: Probe): Promise<void> {
  const { config } = probe;
  probe.progress(m.probe.askingImports);
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
    report.needsYou(
      "errors",
      m.probe.nothingAccepted({ feed, status: outcome.status, shape: describeShape(parsed(outcome.answer)) }),
    );
    return;
  }
  const { status, words } = outcome;
  const isCredentials = status === 401 || status === 403 || status === 402;
  const answer = { feed, status, words };
  if (isCredentials) report.found("refusals", m.probe.credentialsAnswer(answer));
  else report.found("errors", m.probe.badBodyAnswer(answer));
}

async function probeEmpty(probe: Probe): Promise<void> {
  const { report, config } = probe;
  if (probe.asker.blocked.has("imports")) return;
  const { property, path } = config.imports.stocks;
  const body = JSON.stringify({ [property]: [] });
  const may = await probe.consent(m.probe.mayEmpty({ body, path: path ?? "" }));
  if (!may) {
    report.skipped("scope", m.probe.emptyNotSent);
    return;
  }
  reportAccepted(probe, m.probe.emptyArray({ body }), await send(probe, "stocks", body));
  report.needsYou("scope", m.probe.lookAtStock);
}

/** Holds the locks of a daemon: beside one the old value could arrive after a newer one. */
async function probeOne(probe: Probe): Promise<void> {
  const { report, store } = probe;
  if (probe.asker.blocked.has("imports")) return;
  if (store === undefined || loadAcknowledged(store, "stocks") === undefined) {
    report.notFound("stockRecord", m.probe.noStock);
    return;
  }
  let lock: InstanceLock | undefined;
  let account: LockedAccount | undefined;
  try {
    lock = acquireInstanceLock(store.path, { command: "probe" });
    account = await lockAccount(probe);
    await sendOne(probe, loadAcknowledged(store, "stocks"));
  } catch (error) {
    if (asError(error).code !== "instance_running") throw error;
    report.skipped("stockRecord", m.probe.bridgeIsRunning);
  } finally {
    account?.release();
    lock?.release();
  }
}

async function sendOne(probe: Probe, record: string | undefined): Promise<void> {
  const { report, config } = probe;
  if (record === undefined) return;
  const body = `{${JSON.stringify(config.imports.stocks.property)}:[${record}]}`;
  const may = await probe.consent(m.probe.maySendOne({ record: shortWords(record) }));
  if (!may) {
    report.skipped("stockRecord", m.probe.oneNotSent);
    return;
  }
  const outcome = await send(probe, "stocks", body);
  reportAccepted(probe, m.probe.oneRecord, outcome);
  if (outcome.state === "answered") report.found("stockRecord", m.probe.recordTaken);
  report.needsYou("scope", m.probe.lookAtArticle);
}

function reportAccepted({ report }: Probe, what: Message, outcome: Outcome): void {
  if (outcome.state === "silent") return;
  if (outcome.state === "refused") {
    report.found("importAnswer", m.probe.refusedWith({ what, status: outcome.status, words: outcome.words }));
    return;
  }
  const { answer, status } = outcome;
  const acceptance = readAcceptance(answer, "import");
  const shape = answer.body.length === 0 ? m.probe.emptyBody : describeShape(parsed(answer) ?? "text");
  const verdict = verdictOf(acceptance);
  report.found("importAnswer", m.probe.answeredWith({ what, verdict, status, shape }));
  if (memberNames(parsed(answer)).some((name) => /errors|rejected|failed/i.test(name))) {
    report.needsYou("importAnswer", m.probe.roomForResult);
  }
}

function verdictOf(acceptance: Acceptance): Message {
  switch (acceptance.kind) {
    case "accepted":
      return acceptance.unknown?.why === "words"
        ? m.probe.doubted({ words: acceptance.unknown.words })
        : m.probe.accepted;
    case "error":
      return m.probe.refusedInWords({ words: acceptance.words });
    case "html":
      return m.probe.webPage;
    case "cut":
      return m.probe.cutJson;
  }
}
