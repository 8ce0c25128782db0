/*
 * The part of `probe` without requests: what stored batches, requests, feeds and runs show about the service.
 * Read-only, so a crash leaves nothing.
 */

import { m } from "../messages/messages.ts";
import { guessConfirmBody } from "./guess-confirm.ts";
import type { Probe } from "./probe.ts";

const CANCELLED = /cancel|annul|reject|отмен|аннулир/i;
const CLOSED = /deliver|complet|done|closed|finish|доставл|выполнен|заверш|выдан/i;

export function reportKnown(probe: Probe): void {
  reportNeverKnown(probe);
  if (probe.known === undefined) {
    probe.report.notFound("confirm", m.probe.noDatabase);
    return;
  }
  reportConfirms(probe);
  reportStatuses(probe);
  reportRequests(probe);
  reportLimits(probe);
}

/** Questions that no request without an effect can answer. */
function reportNeverKnown({ report, config }: Probe): void {
  const off = (["prices", "catalog", "images"] as const).filter((feed) => config.imports[feed].path === null);
  if (off.length > 0) report.needsYou("otherRecords", m.probe.askForPaths({ feeds: off }));
  report.needsYou("query", m.probe.askForParameters);
  report.needsYou("version", m.probe.askForVersion);
  if (config.statuses.path === null) {
    report.needsYou("statusChange", m.probe.askForStatusChange);
  }
}

function reportConfirms({ report, known, config }: Probe): void {
  const batches = known?.batches ?? [];
  const count = (state: string, hasId: number) =>
    batches.find((row) => row.state === state && row.hasId === hasId)?.count ?? 0;
  const form = config.orders.confirm.body === "auto" ? "auto" : "configured";
  for (const [hasId, confirmed, refused] of [
    [1, m.probe.confirmedWithId, m.probe.refusedWithId],
    [0, m.probe.confirmedWithoutId, m.probe.refusedWithoutId],
  ] as const) {
    const confirms = count("confirmed", hasId);
    const refusals = count("refused", hasId);
    if (confirms > 0) report.found("confirm", confirmed({ count: confirms, form }));
    if (refusals > 0) {
      const words = known?.confirmError ?? null;
      report.needsYou("confirm", refused({ count: refusals, words }));
      const given = { words, hasId: hasId === 1, idPath: config.orders.batch.id, isAuto: form === "auto" };
      // What the service has accepted of these batches is its form: the refusal had another reason.
      const body = confirms > 0 ? undefined : guessConfirmBody(given);
      if (body !== undefined)
        report.needsYou("confirm", m.probe.confirmLike({ body: JSON.stringify(body) }), {
          "orders.confirm.body": body,
        });
    }
  }
  if (batches.every(({ state }) => state !== "confirmed" && state !== "refused")) {
    report.notFound("confirm", m.probe.noConfirm);
  }
}

function reportStatuses({ report, known, config }: Probe): void {
  const names = (known?.statuses ?? []).flatMap(({ status }) => (status === null ? [] : [status]));
  if (names.length === 0) {
    report.notFound("statusNames", m.probe.noOrder);
    return;
  }
  const { cancelled, closed } = config.orders.statuses;
  report.found(
    "statusNames",
    m.probe.statusesSeen({
      statuses: (known?.statuses ?? []).map(({ status, count }) =>
        status === null ? m.probe.noStatus({ count }) : `${status} (${count})`,
      ),
    }),
  );
  const unnamed = names.filter((name) => !cancelled.includes(name) && !closed.includes(name));
  const likeCancelled = unnamed.filter((name) => CANCELLED.test(name));
  const likeClosed = unnamed.filter((name) => CLOSED.test(name));
  const keys: Record<string, unknown> = {};
  if (likeCancelled.length > 0) keys["orders.statuses.cancelled"] = [...cancelled, ...likeCancelled];
  if (likeCancelled.length + likeClosed.length > 0)
    keys["orders.statuses.closed"] = [...new Set([...closed, ...likeClosed, ...likeCancelled])];
  if (Object.keys(keys).length > 0) report.offer("statusNames", m.probe.likeEnds, keys);
}

function reportRequests({ report, known, config }: Probe): void {
  const sent = known?.requests.find(({ state }) => state === "sent")?.count ?? 0;
  if (sent > 0)
    report.found(
      "statusChange",
      m.probe.requestsAccepted({ count: sent, request: `${config.statuses.method} ${config.statuses.path}` }),
    );
  if (known?.requestError != null) report.needsYou("statusChange", m.probe.lastRefusal({ words: known.requestError }));
}

function reportLimits({ report, known }: Probe): void {
  const largest = Math.max(0, ...(known?.batches ?? []).map((row) => row.largest));
  if (largest > 0) report.found("limits", m.probe.largestBatch({ orders: largest }));
  const { pageMax = 0 } = known?.learned ?? {};
  if (pageMax > 0) report.found("limits", m.probe.longestPage({ changes: pageMax }));
  for (const { name, chunk } of known?.feeds ?? []) {
    if (chunk !== null)
      report.found("limits", m.probe.tooManyRecords({ feed: name, records: chunk }), {
        [`imports.${name}.chunk`]: chunk,
      });
  }
  const limited = (known?.errors ?? []).filter(({ code }) => code === "rate_limited");
  if (limited.length > 0)
    report.needsYou("limits", m.probe.tooManyRequests({ jobs: limited.map(({ job, count }) => `${job} ${count}×`) }));
  const codes = (known?.errors ?? []).map(({ job, code, count }) => `${job}: ${code} ${count}×`);
  if (codes.length > 0) report.found("errors", m.probe.errorsMet({ errors: codes }));
}
