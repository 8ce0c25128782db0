/*
 * The configuration that a command is called with, and how other commands are typed for it.
 */

import path from "node:path";
import type { SeenConfig } from "../config/accepted.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { secretFilter } from "../platform/secrets.ts";
import type { Call } from "./command.ts";

const FOLDER = "/etc/erp-bridge";
const INSTANCE = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** The configuration file of a call. */
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

/** Switches the terminal to the configuration's language, and hides its secret in all output. */
export function speakAs({ terminal }: Call, { language, service }: Pick<SeenConfig, "language" | "service">): void {
  terminal.speak?.(language);
  terminal.hide?.(secretFilter(service.client_id, service.client_secret));
}

const INSTANCE_FILE = new RegExp(`^${FOLDER}/([A-Za-z0-9][A-Za-z0-9._-]*)\\.yaml$`);

/** The option that selects a file, quoted for a shell; empty for the default file. */
export function configFlag(file: string): string {
  if (file === `${FOLDER}/config.yaml`) return "";
  const [, instance] = INSTANCE_FILE.exec(file) ?? [];
  if (instance !== undefined) return ` --instance ${instance}`;
  return ` --config ${/^[\w./@%+=:,-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`}`;
}

/** Whether the daemon is started by hand: the systemd units read configurations of one folder only. */
export function isByHand({ configFile, terminal }: Pick<Call, "configFile" | "terminal">): boolean {
  return terminal.env["ERP_BRIDGE_CONFIG"] !== configFile && path.dirname(path.resolve(configFile)) !== FOLDER;
}

/**
 * A command as it is typed for the configuration of this call: with its option, or for its instance's unit.
 * @param pid the daemon that a restart ends first, where no unit does
 */
export function asTyped(command: string, call: Pick<Call, "configFile" | "terminal">, pid?: number): string {
  const { configFile, terminal } = call;
  if (terminal.env["ERP_BRIDGE_CONFIG"] === configFile) return command;
  if (command.startsWith("erp-bridge ")) return `${command}${configFlag(configFile)}`;
  if (isByHand(call) && /^systemctl (start|restart|enable --now) erp-bridge$/.test(command)) {
    const ends = pid !== undefined && command.includes(" restart ") ? `kill -9 ${pid}; ` : "";
    return `${ends}erp-bridge run${configFlag(configFile)}`;
  }
  const [, instance] = INSTANCE_FILE.exec(configFile) ?? [];
  return instance === undefined || configFlag(configFile) === ""
    ? command
    : command.replace(/\berp-bridge$/, `erp-bridge@${instance}`);
}
