import { Command, CommanderError, InvalidArgumentError } from "commander";
import { approve } from "./commands/approve.ts";
import { check } from "./commands/check.ts";
import { type Command as BridgeCommand, configFileOf } from "./commands/command.ts";
import { configSchemaCommand, configShow } from "./commands/config.ts";
import { quarantineList } from "./commands/quarantine.ts";
import { resume } from "./commands/resume.ts";
import { run } from "./commands/run.ts";
import { sandbox } from "./commands/sandbox.ts";
import { status } from "./commands/status.ts";
import { sync } from "./commands/sync.ts";
import { asError, EXIT, exitCodeOf } from "./domain/errors.ts";
import { isJobName, JOB_NAMES } from "./domain/job-names.ts";
import { jsonLine, processTerminal, type Terminal } from "./platform/terminal.ts";
import { VERSION } from "./platform/version.ts";

interface Common {
  config?: string;
  instance?: string;
  json?: boolean;
}

/** Runs one command line. Returns the exit code; never throws and never shows a stack trace. */
export async function main(argv: readonly string[], terminal: Terminal = processTerminal): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = buildProgram(terminal, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const { code, message, hint } = asError(error);
    if (argv.includes("--json")) terminal.out(jsonLine({ error: { code, message, hint: hint ?? null } }));
    terminal.err(`erp-bridge: ${message}`);
    if (hint !== undefined) terminal.err(`  ${hint}`);
    return exitCodeOf(error);
  }
}

function buildProgram(terminal: Terminal, done: (exitCode: number) => void): Command {
  const program = new Command("erp-bridge")
    .description("Keeps a shop's local SQLite ERP database in step with an online sales service.")
    .version(VERSION)
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text.trimEnd()), writeErr: (text) => terminal.err(text.trimEnd()) })
    .showSuggestionAfterError();

  const add = (parent: Command, usage: string, summary: string, example: string) =>
    parent
      .command(usage)
      .description(summary)
      .option("-c, --config <file>", "configuration file (default: $ERP_BRIDGE_CONFIG or /etc/erp-bridge/config.yaml)")
      .option("-i, --instance <name>", "instead of --config: /etc/erp-bridge/NAME.yaml")
      .option("--json", "results in a stable machine form")
      .addHelpText("after", `\nExample:\n  erp-bridge ${example}`);
  const act = async <Options>(command: BridgeCommand<Options>, common: Common, options: Options) => {
    const call = { terminal, configFile: configFileOf(common, terminal.env), json: common.json === true };
    done(await command(call, options));
  };

  add(program, "run", "the daemon: keeps everything in step until it is stopped", "run --config config.yaml").action(
    (common: Common) => act(run, common, {}),
  );
  add(program, "sync", "one pass of the named jobs, now; beside a running daemon it asks the daemon", "sync orders stocks")
    .argument("[jobs...]", `of ${JOB_NAMES.join(", ")}; without a name all but reconcile`, collectJobs)
    .action((jobs: string[] | undefined, common: Common) => act(sync, common, { jobs: jobs ?? [] }));
  add(program, "check", "configuration, database, permissions and disk", "check --online")
    .option("--online", "also credentials, subscription and clocks, harmlessly")
    .action((options: Common & { online?: boolean }) => act(check, options, options));
  add(program, "status", "is all well? one sentence, then a line a flow", "status --json").action((common: Common) =>
    act(status, common, {}),
  );
  const quarantine = program.command("quarantine").description("records that could not be used");
  add(quarantine, "list", "all of them, with the reason", "quarantine list").action((common: Common) => act(quarantineList, common, {}));
  add(program, "resume", "lift a hold after its cause was put right", "resume imports")
    .argument("<area>", "orders, updates, statuses, imports, a feed, or account")
    .action((area: string, common: Common) => act(resume, common, { area }));
  add(program, "approve", "let through what a feed's guard holds", "approve stocks")
    .argument("<feed>", "stocks, prices, catalog or images")
    .action((feed: string, common: Common) => act(approve, common, { feed }));
  const config = program.command("config").description("the configuration");
  add(config, "show", "the effective configuration, without secrets", "config show").action((common: Common) => act(configShow, common, {}));
  add(config, "schema", "JSON Schema of the configuration file, for editors", "config schema > erp-bridge.schema.json").action(
    (common: Common) => act(configSchemaCommand, common, {}),
  );
  addSandbox(program, terminal, done);
  return program;
}

function addSandbox(program: Command, terminal: Terminal, done: (exitCode: number) => void): void {
  program
    .command("sandbox")
    .description("a local stand-in for the service, for trying the bridge without an account")
    .option("-p, --port <port>", "port on 127.0.0.1", wholeNumber, 8080)
    .option("--seed <seed>", "makes the same orders again", wholeNumber, 1)
    .option("--rate <orders>", "new orders a minute", wholeNumber, 6)
    .option("--client-id <id>", "client id to accept", "sandbox")
    .option("--client-secret <secret>", "client secret to accept", "sandbox-secret")
    .option("--switches <file>", "JSON file with switches: how the service behaves")
    .addHelpText("after", "\nExample:\n  erp-bridge sandbox --port 8080 --rate 30")
    .action(async (options) => done(await sandbox(terminal, options)));
}

function collectJobs(job: string, jobs: string[] | undefined): string[] {
  if (!isJobName(job)) throw new InvalidArgumentError(`There is no such job. Jobs: ${JOB_NAMES.join(", ")}.`);
  return [...(jobs ?? []), job];
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError("It must be a whole number.");
  return value;
}
