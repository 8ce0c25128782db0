import { pino } from "pino";
import { inertText } from "../messages/inert-text.ts";
import { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { standardErrorStream } from "./log-stream.ts";
import { type Paint, plain, type Style } from "./paint.ts";
import type { Log } from "./ports.ts";
import { secretFilter } from "./secrets.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** syslog priorities, which journald reads from `<N>` at the start of a line. */
const PRIORITY: Record<string, number> = { debug: 7, info: 6, warn: 4, error: 3 };
const WARN = 40;
const LEVEL_NAMES: Record<number, LogLevel> = { 20: "debug", 30: "info", 40: "warn", 50: "error" };

export interface LoggerOptions {
  level: LogLevel;
  /** Applied to each finished line, so that no secret leaves the process inside a message. */
  hideSecrets: (text: string) => string;
  /**
   * Where lines go; by default standard error, without blocking. Synchronous, so that the last line before a crash is
   * written.
   */
  write?: (line: string) => void;
  /** `journal`: `<N>` and the message first; `json`: one object a line; `text`: for a terminal. */
  form: "journal" | "json" | "text";
  /** Colours names of levels in the `text` form. */
  paint?: Paint;
  /** Renders a message in the user's language; fields and `json` lines stay English. */
  say?: (text: string | Message) => string;
}

/** `journal` under systemd, `text` on a terminal, else `json`. */
export function logForm(env: NodeJS.ProcessEnv, isTerminal: boolean): LoggerOptions["form"] {
  if (env["JOURNAL_STREAM"] !== undefined) return "journal";
  return isTerminal ? "text" : "json";
}

export function createLogger(options: LoggerOptions): Log {
  const { say = String } = options;
  const stream = options.write === undefined ? standardErrorStream() : undefined;
  const write = options.write ?? ((line: string) => stream?.write(line));
  const finished = (line: string) => options.hideSecrets(shape(line, options));
  const destination = {
    write: (line: string) => {
      try {
        write(finished(line));
      } catch {
        // A closed standard error must not end the program.
      }
    },
  };
  stream?.onDropped((count) => {
    const text = m.platform.linesDropped({ count });
    const words = options.form === "json" ? { msg: `${text}`, message: text.id } : { msg: say(text) };
    return finished(`${JSON.stringify({ level: WARN, time: new Date().toISOString(), lines: count, ...words })}\n`);
  });
  const lines = pino({ level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  const at = (level: LogLevel) => (fields: object, text: string | Message) => {
    if (!lines.isLevelEnabled(level)) return;
    if (options.form === "json")
      lines[level](typeof text === "string" ? fields : { ...fields, message: text.id }, `${text}`);
    else lines[level](inWords(fields, say), say(text));
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** The fields, with messages among them rendered as text. */
function inWords(fields: object, say: (message: Message) => string): object {
  const entries = Object.entries(fields);
  if (!entries.some(([, value]) => value instanceof Message)) return fields;
  return Object.fromEntries(entries.map(([key, value]) => [key, value instanceof Message ? say(value) : value]));
}

const STYLES: Partial<Record<LogLevel, Style>> = { debug: "faint", warn: "warning", error: "error" };

function shape(line: string, { form, paint = plain }: LoggerOptions): string {
  if (form === "json") return inertText(line);
  const { level, time, msg, ...fields } = JSON.parse(line) as { level: number; time: string; msg: string };
  const name = LEVEL_NAMES[level] ?? "info";
  const details = Object.entries(fields)
    .map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");
  const lines = (details === "" ? msg : `${msg} (${details})`).split("\n").map(inert);
  // journald reads a priority from each line.
  const head =
    form === "journal" ? `<${PRIORITY[name]}>` : `${paint("faint", time.slice(11, 19))} ${levelName(name, paint)} `;
  return lines.map((line) => `${head}${line}\n`).join("");
}

function levelName(level: LogLevel, paint: Paint): string {
  const style = STYLES[level];
  const name = level.padEnd(5);
  return style === undefined ? name : paint(style, name);
}

/**
 * Replaces control and format characters: foreign text could move the cursor, ring the bell or hide the rest of the
 * line.
 */
function inert(line: string): string {
  return line.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, " ");
}

/** For a command run by a person: `warn` and above, as text, on standard error. */
export function createTerminalLog(
  config: { service: { client_id: string; client_secret: string } },
  terminal: { err(text: string, kind?: "as it is"): void; say?: LoggerOptions["say"] },
): Log {
  return createLogger({
    level: "warn",
    form: "text",
    hideSecrets: secretFilter(config.service.client_id, config.service.client_secret),
    write: (line) => terminal.err(line.trimEnd(), "as it is"),
    ...(terminal.say === undefined ? {} : { say: terminal.say }),
  });
}
