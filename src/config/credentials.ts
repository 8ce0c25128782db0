/*
 * Resolves the Client Secret and other credentials from exactly one source. No message contains any part of one.
 */

import path from "node:path";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { readSmallFile } from "./small-file.ts";

/** Possible sources of a credential; undefined where a key is not set. */
export interface CredentialSources {
  /** The value itself. */
  inline: string | undefined;
  /** The key that names a file, relative to the configuration file. */
  namedFile: string | undefined;
  configFile: string;
  env: NodeJS.ProcessEnv;
}

interface SecretProblem {
  key: "client_secret" | "client_secret_file" | null;
  problem: Message;
  /** Another process may be able to read it: the file belongs to another user, or systemd passes it. */
  isElsewhere?: boolean;
}

export type Secret = { secret: string; file: string | null; warnings: Message[] } | SecretProblem;

const FILE_BYTES_MAX = 16_384;
/** Replacing shorter ones in foreign text would blank out ordinary words. */
const LENGTH_MIN = 4;
const LENGTH_MAX = 4000;

/** Resolves the Client Secret. systemd passes it as `LoadCredential=client-secret:…`. */
export function resolveSecret({ inline, ...sources }: CredentialSources): Secret {
  if (inline !== undefined && sources.namedFile !== undefined)
    return { key: "client_secret", problem: m.config.twoSecrets };
  if (inline !== undefined) {
    const problem = secretProblem(inline);
    return problem === null ? { secret: inline, file: null, warnings: [] } : { key: "client_secret", problem };
  }
  const key = sources.namedFile === undefined ? null : "client_secret_file";
  const read = readCredential("client-secret", sources);
  if (read === undefined) return { key: null, isElsewhere: true, problem: m.config.noSecret };
  if ("problem" in read) return { key, isElsewhere: read.isForbidden, problem: read.problem };
  // Editors end a file with a line break. Other surrounding white space may be intended and is reported.
  const secret = read.text.replace(/[\r\n]+$/, "");
  const problem = secretProblem(secret);
  if (problem !== null) return { key, isElsewhere: false, problem: read.about(problem) };
  const { file, openFile } = read;
  return { secret, file, warnings: openFile === null ? [] : [m.config.openSecretFile({ file: openFile })] };
}

function secretProblem(secret: string): Message | null {
  if (secret === "") return m.config.empty;
  if (secret.length < LENGTH_MIN || secret.length > LENGTH_MAX) {
    return m.config.secretLength({ lengthMin: LENGTH_MIN, lengthMax: LENGTH_MAX });
  }
  if (!/^[\x20-\x7e]+$/.test(secret)) return m.config.secretCharacter;
  return secret.trim() === secret ? null : m.config.secretSpace;
}

interface ReadCredential {
  text: string;
  /** Null where systemd passed it. */
  file: string | null;
  /** Its path where every user of this machine may read it, else null. */
  openFile: string | null;
  about: (problem: Message) => Message;
}

/** Reads the named file, or systemd's credential of this name; undefined where there is neither. */
export function readCredential(
  credential: string,
  { namedFile, configFile, env }: Omit<CredentialSources, "inline">,
): ReadCredential | { problem: Message; isForbidden: boolean } | undefined {
  const folder = env["CREDENTIALS_DIRECTORY"] ?? "";
  if (namedFile === undefined && (folder === "" || folder.includes("\0"))) return undefined;
  const about = (problem: Message) =>
    namedFile === undefined
      ? m.config.credentialUnreadable({ credential, problem })
      : m.config.fileUnreadable({ problem });
  const file =
    namedFile === undefined ? path.join(folder, credential) : path.resolve(path.dirname(configFile), namedFile);
  const read = readSmallFile(file, FILE_BYTES_MAX);
  if ("problem" in read) return { problem: about(read.problem), isForbidden: read.code === "EACCES" };
  const openFile = (read.mode & 0o004) === 0 ? null : file;
  return { text: read.bytes.toString("utf8"), file: namedFile === undefined ? null : file, openFile, about };
}
