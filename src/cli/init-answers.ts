import { existsSync } from "node:fs";
import path from "node:path";
import { problemOf, readSecretFile, secretProblemOf } from "../config/problem-of.ts";
import { printable } from "../config/problems.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import type { Input, Terminal } from "./terminal.ts";

export interface InitOptions {
  baseUrl?: string;
  clientId?: string;
  clientSecretFile?: string;
  database?: string;
  alertWebhook?: string;
  alertCommand?: string;
  force?: boolean;
}

/** Everything that the configuration is made from. Paths are absolute. */
export interface Answers {
  baseUrl: string;
  clientId: string;
  secret: string;
  secretFile: string;
  /** The secret's file exists and stays unchanged. */
  isSecretThere: boolean;
  database: string;
  webhook: string | null;
  command: string | null;
  /** Address of the status page; null: the default. */
  listen: string | null;
}

/** Proposed paths; each further instance gets its own. */
export interface Places {
  secretFile: string;
  database: string;
  listen: string | null;
}

const SECRET_VARIABLE = "ERP_BRIDGE_CLIENT_SECRET";
const SECRET_BYTES_MAX = 16_384;
const STDIN_WITHIN_MS = 10_000;
/** Attempts per question, so that an endless input ends. */
const TRIES_MAX = 10;

/** Where an installed service keeps its configuration and data, as in the systemd units. */
export const SERVICE_CONFIG = "/etc/erp-bridge";
const SERVICE_DATA = "/var/lib/erp-bridge";

export function proposedPlaces(configFile: string): Omit<Places, "listen"> {
  const folder = path.dirname(path.resolve(configFile));
  const name = path.basename(configFile, path.extname(configFile));
  const isMain = name === "config";
  const secretFile = path.join(folder, isMain ? "client-secret" : `${name}-client-secret`);
  if (folder !== SERVICE_CONFIG)
    return { secretFile, database: path.join(folder, isMain ? "bridge.db" : `${name}.db`) };
  // An instance of the service may write to its own folder only.
  return { secretFile, database: path.join(SERVICE_DATA, isMain ? "" : name, "bridge.db") };
}

/** Answers that the service refused, and which of them are asked again. */
export interface Retry {
  before: Answers;
  again: "address" | "credentials";
}

/** Asks on a terminal for what the options leave open, and repeats a question after an invalid answer. */
export async function askAnswers(
  terminal: Terminal,
  input: Input,
  options: InitOptions,
  places: Places,
  retry?: Retry,
): Promise<Answers> {
  const { env } = terminal;
  const asker = new Asker(terminal, input);
  const ask = (
    question: Message,
    given: string | undefined,
    problem: (answer: string) => Message | null,
    standard?: string,
  ) => asker.ask({ question, given, problem, standard });
  const given =
    retry === undefined
      ? options
      : {
          ...options,
          ...(retry.again === "address" ? { clientId: retry.before.clientId } : { baseUrl: retry.before.baseUrl }),
        };
  if (retry?.again === "address") delete given.baseUrl;
  if (retry?.again === "credentials") delete given.clientId;
  const baseUrl = await ask(m.init.askAddress, given.baseUrl, (value) => problemOf("service.base_url", value, env));
  const clientId = await ask(m.init.askClientId, given.clientId, (value) => problemOf("service.client_id", value, env));
  if (retry?.again === "address") return { ...retry.before, baseUrl };
  const secret = await asker.secret(options, places);
  if (retry !== undefined) return { ...retry.before, clientId, ...secret };
  const database = await ask(
    m.init.askDatabase({ standard: places.database }),
    options.database,
    (value) => problemOf("database.path", value, env),
    places.database,
  );
  const alert = await ask(
    m.init.askAlerts,
    options.alertWebhook ?? options.alertCommand,
    (value) => alertProblem(value, env),
    "",
  );
  return {
    baseUrl,
    clientId,
    ...secret,
    database: path.resolve(database),
    ...alertOf(alert, options),
    listen: places.listen,
  };
}

function alertOf(answer: string, options: InitOptions): Pick<Answers, "webhook" | "command"> {
  if (options.alertWebhook !== undefined)
    return { webhook: options.alertWebhook, command: options.alertCommand ?? null };
  if (/^https?:/i.test(answer)) return { webhook: answer, command: options.alertCommand ?? null };
  return { webhook: null, command: answer === "" ? null : answer };
}

function alertProblem(value: string, env: NodeJS.ProcessEnv): Message | null {
  if (value === "") return null;
  if (/^https?:/i.test(value)) return problemOf("alerts.webhook", value, env);
  return existsSync(value) ? problemOf("alerts.command", value, env) : m.init.neitherAddressNorProgram;
}

/**
 * The same without questions, from options, the environment and standard input.
 * @throws BridgeError `usage` with everything that is missing or wrong, at once
 */
export async function readAnswers(terminal: Terminal, options: InitOptions, places: Places): Promise<Answers> {
  const { env } = terminal;
  const wrong: Message[] = [];
  const checkOption = (flag: string, value: string | undefined, problem: (value: string) => Message | null) => {
    const what = value === undefined ? m.init.missing : problem(value);
    if (what !== null) wrong.push(m.init.optionProblem({ option: flag, problem: what }));
    return value ?? "";
  };
  const baseUrl = checkOption("--base-url", options.baseUrl, (value) => problemOf("service.base_url", value, env));
  const clientId = checkOption("--client-id", options.clientId, (value) => problemOf("service.client_id", value, env));
  const database = checkOption("--database", options.database ?? places.database, (value) =>
    problemOf("database.path", value, env),
  );
  const { alertWebhook: webhook, alertCommand: command } = options;
  if (webhook !== undefined)
    checkOption("--alert-webhook", webhook, (value) => problemOf("alerts.webhook", value, env));
  if (command !== undefined) checkOption("--alert-command", command, (value) => alertProblem(value, env));
  const secretFile = path.resolve(options.clientSecretFile ?? places.secretFile);
  const found = await findSecret(terminal, secretFile);
  if ("problem" in found) wrong.push(found.problem);
  if (wrong.length > 0 || "problem" in found) {
    throw new BridgeError("usage", m.init.nobodyToAsk({ wrong }), {
      hint: m.init.giveWhatIsMissing({ variable: SECRET_VARIABLE }),
    });
  }
  return {
    baseUrl,
    clientId,
    ...found,
    secretFile,
    database: path.resolve(database),
    webhook: webhook ?? null,
    command: command ?? null,
    listen: places.listen,
  };
}

type FoundSecret = { secret: string; isSecretThere: boolean } | { problem: Message };

async function findSecret(terminal: Terminal, secretFile: string): Promise<FoundSecret> {
  const fromEnv = terminal.env[SECRET_VARIABLE];
  if (fromEnv !== undefined && fromEnv !== "") return checked(fromEnv, SECRET_VARIABLE);
  if (existsSync(secretFile)) {
    const read = readSecretFile(secretFile);
    return "problem" in read
      ? { problem: m.init.secretFileProblem({ problem: read.problem }) }
      : { ...read, isSecretThere: true };
  }
  const piped = await terminal.input?.readAll(SECRET_BYTES_MAX, STDIN_WITHIN_MS);
  const secret = (piped ?? "").replace(/[\r\n]+$/, "");
  return secret === "" ? { problem: m.init.secretMissing } : checked(secret, m.init.pipedSecret);
}

function checked(secret: string, where: string | Message): FoundSecret {
  const problem = secretProblemOf(secret);
  return problem === null
    ? { secret, isSecretThere: false }
    : { problem: m.init.optionProblem({ option: where, problem }) };
}

interface Question {
  question: Message;
  /** From the command line; used without a question where it is valid. */
  given?: string | undefined;
  problem: (answer: string) => Message | null;
  /** Used for an empty answer. */
  standard?: string | undefined;
}

class Asker {
  readonly #terminal: Terminal;
  readonly #input: Input;

  constructor(terminal: Terminal, input: Input) {
    this.#terminal = terminal;
    this.#input = input;
  }

  async ask({ question, given, problem, standard }: Question): Promise<string> {
    let answer = given;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      answer ??= (await this.#input.ask(question)).trim() || (standard ?? "");
      const what = answer === "" && standard === undefined ? m.init.needed : problem(answer);
      if (what === null) return answer;
      this.#terminal.err(m.init.answerProblem({ answer: printable(answer), problem: what }));
      answer = undefined;
    }
    throw tooOften();
  }

  /** Takes the secret from the environment, or offers to keep the one in its file. Typed text is never shown. */
  async secret(
    options: InitOptions,
    places: Places,
  ): Promise<Pick<Answers, "secret" | "secretFile" | "isSecretThere">> {
    const secretFile = path.resolve(options.clientSecretFile ?? places.secretFile);
    const fromEnv = this.#terminal.env[SECRET_VARIABLE];
    if (fromEnv !== undefined && secretProblemOf(fromEnv) === null)
      return { secret: fromEnv, secretFile, isSecretThere: false };
    const read = existsSync(secretFile) ? readSecretFile(secretFile) : undefined;
    const isThere = read !== undefined && "secret" in read;
    const question = isThere ? m.init.askSecretAgain({ file: secretFile }) : m.init.askSecret;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const secret = await this.#input.askSecret(question);
      if (secret === "" && isThere) return { secret: read.secret, secretFile, isSecretThere: true };
      const problem = secretProblemOf(secret);
      if (problem === null) return { secret, secretFile, isSecretThere: false };
      this.#terminal.err(m.init.secretProblem({ problem }));
    }
    throw tooOften();
  }
}

function tooOften(): BridgeError {
  return new BridgeError("usage", m.init.tooOften);
}
