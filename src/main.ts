import { Command, CommanderError, Option } from "commander";
import { configFileOf } from "./cli/call.ts";
import type { Command as BridgeCommand } from "./cli/command.ts";
import type { InitOptions } from "./cli/init-answers.ts";
import type { MirrorInitOptions, MirrorRemoveOptions } from "./cli/mirror.ts";
import { portNumber, speakHelp, usageMessage, wholeNumber } from "./cli/spoken-help.ts";
import { spokenTerminal } from "./cli/spoken-terminal.ts";
import type { TakeoverOptions } from "./cli/takeover.ts";
import { jsonLine, type PlainTerminal, processTerminal, type Terminal, tolerateLostOutput } from "./cli/terminal.ts";
import { localeLanguage } from "./messages/locale.ts";
import type { Message, Say } from "./messages/message.ts";
import { m } from "./messages/messages.ts";
import { JOB_NAMES } from "./pass/job-names.ts";
import { asError, BridgeError, EXIT, type ExitCode, exitCodeOf } from "./platform/errors.ts";
import { paintFor } from "./platform/paint.ts";
import { VERSION } from "./platform/version.ts";

interface Common {
  config?: string;
  instance?: string;
  json?: boolean;
  color?: boolean;
}

/** Runs one command line. Returns the exit code; never throws and never shows a stack trace. */
export async function main(argv: readonly string[], plain: PlainTerminal = processTerminal): Promise<number> {
  if (plain === processTerminal) tolerateLostOutput();
  const terminal = spokenTerminal(plain, localeLanguage(plain.env), argv.includes("--json"));
  const exitCode = await runLine(argv, terminal);
  const failure = terminal.outFailure?.();
  if (failure === undefined) return exitCode;
  const { codeOfLost, describeLost } = await import("./cli/lost-output.ts");
  terminal.err(m.common.about({ subject: "erp-bridge", text: describeLost(failure) }));
  return codeOfLost(exitCode);
}

async function runLine(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok;
  const program = buildProgram(terminal, (code) => {
    exitCode = code;
  });
  try {
    const isLed = argv[0]?.startsWith("-") === true;
    const args = isLed ? (await import("./cli/leading-options.ts")).withLeadingOptions(argv) : argv;
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    const isUsage = error instanceof CommanderError;
    if (isUsage && error.exitCode === 0) return EXIT.ok;
    const named = isUsage ? new BridgeError("usage", usageMessage(error)) : asError(error);
    const { code, message, text, hint } = named;
    if (argv.includes("--json")) terminal.out(jsonLine({ error: { code, message, hint: hint ?? null } }));
    // Without a command the help was printed already.
    if (isUsage && error.code !== "commander.help") terminal.err(m.help.error({ text }));
    if (!isUsage) terminal.err(m.common.about({ subject: "erp-bridge", text }));
    if (hint !== undefined) terminal.err(m.common.indented({ text: hint }));
    return exitCodeOf(named);
  }
}

type Add = (parent: Command, usage: string, summary: Message, example: string) => Command;
/** Imports a command's module only when it runs, so that no command waits for the others to load. */
type Act = <Options>(load: () => Promise<BridgeCommand<Options>>, common: Common, options: Options) => Promise<void>;

interface Tools {
  say: Say;
  add: Add;
  act: Act;
}

/** All commands, with their help in the user's language. `done` is called with the exit code of the command that ran. */
export function buildProgram(terminal: Terminal, done: (exitCode: ExitCode) => void): Command {
  const say = terminal.say ?? String;
  const program = speakHelp(new Command("erp-bridge"), say)
    .description(say(m.help.program))
    .version(VERSION, "-V, --version", say(m.help.versionOption))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd(), "as it is"),
      writeErr: (text) => terminal.err(text.trimEnd(), "as it is"),
      // `main` prints errors, in the user's language.
      outputError: () => {},
    })
    .addHelpText("after", exampleText(say, "init --config config.yaml"))
    .showSuggestionAfterError();

  const add: Add = (parent, usage, summary, example) =>
    parent
      .command(usage)
      .description(say(summary))
      .option("-c, --config <file>", say(m.help.optionConfig))
      .option("-i, --instance <name>", say(m.help.optionInstance))
      .option("--json", say(m.help.optionJson))
      .option("--no-color", say(m.help.optionNoColor))
      .addHelpText("after", exampleText(say, example));
  const act: Act = async <Options>(load: () => Promise<BridgeCommand<Options>>, common: Common, options: Options) => {
    const command = await load();
    const isWanted = common.color !== false;
    const call = {
      terminal,
      configFile: configFileOf(common, terminal.env),
      json: common.json === true,
      paint: paintFor(terminal.env, { isTerminal: terminal.outIsTerminal === true, isWanted }),
      paintErr: paintFor(terminal.env, { isTerminal: terminal.isTerminal, isWanted }),
    };
    done(await command(call, options));
  };

  add(program, "run", m.help.run, "run --config config.yaml").action((common: Common) =>
    act(async () => (await import("./cli/run.ts")).run, common, {}),
  );
  add(program, "sync", m.help.sync, "sync orders stocks")
    .argument("[jobs...]", say(m.help.syncJobs({ jobs: JOB_NAMES.join(", ") })))
    .option("--dry-run", say(m.help.syncDryRun))
    .option("--only <key>", say(m.help.syncOnly))
    .option("--again", say(m.help.syncAgain))
    .option("--since <time>", say(m.help.syncSince))
    .option("--orders <file>", say(m.help.syncOrders))
    .action((jobs: string[] | undefined, options: Common & { dryRun?: boolean; only?: string; again?: boolean }) =>
      act(async () => (await import("./cli/sync.ts")).sync, options, { ...options, jobs: jobs ?? [] }),
    );
  add(program, "check", m.help.check, "check --online")
    .option("--online", say(m.help.checkOnline))
    .action((options: Common & { online?: boolean }) =>
      act(async () => (await import("./cli/check.ts")).check, options, options),
    );
  add(program, "status", m.help.status, "status --json")
    .option("--watch", say(m.help.statusWatch))
    .action((options: Common & { watch?: boolean }) =>
      act(async () => (await import("./cli/status.ts")).status, options, options),
    );
  const tools = { say, add, act };
  addRepairs(program, tools);
  add(program, "resume", m.help.resume, "resume imports")
    .argument("<area>", say(m.help.resumeArea))
    .option("--hold <reason>", say(m.help.resumeHold))
    .action((area: string, options: Common & { hold?: string }) =>
      act(async () => (await import("./cli/resume.ts")).resume, options, { area, hold: options.hold }),
    );
  add(program, "approve", m.help.approve, "approve stocks --rows 35")
    .argument("<feed>", say(m.help.approveFeed))
    .option("--rows <count>", say(m.help.approveRows), wholeNumber)
    .option("--former <decision>", say(m.help.approveFormer))
    .action((feed: string, options: Common & { former?: string; rows?: number }) =>
      act(async () => (await import("./cli/approve.ts")).approve, options, {
        feed,
        former: options.former,
        shown: options.rows,
      }),
    );
  const config = addGroup(program, say, "config", m.help.config, "config show");
  add(config, "show", m.help.configShow, "config show").action((common: Common) =>
    act(async () => (await import("./cli/config.ts")).configShow, common, {}),
  );
  add(config, "check", m.help.configCheck, "config check").action((common: Common) =>
    act(async () => (await import("./cli/config.ts")).configCheck, common, {}),
  );
  add(config, "schema", m.help.configSchema, "config schema > erp-bridge.schema.json").action((common: Common) =>
    act(async () => (await import("./cli/config.ts")).configSchemaCommand, common, {}),
  );
  addMirror(program, tools);
  addBeginnings(program, tools);
  addSandbox(program, terminal, done);
  return program;
}

/** Commands that inspect and correct stored data. */
function addRepairs(program: Command, { say, add, act }: Tools): void {
  add(program, "order", m.help.order, "order 1001")
    .argument("<name>", say(m.help.orderName))
    .action((name: string, common: Common) =>
      act(async () => (await import("./cli/order.ts")).order, common, { name }),
    );
  add(program, "backup", m.help.backup, "backup /mnt/disk/bridge-monday.db")
    .argument("<file>", say(m.help.backupFile))
    .action((file: string, common: Common) =>
      act(async () => (await import("./cli/backup.ts")).backup, common, { file }),
    );
  add(program, "restore", m.help.restore, "restore /mnt/disk/bridge-monday.db")
    .argument("<file>", say(m.help.restoreFile))
    .option("--yes", say(m.help.restoreYes))
    .action((file: string, options: Common & { yes?: boolean }) =>
      act(async () => (await import("./cli/restore.ts")).restore, options, { ...options, file }),
    );
  const quarantine = addGroup(program, say, "quarantine", m.help.quarantine, "quarantine list");
  add(quarantine, "list", m.help.quarantineList, "quarantine list").action((common: Common) =>
    act(async () => (await import("./cli/quarantine.ts")).quarantineList, common, {}),
  );
  add(quarantine, "show", m.help.quarantineShow, "quarantine show 17")
    .argument("<name>", say(m.help.quarantineName))
    .action((name: string, common: Common) =>
      act(async () => (await import("./cli/quarantine.ts")).quarantineShow, common, { name }),
    );
  add(quarantine, "retry", m.help.quarantineRetry, "quarantine retry --all")
    .argument("[names...]", say(m.help.quarantineNames))
    .option("--all", say(m.help.quarantineAll))
    .action((names: string[], options: Common & { all?: boolean }) =>
      act(async () => (await import("./cli/quarantine-retry.ts")).quarantineRetry, options, {
        names,
        ...(options.all === undefined ? {} : { all: options.all }),
      }),
    );
  add(quarantine, "drop", m.help.quarantineDrop, "quarantine drop 17")
    .argument("<names...>", say(m.help.quarantineNames))
    .action((names: string[], common: Common) =>
      act(async () => (await import("./cli/quarantine.ts")).quarantineDrop, common, { names }),
    );
  add(program, "remap", m.help.remap, "remap --dry-run")
    .option("--dry-run", say(m.help.remapDryRun))
    .action((options: Common & { dryRun?: boolean }) =>
      act(async () => (await import("./cli/remap.ts")).remapCommand, options, options),
    );
}

/** Commands for the PostgreSQL that many shops share. */
function addMirror(program: Command, { say, add, act }: Tools): void {
  add(program, "takeover", m.help.takeover, "takeover")
    .option("--from <file>", say(m.help.takeoverFrom))
    .option("--yes", say(m.help.restoreYes))
    .action((options: Common & TakeoverOptions) =>
      act(async () => (await import("./cli/takeover.ts")).takeover, options, options),
    );
  const mirror = addGroup(
    program,
    say,
    "mirror",
    m.help.mirror,
    "mirror init --url postgres://postgres@db.example.com/chain --shop north",
  );
  add(mirror, "init", m.help.mirrorInit, "mirror init --url postgres://postgres@db.example.com/chain --shop north")
    .requiredOption("--url <url>", say(m.help.mirrorUrl))
    .option("--shop <key>", say(m.help.mirrorShop))
    .option("--schema <name>", say(m.help.mirrorSchema))
    .option("--erp <role>", say(m.help.mirrorErp))
    .option("--reader <role>", say(m.help.mirrorReader))
    .option("--ca-file <file>", say(m.help.mirrorCaFile))
    .action((options: Common & MirrorInitOptions) =>
      act(async () => (await import("./cli/mirror.ts")).mirrorInit, options, options),
    );
  add(mirror, "remove", m.help.mirrorRemove, "mirror remove --url postgres://head@db.example.com/chain --shop north")
    .requiredOption("--url <url>", say(m.help.mirrorUrl))
    .requiredOption("--shop <key>", say(m.help.mirrorRemoveShop))
    .option("--schema <name>", say(m.help.mirrorSchema))
    .option("--ca-file <file>", say(m.help.mirrorCaFile))
    .action((options: Common & MirrorRemoveOptions) =>
      act(async () => (await import("./cli/mirror.ts")).mirrorRemove, options, options),
    );
}

/** Commands for the first set-up. */
function addBeginnings(program: Command, { say, add, act }: Tools): void {
  add(program, "init", m.help.init, "init --config config.yaml")
    .option("--base-url <url>", say(m.help.initBaseUrl))
    .option("--client-id <id>", say(m.help.initClientId))
    .option("--client-secret-file <file>", say(m.help.initSecretFile))
    .option("--database <file>", say(m.help.initDatabase))
    .option("--alert-webhook <url>", say(m.help.initWebhook))
    .option("--alert-command <program>", say(m.help.initCommand))
    .option("--force", say(m.help.initForce))
    .addOption(new Option("--client-secret [secret]").hideHelp())
    .action((options: Common & InitOptions & { clientSecret?: unknown }) => {
      if (options.clientSecret === undefined)
        return act(async () => (await import("./cli/init.ts")).init, options, options);
      throw new BridgeError("usage", m.help.secretTyped, { hint: m.help.secretElsewhere });
    });
  add(program, "probe", m.help.probe, "probe")
    .option("--yes", say(m.help.probeYes))
    .option("--write", say(m.help.probeWrite))
    .action((options: Common & { yes?: boolean }) =>
      act(async () => (await import("./cli/probe.ts")).probe, options, options),
    );
}

function addSandbox(program: Command, terminal: Terminal, done: (exitCode: ExitCode) => void): void {
  const say = terminal.say ?? String;
  program
    .command("sandbox")
    .description(say(m.help.sandbox))
    .option("-p, --port <port>", say(m.help.sandboxPort), portNumber, 8080)
    .option("--seed <seed>", say(m.help.sandboxSeed), wholeNumber, 1)
    .option("--rate <orders>", say(m.help.sandboxRate), wholeNumber, 6)
    .option("--client-id <id>", say(m.help.sandboxClientId), "sandbox")
    .option("--client-secret <secret>", say(m.help.sandboxClientSecret), "sandbox-secret")
    .option("--switches <file>", say(m.help.sandboxSwitches))
    .addHelpText("after", exampleText(say, "sandbox --port 8080 --rate 30"))
    .action(async (options) => done(await (await import("./cli/sandbox.ts")).sandbox(terminal, options)));
}

/** A command that only has subcommands. */
function addGroup(program: Command, say: Say, name: string, summary: Message, example: string): Command {
  return program.command(name).description(say(summary)).addHelpText("after", exampleText(say, example));
}

function exampleText(say: Say, command: string): string {
  return say(m.help.example({ command }));
}
