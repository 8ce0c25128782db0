import { counted } from "../counted.ts";
import type { Said } from "../message.ts";

export const command = {
  configOrInstance: "--config and --instance exclude each other.",
  instanceName: "An instance's name holds letters, digits, . _ and - only.",
  noDatabase: ({ file }: { file: string }) => `There is no database at ${file} yet.`,
  databaseMade: "It is made at the first erp-bridge run or erp-bridge sync.",
  unknownWord: ({ what, word }: { what: Said; word: string }) => `There is no ${what} ${word}.`,
  known: ({ names }: { names: readonly string[] }) => `Known: ${names.join(", ")}`,
  didYouMean: ({ name }: { name: string }) => `Did you mean ${name}?`,
  validNoDatabase: ({ file, database }: { file: string; database: string }) =>
    `${file} is valid; there is no database at ${database} yet, so a running daemon would not take it over`,
  stopped: "Stopped; nothing more was done.",
  areaOrFeed: "area or feed",
  guardWaits: ({ area, command }: { area: string; command: string }) =>
    `${area}: the guard waits for approval: ${command}`,
  holdStays: ({ area, reason, states, command }: { area: string; reason: string; states: Said; command: string }) =>
    `${area}: "${reason}" stays. To lift it states ${states}; then: ${command}`,
  nothingHeld: ({ area }: { area: string }) => `${area}: nothing was held.`,
  noHold: ({ area, hold }: { area: string; hold: string }) => `${area}: no hold "${hold}" stands.`,
  observationsRead: ({ names }: { names: readonly string[] }) =>
    `observations: not shown any more (${names.join(", ")}).`,
  nothingWaits: ({ name }: { name: string }) => `${name}: nothing waits for approval.`,
  job: "job",
  feed: "feed",
  hold: "hold",
  sentNow: ({ name, rows }: { name: string; rows: number }) =>
    `${name}: ${counted(rows, "row")} may go; the daemon sends them now.`,
  sentNextPass: ({ name, rows }: { name: string; rows: number }) =>
    `${name}: ${counted(rows, "row")} may go at the next pass.`,
  triedNow: ({ area, reasons }: { area: string; reasons: readonly string[] }) =>
    `${area}: goes on (${reasons.join(", ")}); the daemon tries now.`,
  goesOn: ({ area, reasons }: { area: string; reasons: readonly string[] }) =>
    `${area}: goes on (${reasons.join(", ")}).`,
  nothingAccepted: ({ url, id }: { url: string; id: string }) =>
    `What ${url} has accepted (as ${id}) does not count here: from the next start on, every row of the feeds goes once more.`,
  changesFrom: ({ position }: { position: string }) =>
    `Changes are asked for from ${position} on, and once from well before.`,
  readAgain: ({ orders }: { orders: number }) =>
    `${counted(orders, "order")} whose status was sent elsewhere meanwhile: read again.`,
  comparedAtStart: "Orders are compared with the service at the next start.",
};
