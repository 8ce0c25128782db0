import path from "node:path";
import type { SeenConfig } from "../config/accepted.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { secretFilter } from "../platform/secrets.ts";
import type { Call } from "./command.ts";

/* How a command was called, and how others are to be typed in the same place. */

const FOLDER = "/etc/erp-bridge";
const INSTANCE = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** The configuration file that a call means. */
export function configFileOf(options: { config?: string; instance?: string }, env: NodeJS.ProcessEnv): string {
  if (options.config !== undefined && options.instance !== undefined) {
    throw new BridgeError("usage", m.command.configOrInstance);
  }
  if (options.config !== undefined) return options.config;
  if (options.instance !== undefined) {
    if (!INSTANCE.test(options.instance)) throw new BridgeError("usage", m.command.instanceName);
    return `${FOLDER}/${options.instance}.yaml`;
  }
  return env["ERP_BRIDGE_CONFIG"] ?? `${FOLDER}/config.yaml`;
}

/** From here on in the configuration's language, and without its secret. */
export function speakAs({ terminal }: Call, { language, service }: Pick<SeenConfig, "language" | "service">): void {
  terminal.speak?.(language);
  terminal.hide?.(secretFilter(service.client_id, service.client_secret));
}

const INSTANCE_FILE = new RegExp(`^${FOLDER}/([A-Za-z0-9][A-Za-z0-9._-]*)\\.yaml$`);

/** The option for a file as it is typed in a shell; nothing for the place that is looked at by itself. */
export function configFlag(file: string): string {
  if (file === `${FOLDER}/config.yaml`) return "";
  const [, instance] = INSTANCE_FILE.exec(file) ?? [];
  if (instance !== undefined) return ` --instance ${instance}`;
  return ` --config ${/^[\w./@%+=:,-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`}`;
}

/** The units read what lies in one folder; with another file the daemon was, and is, started by hand. */
export function isByHand({ configFile, terminal }: Pick<Call, "configFile" | "terminal">): boolean {
  return terminal.env["ERP_BRIDGE_CONFIG"] !== configFile && path.dirname(path.resolve(configFile)) !== FOLDER;
}

/** A command as it is to be typed for the configuration of this call: with its option, or for the unit of its instance. */
export function asTyped(command: string, call: Pick<Call, "configFile" | "terminal">): string {
  const { configFile, terminal } = call;
  if (terminal.env["ERP_BRIDGE_CONFIG"] === configFile) return command;
  if (command.startsWith("erp-bridge ")) return `${command}${configFlag(configFile)}`;
  if (isByHand(call) && /^systemctl (start|restart|enable --now) erp-bridge$/.test(command))
    return `erp-bridge run${configFlag(configFile)}`;
  const [, instance] = INSTANCE_FILE.exec(configFile) ?? [];
  return instance === undefined || configFlag(configFile) === ""
    ? command
    : command.replace(/\berp-bridge$/, `erp-bridge@${instance}`);
}
