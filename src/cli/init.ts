import { existsSync } from "node:fs";
import path from "node:path";
import { loseDelivery } from "../backup/settle.ts";
import { exampleConfig } from "../config/example.ts";
import { type LoadedConfig, loadConfig, parseConfig } from "../config/load.ts";
import { loadable, proposalLines } from "../config/proposal.ts";
import { checkAccount } from "../daemon/account.ts";
import { exploreNewService, probeService, sendTestAlerts } from "../daemon/ask-outside.ts";
import { hasDatabase } from "../daemon/missing-database.ts";
import { removeNote } from "../database/log/progress-note.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { openDatabase } from "../pass/open-database.ts";
import { asOwnerOf, becomeOwnerOf } from "../platform/become-owner.ts";
import { systemClock } from "../platform/clock.ts";
import { BridgeError, EXIT, type ExitCode } from "../platform/errors.ts";
import { makeFolder, placeFile } from "../platform/place-file.ts";
import { isoTime } from "../platform/ports.ts";
import type { CheckResult } from "../probe/check-result.ts";
import { configFlag } from "./call.ts";
import { describeCheck } from "./check.ts";
import { loadNeighbours } from "./check-instances.ts";
import { type Call, worstOf } from "./command.ts";
import { requirePlace } from "./given-path.ts";
import {
  type Answers,
  askAnswers,
  type InitOptions,
  type Places,
  proposedPlaces,
  type Retry,
  readAnswers,
  SERVICE_CONFIG,
} from "./init-answers.ts";
import { type LongCall, withProgress } from "./progress.ts";
import { jsonLine } from "./terminal.ts";
import { timestampInName } from "./timestamp-in-name.ts";

const SECRET_MODE = 0o600;
/** The file may hold an alert receiver's token; the service's user reads it through its group. */
const CONFIG_MODE = 0o640;
/** Rounds of questions until the address and the credentials work. */
const ROUNDS_MAX = 3;
/** Default port of the status page. */
const DEFAULT_PORT = 9469;

/** Creates a configuration, the secret's file and an empty database, and checks at once that they work. */
export const init = withProgress<InitOptions>(async (call, options) => {
  const file = path.resolve(call.configFile);
  refuseExisting(file, options);
  requirePlace(file);
  const places = proposedPlaces(file);
  const decision = await decide(call, file, options, { ...places, listen: freeListen(file, call) });
  const { answers, loaded, checks, found } = await fitToService(call, file, decision);
  if (!answers.isSecretThere) requirePlace(answers.secretFile);
  requirePlace(answers.database);
  const data = path.dirname(answers.database);
  const madeDatabase = asOwnerOf(data, () => makeDatabase(loaded, options));
  const kept = writeFiles(file, { answers, found }, options);
  const written = loadConfig({ file, env: call.terminal.env });
  becomeOwnerOf(data, call.terminal.env);
  const alerts = await call.progress.during(
    () => ({ what: m.init.sendingTest }),
    () => sendTestAlerts(written, systemClock),
  );
  const exitCode = worstOf([
    ...checks.map((check) => check.exitCode),
    ...alerts.map(({ error }) => (error === undefined ? EXIT.ok : EXIT.attention)),
  ]);
  report(call, { file, answers, found, madeDatabase, kept, checks, alerts, exitCode });
  return exitCode;
});

function refuseExisting(file: string, { force }: InitOptions): void {
  if (force === true || !existsSync(file)) return;
  throw new BridgeError("usage", m.init.alreadyThere({ file }), { hint: m.init.tryIt({ flag: configFlag(file) }) });
}

interface Decision {
  answers: Answers;
  loaded: LoadedConfig;
  checks: CheckResult[];
}

/**
 * Collects the answers and tries them at the service before anything is written. On a terminal, refused credentials are
 * asked again.
 */
async function decide(call: LongCall, file: string, given: InitOptions, places: Places): Promise<Decision> {
  const { terminal } = call;
  const { input } = terminal;
  const isAsking = input?.isInteractive === true && !call.json;
  let retry: Retry | undefined;
  for (let round = 1; ; round++) {
    const answers = isAsking
      ? await askAnswers(terminal, input, given, places, retry)
      : await readAnswers(terminal, given, places);
    const loaded = parseConfig({
      text: configText(file, { answers, found: {} }, answers.secret),
      file,
      env: terminal.env,
    });
    const checks = await call.progress.during(
      () => ({ what: m.check.askingService }),
      () => probeService(loaded, systemClock),
    );
    const failed = checks.filter(({ ok }) => !ok);
    const isRefused = failed.some(({ exitCode }) => exitCode === EXIT.credentials);
    const isUnreachable = failed.some(({ exitCode }) => exitCode === EXIT.unreachable);
    if (!isAsking || round >= ROUNDS_MAX || !(isRefused || isUnreachable)) return { answers, loaded, checks };
    for (const { check, message } of failed)
      terminal.err(m.common.indented({ text: m.common.about({ subject: check, text: message }) }));
    const again = await input.ask(isRefused ? m.init.credentialsAgain : m.init.addressAgain);
    if (/^n/i.test(again.trim())) return { answers, loaded, checks };
    retry = { before: answers, again: isRefused ? "credentials" : "address" };
  }
}

/** Values for the configuration by dotted path, found in the service's answers. */
type Found = Readonly<Record<string, unknown>>;

/** Where the service accepts the credentials, the harmless part of the probe finds the paths in its answers. */
async function fitToService(call: LongCall, file: string, decision: Decision): Promise<Decision & { found: Found }> {
  const { answers, checks } = decision;
  const isLetIn = checks.every(({ ok, exitCode }) => ok || exitCode === EXIT.attention);
  if (!isLetIn) return { ...decision, found: {} };
  const during = <T>(work: () => Promise<T>) => call.progress.during(() => ({ what: m.check.askingService }), work);
  const explored = await during(() =>
    exploreNewService(decision.loaded, {
      clock: systemClock,
      signal: new AbortController().signal,
      consent: async () => false,
      progress: () => undefined,
    }),
  );
  const found = loadable(explored.keys);
  if (Object.keys(found).length === 0) return { ...decision, found };
  const text = configText(file, { answers, found }, answers.secret);
  const loaded = parseConfig({ text, file, env: call.terminal.env });
  return { answers, loaded, found, checks: await during(() => probeService(loaded, systemClock)) };
}

/** @param inline the secret itself, while its file does not exist yet */
function configText(file: string, { answers, found }: { answers: Answers; found: Found }, inline?: string): string {
  const folder = path.dirname(file);
  const secret =
    inline === undefined
      ? { "service.client_secret_file": secretPlace(folder, answers.secretFile) }
      : { "service.client_secret": inline };
  return exampleConfig({
    "service.base_url": answers.baseUrl,
    "service.client_id": answers.clientId,
    ...secret,
    "database.path": near(folder, answers.database),
    "backup.dir": near(folder, path.join(path.dirname(answers.database), "backups")),
    ...(answers.listen === null ? {} : { "http.listen": answers.listen }),
    ...(answers.webhook === null ? {} : { "alerts.webhook": answers.webhook }),
    ...(answers.command === null ? {} : { "alerts.command": answers.command }),
    ...found,
  });
}

/**
 * The service's user may not read the file itself: systemd passes a copy, and only root's commands read the original.
 */
function secretPlace(folder: string, file: string): string {
  if (path.dirname(file) !== SERVICE_CONFIG) return near(folder, file);
  return `\${CREDENTIALS_DIRECTORY:-${SERVICE_CONFIG}}/${path.basename(file)}`;
}

/** Relative where the path is below the configuration's folder, so that the folder can be moved as a whole. */
function near(folder: string, place: string): string {
  const relative = path.relative(folder, place);
  return relative === "" || relative.startsWith("..") || path.isAbsolute(relative) ? place : relative;
}

/** Where another instance uses the default port, the next port that none uses; null: the default is free. */
function freeListen(file: string, { terminal }: Call): string | null {
  const taken = new Set(loadNeighbours(file, terminal.env).map(({ config }) => config.http.listen?.port));
  if (!taken.has(DEFAULT_PORT)) return null;
  let port = DEFAULT_PORT + 1;
  while (taken.has(port)) port += 1;
  return `127.0.0.1:${port}`;
}

/**
 * Creates the database and returns true; an existing one is only checked, and must belong to this account. Only with
 * `--force` where there was one before and it is gone.
 */
function makeDatabase(loaded: LoadedConfig, { force }: InitOptions): boolean {
  const file = loaded.config.database.path;
  const isGone = isDatabaseGone(loaded, force === true);
  const isNew = !existsSync(file);
  makeFolder(path.dirname(file));
  using store = openDatabase(loaded, "command");
  // The progress note of a former database does not apply to a new one.
  if (isNew) removeNote(store.path);
  // The former one may have noted that an answer of `GET /orders` was lost: a confirm that names nothing would cover it.
  if (isGone) loseDelivery(store, isoTime(systemClock.nowMs()));
  checkAccount(store, loaded);
  return isNew;
}

/** @throws BridgeError `database_refused` without `--force`, where there was one before and it is gone */
function isDatabaseGone(loaded: LoadedConfig, isForced: boolean): boolean {
  try {
    hasDatabase(loaded);
    return false;
  } catch (error) {
    if (!isForced || !(error instanceof BridgeError)) throw error;
    return true;
  }
}

/**
 * Writes the secret first, so that an existing configuration is always complete. Returns the names of kept old files.
 */
function writeFiles(file: string, made: { answers: Answers; found: Found }, { force }: InitOptions): string[] {
  const { answers } = made;
  const timestamp = timestampInName();
  const keep = (name: string) => (force === true ? { keepOld: `${name}.before-${timestamp}` } : {});
  const kept: (string | undefined)[] = [];
  try {
    const place = (name: string, content: string, mode: number) =>
      asOwnerOf(path.dirname(name), () => {
        makeFolder(path.dirname(name));
        kept.push(placeFile(name, content, { mode, ...keep(name) }));
      });
    if (!answers.isSecretThere) place(answers.secretFile, `${answers.secret}\n`, SECRET_MODE);
    place(file, configText(file, made), CONFIG_MODE);
  } catch (error) {
    const { code, path: place, dest } = error as NodeJS.ErrnoException & { dest?: string };
    if (code === undefined) throw error;
    const name = dest ?? place ?? file;
    if (code === "EEXIST") {
      throw new BridgeError("usage", m.init.notReplaced({ name }), { hint: m.init.nameSecretFile });
    }
    throw new BridgeError("config_invalid", m.init.notWritten({ name, code }), { hint: m.init.runAsOwner });
  }
  return kept.filter((name) => name !== undefined);
}

interface Outcome {
  file: string;
  answers: Answers;
  found: Found;
  madeDatabase: boolean;
  kept: string[];
  checks: readonly CheckResult[];
  alerts: readonly { channel: string; error: Message | undefined }[];
  exitCode: ExitCode;
}

function report({ terminal, json }: Call, outcome: Outcome): void {
  const { file, answers, found, madeDatabase, kept, checks, alerts } = outcome;
  const isWell = checks.every(({ ok }) => ok);
  const next = `erp-bridge ${isWell ? "sync orders updates" : "check --online"}${configFlag(file)}`;
  if (json) {
    terminal.out(
      jsonLine({
        ok: outcome.exitCode === EXIT.ok,
        config: file,
        client_secret_file: answers.secretFile,
        database: answers.database,
        found,
        kept,
        checks: checks.map(({ check, ok, message }) => ({ check, ok, message })),
        alerts: alerts.map(({ channel, error }) => ({ channel, ok: error === undefined, message: error ?? null })),
        next,
      }),
    );
    return;
  }
  terminal.out(m.init.madeConfig({ file }));
  const { secretFile, database } = answers;
  terminal.out(answers.isSecretThere ? m.init.secretAsItWas({ secretFile }) : m.init.secretMade({ secretFile }));
  terminal.out(madeDatabase ? m.init.databaseMade({ database }) : m.init.databaseThere({ database }));
  for (const name of kept) terminal.out(m.init.kept({ name }));
  if (Object.keys(found).length > 0) terminal.out(m.init.fitted({ lines: proposalLines(found) }));
  for (const check of checks) terminal.out(describeCheck(check));
  for (const { channel, error } of alerts) {
    terminal.out(error === undefined ? m.init.alertTaken({ channel }) : m.init.alertFailed({ channel, error }));
  }
  terminal.out("");
  terminal.out(isWell ? m.init.next({ next }) : m.init.nextWhenRight({ next }));
}
