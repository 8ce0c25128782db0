import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { Command as BridgeCommand } from "./cli/command.ts";
import type { InitOptions } from "./cli/init-answers.ts";
import { Progress } from "./cli/progress.ts";
import { speakHelp } from "./cli/spoken-help.ts";
import { spokenTerminal } from "./cli/spoken-terminal.ts";
import { jsonLine, type PlainTerminal, processTerminal, type Terminal, tolerateClosedPipes } from "./cli/terminal.ts";
import { localeLanguage } from "./messages/locale.ts";
import { m } from "./messages/messages.ts";
import { JOB_NAMES } from "./pass/job-names.ts";
import { systemClock } from "./platform/clock.ts";
import { asError, BridgeError, EXIT, exitCodeOf } from "./platform/errors.ts";
import { VERSION } from "./platform/version.ts";

interface Common {
  config?: string;
  instance?: string;
  json?: boolean;
}

/** Runs one command line. Returns the exit code; never throws and never shows a stack trace. */
export async function main(argv: readonly string[], plain: PlainTerminal = processTerminal): Promise<number> {
  let exitCode: number = EXIT.ok;
  if (plain === processTerminal) tolerateClosedPipes();
  const terminal = spokenTerminal(plain, localeLanguage(plain.env), argv.includes("--json"));
  const program = buildProgram(terminal, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    const isUsage = error instanceof CommanderError;
    if (isUsage && error.exitCode === 0) return EXIT.ok;
    const named = isUsage ? new BridgeError("usage", error.message.replace(/^error: /, "")) : asError(error);
    const { code, message, hint } = named;
    if (argv.includes("--json")) terminal.out(jsonLine({ error: { code, message, hint: hint ?? null } }));
    // commander has told its own in full.
    if (!isUsage) terminal.err(m.common.about({ subject: "erp-bridge", text: named.text }));
    if (!isUsage && hint !== undefined) terminal.err(m.common.indented({ text: hint }));
    return exitCodeOf(named);
  }
}

type Add = (parent: Command, usage: string, summary: string, example: string) => Command;
/** A command is read only when it is called: none waits for the others. */
type Act = <Options>(load: () => Promise<BridgeCommand<Options>>, common: Common, options: Options) => Promise<void>;

/** All commands, with their help in the terminal's language. `done` is told the exit code of the one that runs. */
export function buildProgram(terminal: Terminal, done: (exitCode: number) => void): Command {
  const program = speakHelp(new Command("erp-bridge"), terminal.say ?? String)
    .description("Keeps a shop's local SQLite ERP database in step with an online sales service.")
    .version(VERSION)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
    })
    .addHelpText("after", exampleText("init --config config.yaml"))
    .showSuggestionAfterError();

  const add = (parent: Command, usage: string, summary: string, example: string) =>
    parent
      .command(usage)
      .description(summary)
      .option("-c, --config <file>", "configuration file (default: $ERP_BRIDGE_CONFIG or /etc/erp-bridge/config.yaml)")
      .option("-i, --instance <name>", "instead of --config: /etc/erp-bridge/NAME.yaml")
      .option("--json", "results in a stable machine form")
      .addHelpText("after", exampleText(example));
  const act = async <Options>(load: () => Promise<BridgeCommand<Options>>, common: Common, options: Options) => {
    const [command, { configFileOf }] = await Promise.all([load(), import("./cli/command.ts")]);
    const json = common.json === true;
    const progress = new Progress({ terminal, clock: systemClock, isOn: !json });
    const call = { terminal: progress.terminal, configFile: configFileOf(common, terminal.env), json, progress };
    try {
      done(await command(call, options));
    } finally {
      progress.end();
    }
  };

  add(program, "run", "the daemon: keeps everything in step until it is stopped", "run --config config.yaml").action(
    (common: Common) => act(async () => (await import("./cli/run.ts")).run, common, {}),
  );
  add(
    program,
    "sync",
    "one pass of the named jobs, now; beside a running daemon it asks the daemon",
    "sync orders stocks",
  )
    .argument("[jobs...]", `of ${JOB_NAMES.join(", ")}; without a name all but reconcile`)
    .option("--dry-run", "what would be sent, old and new value, from the database alone")
    .option("--only <key>", "of one feed only this row, for example A-1 or A-1/north")
    .option(
      "--again",
      "of the named feeds every row, also what the service has accepted: it was restored or lost something",
    )
    .action((jobs: string[] | undefined, options: Common & { dryRun?: boolean; only?: string; again?: boolean }) =>
      act(async () => (await import("./cli/sync.ts")).sync, options, { ...options, jobs: jobs ?? [] }),
    );
  add(program, "check", "configuration, database, permissions and disk", "check --online")
    .option("--online", "also credentials, subscription and clocks, harmlessly")
    .action((options: Common & { online?: boolean }) =>
      act(async () => (await import("./cli/check.ts")).check, options, options),
    );
  add(program, "status", "is all well? one sentence, then a line a flow", "status --json")
    .option("--watch", "again every two seconds, until it is interrupted")
    .action((options: Common & { watch?: boolean }) =>
      act(async () => (await import("./cli/status.ts")).status, options, options),
    );
  addRepairs(program, add, act);
  add(program, "resume", "lift a hold after its cause was put right", "resume imports")
    .argument("<area>", "orders, updates, statuses, imports, a feed, account, or observations")
    .option(
      "--hold <reason>",
      "lift this hold alone; one that asks for a statement of yours beside others is lifted so",
    )
    .action((area: string, options: Common & { hold?: string }) =>
      act(async () => (await import("./cli/resume.ts")).resume, options, { area, hold: options.hold }),
    );
  add(program, "approve", "let through what a feed's guard holds", "approve stocks")
    .argument("<feed>", "stocks, prices, catalog or images")
    .action((feed: string, common: Common) =>
      act(async () => (await import("./cli/approve.ts")).approve, common, { feed }),
    );
  const config = addGroup(program, "config", "the configuration", "config show");
  add(config, "show", "the effective configuration, without secrets", "config show").action((common: Common) =>
    act(async () => (await import("./cli/config.ts")).configShow, common, {}),
  );
  add(
    config,
    "check",
    "whether a running daemon would take it over, quickly; systemctl reload asks it first",
    "config check",
  ).action((common: Common) => act(async () => (await import("./cli/config.ts")).configCheck, common, {}));
  add(
    config,
    "schema",
    "JSON Schema of the configuration file, for editors",
    "config schema > erp-bridge.schema.json",
  ).action((common: Common) => act(async () => (await import("./cli/config.ts")).configSchemaCommand, common, {}));
  addBeginnings(program, add, act);
  addSandbox(program, terminal, done);
  return program;
}

/** What looks into what is stored and puts it right. */
function addRepairs(program: Command, add: Add, act: Act): void {
  add(program, "order", "one order's story: received, stored, confirmed, changed, taken by the ERP", "order 1001")
    .argument("<name>", "its id or its number")
    .action((name: string, common: Common) =>
      act(async () => (await import("./cli/order.ts")).order, common, { name }),
    );
  add(
    program,
    "backup",
    "a consistent, verified copy of the database, also while the daemon runs",
    "backup /mnt/disk/bridge-monday.db",
  )
    .argument("<file>", "the copy; it must not exist yet")
    .action((file: string, common: Common) =>
      act(async () => (await import("./cli/backup.ts")).backup, common, { file }),
    );
  add(
    program,
    "restore",
    "puts a copy in the database's place and brings over what it lacks",
    "restore /mnt/disk/bridge-monday.db",
  )
    .argument("<file>", "a copy made by backup or by the daemon")
    .option("--yes", "do not ask")
    .action((file: string, options: Common & { yes?: boolean }) =>
      act(async () => (await import("./cli/restore.ts")).restore, options, { ...options, file }),
    );
  const quarantine = addGroup(program, "quarantine", "records that could not be used", "quarantine list");
  add(
    quarantine,
    "list",
    "all of them and the batches that could not be read, with the reason",
    "quarantine list",
  ).action((common: Common) => act(async () => (await import("./cli/quarantine.ts")).quarantineList, common, {}));
  add(quarantine, "show", "one record with its payload", "quarantine show 17")
    .argument("<name>", "its number, or batch:NUMBER")
    .action((name: string, common: Common) =>
      act(async () => (await import("./cli/quarantine.ts")).quarantineShow, common, { name }),
    );
  add(quarantine, "retry", "read records again with the present mapping, or send rows again", "quarantine retry --all")
    .argument("[names...]", "their numbers, or batch:NUMBER")
    .option("--all", "everything that is held")
    .action((names: string[], options: Common & { all?: boolean }) =>
      act(async () => (await import("./cli/quarantine-retry.ts")).quarantineRetry, options, {
        names,
        ...(options.all === undefined ? {} : { all: options.all }),
      }),
    );
  add(quarantine, "drop", "take records out of the way; they stay in the table quarantine", "quarantine drop 17")
    .argument("<names...>", "their numbers, or batch:NUMBER")
    .action((names: string[], common: Common) =>
      act(async () => (await import("./cli/quarantine.ts")).quarantineDrop, common, { names }),
    );
  add(
    program,
    "remap",
    "derive columns and lines again after the mapping was corrected, without the service",
    "remap --dry-run",
  )
    .option("--dry-run", "only say what would change")
    .action((options: Common & { dryRun?: boolean }) =>
      act(async () => (await import("./cli/remap.ts")).remapCommand, options, options),
    );
}

/** What a newcomer needs before anything runs. */
function addBeginnings(program: Command, add: Add, act: Act): void {
  add(program, "init", "a commented configuration and an empty database", "init --config config.yaml")
    .option("--base-url <url>", "address of the service")
    .option("--client-id <id>", "client id from the service's API access settings")
    .option("--client-secret-file <file>", "where the secret is, or is to be written (0600); never the secret itself")
    .option("--database <file>", "the SQLite file")
    .option("--alert-webhook <url>", "address that receives alerts")
    .option("--alert-command <program>", "program that is started with alerts")
    .option("--force", "keep what is there under another name, and make a new one")
    .addOption(new Option("--client-secret [secret]").hideHelp())
    .action((options: Common & InitOptions & { clientSecret?: unknown }) => {
      if (options.clientSecret === undefined)
        return act(async () => (await import("./cli/init.ts")).init, options, options);
      throw new BridgeError(
        "usage",
        "A secret on the command line can be read by every user of this machine; it was not used.",
        {
          hint: "Give it on standard input, in ERP_BRIDGE_CLIENT_SECRET or in a file: --client-secret-file FILE",
        },
      );
    });
  add(program, "probe", "find out, as harmlessly as it can be done, what the interface document leaves open", "probe")
    .option("--yes", "also the two requests that could have an effect, without asking")
    .action((options: Common & { yes?: boolean }) =>
      act(async () => (await import("./cli/probe.ts")).probe, options, options),
    );
}

function addSandbox(program: Command, terminal: Terminal, done: (exitCode: number) => void): void {
  program
    .command("sandbox")
    .description("a local stand-in for the service, for trying the bridge without an account")
    .option("-p, --port <port>", "port on 127.0.0.1, 0 for any free one", portNumber, 8080)
    .option("--seed <seed>", "makes the same orders again", wholeNumber, 1)
    .option("--rate <orders>", "new orders a minute", wholeNumber, 6)
    .option("--client-id <id>", "client id to accept", "sandbox")
    .option("--client-secret <secret>", "client secret to accept", "sandbox-secret")
    .option("--switches <file>", "JSON file with switches: how the service behaves")
    .addHelpText("after", exampleText("sandbox --port 8080 --rate 30"))
    .action(async (options) => done(await (await import("./cli/sandbox.ts")).sandbox(terminal, options)));
}

/** A command that only leads to others. */
function addGroup(program: Command, name: string, summary: string, example: string): Command {
  return program.command(name).description(summary).addHelpText("after", exampleText(example));
}

function exampleText(example: string): string {
  return `\nExample:\n  erp-bridge ${example}`;
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError("It must be a whole number.");
  return value;
}

function portNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > PORT_MAX)
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${PORT_MAX}.`);
  return value;
}

const PORT_MAX = 65_535;
