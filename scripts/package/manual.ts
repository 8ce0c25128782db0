import type { CommandWords } from "./words.ts";

const FILES: readonly (readonly [string, string])[] = [
  ["/etc/erp-bridge/config.yaml", "The configuration; NAME.yaml for an instance. Nothing runs without it."],
  [
    "/etc/erp-bridge/client-secret",
    "The Client Secret; NAME-client-secret for an instance. Root only: systemd hands it over.",
  ],
  ["/var/lib/erp-bridge/bridge.db", "The database that the ERP shares; NAME/bridge.db for an instance."],
  ["/var/lib/erp-bridge/backups", "Nightly copies, and those made before a migration lie beside the database."],
  ["/usr/share/doc/erp-bridge", "Installation, sharing the database, configuration, examples for the ERP's side."],
];

const EXITS: readonly (readonly [string, string])[] = [
  ["0", "All is well."],
  ["1", "Failed."],
  ["2", "Attention needed: something is stale, held, refused or in quarantine."],
  ["64", "Usage."],
  ["69", "The service cannot be reached."],
  ["75", "Another instance works on the database."],
  ["77", "Credentials refused, or the subscription is unpaid."],
  ["78", "Configuration, or a Node that is too old."],
];

const SIGNALS: readonly (readonly [string, string])[] = [
  ["SIGHUP", "The configuration is read again; one that is wrong changes nothing, the old one stays in force."],
  ["SIGTERM, SIGINT", "Passes under way are finished, within 10 seconds. The second one ends the program at once."],
];

const VARIABLES: readonly (readonly [string, string])[] = [
  ["ERP_BRIDGE_CONFIG", "The configuration file where neither --config nor --instance is given."],
  ["CREDENTIALS_DIRECTORY", "Set by systemd; the credential client-secret is read there."],
];

/** The manual page erp-bridge(1), from the commands themselves. `date` is ISO, for the page's foot. */
export function manualPage(commands: readonly CommandWords[], options: { version: string; date: string }): string {
  const lines = [
    `.TH ERP\\-BRIDGE 1 "${options.date}" "erp\\-bridge ${roff(options.version)}" "User Commands"`,
    ".SH NAME",
    "erp\\-bridge \\- keeps a shop's local SQLite ERP database in step with an online sales service",
    ".SH SYNOPSIS",
    ".B erp\\-bridge",
    ".I COMMAND",
    "[\\fB\\-\\-config\\fR \\fIFILE\\fR | \\fB\\-\\-instance\\fR \\fINAME\\fR] [\\fB\\-\\-json\\fR]",
    ".SH DESCRIPTION",
    "A daemon for a shop's server. It pulls order batches from the service, stores them, and only then confirms them; it",
    "follows later changes, sends order statuses back, and pushes changed stock, price, catalog and image rows.",
    "It is configured by one YAML file and looked at with SQL. Results go to standard output, messages and progress to",
    "standard error.",
    ".SH COMMANDS",
    ...commands.flatMap(commandSection),
    ...pairs("FILES", FILES),
    ...pairs("ENVIRONMENT", VARIABLES),
    ...pairs("SIGNALS", SIGNALS),
    ...pairs("EXIT STATUS", EXITS),
    ".SH SEE ALSO",
    ".BR sqlite3 (1),",
    ".BR systemctl (1),",
    ".BR journalctl (1);",
    "the documents in /usr/share/doc/erp\\-bridge.",
  ];
  return `${lines.join("\n")}\n`;
}

function commandSection(command: CommandWords): string[] {
  const terms = command.arguments.map(({ term }) => ` ${roff(term)}`).join("");
  return [
    `.SS ${roff(command.path.join(" "))}${terms}`,
    sentence(command.summary),
    ...command.arguments.flatMap(({ term, summary }) => entry(term, summary)),
    ...command.options.flatMap(({ flags, summary }) => entry(flags, summary)),
    ...(command.example === undefined
      ? []
      : [".PP", "Example:", ".PP", ".RS", ".nf", roff(command.example), ".fi", ".RE"]),
  ];
}

function pairs(title: string, entries: readonly (readonly [string, string])[]): string[] {
  return [`.SH ${title}`, ...entries.flatMap(([term, words]) => entry(term, words))];
}

function entry(term: string, words: string): string[] {
  return [".TP", `.B ${roff(term)}`, sentence(words)];
}

function sentence(words: string): string {
  const text = roff(words.charAt(0).toUpperCase() + words.slice(1));
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** As roff reads it: no escape, no hyphen that becomes a dash, no line that begins with a request. */
function roff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/, "\\&$1");
}
