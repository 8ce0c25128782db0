/*
 * The part of `probe` that asks nobody: what stored batches, requests, feeds and runs tell about the service. Reads
 * only; nothing to recover after a crash.
 */
import { counted } from "../messages/counted.ts";
import type { Probe } from "./probe.ts";

const CANCELLED = /cancel|annul|reject|отмен|аннулир/i;
const CLOSED = /deliver|complet|done|closed|finish|доставл|выполнен|заверш|выдан/i;

export function tellKnown(probe: Probe): void {
  tellNeverKnown(probe);
  if (probe.known === undefined) {
    probe.report.add("confirm", "not found", "there is no database yet: pull first, with erp-bridge sync orders");
    return;
  }
  tellConfirms(probe);
  tellStatuses(probe);
  tellRequests(probe);
  tellLimits(probe);
}

/** What no request without an effect can tell. */
function tellNeverKnown({ report, config }: Probe): void {
  const off = (["prices", "catalog", "images"] as const).filter((feed) => config.imports[feed].path === null);
  if (off.length > 0)
    report.add(
      "otherRecords",
      "needs you",
      `ask the service for the paths of ${off.join(", ")}; none is tried that was not named`,
    );
  report.add(
    "query",
    "needs you",
    "ask the service whether GET /orders takes parameters; probe never calls it, because a call may hand out a batch",
  );
  report.add("version", "needs you", "ask the service; a change of shape shows as an error, not as silence");
  if (config.statuses.path === null) {
    report.add(
      "statusChange",
      "needs you",
      "ask the service for the method, the path and the body; any try would change an order",
    );
  }
}

function tellConfirms({ report, known, config }: Probe): void {
  const batches = known?.batches ?? [];
  const count = (state: string, hasId: number) =>
    batches.find((row) => row.state === state && Number(row.hasId) === hasId)?.count ?? 0;
  const form = config.orders.confirm.body === "auto" ? "auto" : "as configured";
  for (const [hasId, what] of [
    [1, "batches with an id"],
    [0, "batches without an id"],
  ] as const) {
    const confirmed = count("confirmed", hasId);
    const refused = count("refused", hasId);
    if (confirmed > 0) report.add("confirm", "found", `${what}: ${confirmed} confirmed (${form})`);
    if (refused > 0)
      report.add("confirm", "needs you", `${what}: ${refused} refused: ${known?.confirmError ?? "without words"}`);
  }
  if (batches.every(({ state }) => state !== "confirmed" && state !== "refused")) {
    report.add(
      "confirm",
      "not found",
      "no batch has been confirmed yet: the first pull of an order shows what a confirm answers",
    );
  }
}

function tellStatuses({ report, known, config }: Probe): void {
  const names = (known?.statuses ?? []).flatMap(({ status }) => (status === null ? [] : [status]));
  if (names.length === 0) {
    report.add("statusNames", "not found", "no order is stored yet");
    return;
  }
  const { cancelled, closed } = config.orders.statuses;
  report.add(
    "statusNames",
    "found",
    `statuses seen so far: ${(known?.statuses ?? []).map(({ status, count }) => `${status ?? "none"} (${count})`).join(", ")}`,
  );
  const unnamed = names.filter((name) => !cancelled.includes(name) && !closed.includes(name));
  const likeCancelled = unnamed.filter((name) => CANCELLED.test(name));
  const likeClosed = unnamed.filter((name) => CLOSED.test(name));
  const keys: Record<string, unknown> = {};
  if (likeCancelled.length > 0) keys["orders.statuses.cancelled"] = [...cancelled, ...likeCancelled];
  if (likeCancelled.length + likeClosed.length > 0)
    keys["orders.statuses.closed"] = [...new Set([...closed, ...likeClosed, ...likeCancelled])];
  if (Object.keys(keys).length > 0)
    report.add("statusNames", "needs you", "some of them look like ends of an order; check the proposal", keys);
}

function tellRequests({ report, known, config }: Probe): void {
  const sent = known?.requests.find(({ state }) => state === "sent")?.count ?? 0;
  if (sent > 0)
    report.add(
      "statusChange",
      "found",
      `${counted(sent, "status request")} accepted as ${config.statuses.method} ${config.statuses.path}`,
    );
  if (known?.requestError != null) report.add("statusChange", "needs you", `the last refusal: ${known.requestError}`);
}

function tellLimits({ report, known }: Probe): void {
  const largest = Math.max(0, ...(known?.batches ?? []).map((row) => row.largest));
  if (largest > 0) report.add("limits", "found", `the largest batch so far held ${counted(largest, "order")}`);
  const { pageMax = 0 } = known?.learned ?? {};
  if (pageMax > 0) report.add("limits", "found", `the longest page of changes so far held ${pageMax}`);
  for (const { name, chunk } of known?.feeds ?? []) {
    if (chunk !== null)
      report.add("limits", "found", `${name}: requests of more than ${counted(chunk, "record")} were too large`, {
        [`imports.${name}.chunk`]: chunk,
      });
  }
  const limited = (known?.errors ?? []).filter(({ code }) => code === "rate_limited");
  if (limited.length > 0)
    report.add(
      "limits",
      "needs you",
      `${limited.map(({ job, count }) => `${job} ${count}×`).join(", ")} answered with 429: lower service.requests_per_second`,
    );
  const codes = (known?.errors ?? []).map(({ job, code, count }) => `${job}: ${code} ${count}×`);
  if (codes.length > 0) report.add("errors", "found", `met so far: ${codes.join(", ")}`);
}
