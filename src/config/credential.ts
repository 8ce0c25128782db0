import { statSync } from "node:fs";
import path from "node:path";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import type { LoadedConfig } from "./load.ts";

/** Where the systemd units load the Client Secret from. */
const SERVICE_FOLDER = "/etc/erp-bridge";
/** systemd's copy is slightly younger than its source. */
const CLOCK_STEP_MS = 1_000;

/** The file that systemd copied the secret from, and when. */
export interface HandedOver {
  file: string;
  atMs: number;
}

/** Undefined where this process has its secret from elsewhere. */
export function handedOverSecret(
  { config }: Pick<LoadedConfig, "config">,
  env: NodeJS.ProcessEnv,
  folder = SERVICE_FOLDER,
): HandedOver | undefined {
  const copies = env["CREDENTIALS_DIRECTORY"];
  const copy = config.service.client_secret_file ?? (copies === undefined ? null : path.join(copies, "client-secret"));
  if (copies === undefined || copies === "" || copy === null || path.dirname(copy) !== path.resolve(copies))
    return undefined;
  const atMs = mtimeOf(copy);
  return atMs === undefined ? undefined : { file: path.join(folder, path.basename(copy)), atMs };
}

/**
 * systemd passes a credential when the service starts and never again, so after the secret's file changes a reload
 * still reads the old copy. The file itself may be readable by root only; its time of modification is visible to every
 * user who may search its folder.
 * @returns an error with the remedy where the file is newer than its copy; undefined where the copy is current
 */
export function findStaleCredential(handedOver: HandedOver | undefined): BridgeError | undefined {
  if (handedOver === undefined) return undefined;
  const { file, atMs } = handedOver;
  const written = mtimeOf(file);
  if (written === undefined || written <= atMs + CLOCK_STEP_MS) return undefined;
  return new BridgeError("config_invalid", m.config.staleCredential({ file }), { hint: m.config.restartForCredential });
}

function mtimeOf(file: string): number | undefined {
  try {
    return statSync(file).mtimeMs;
  } catch {
    return undefined;
  }
}
