import path from "node:path";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { readSmallFile } from "./small-file.ts";

/* The Client Secret, and how what is as secret is read: from the one place where it was written. No message holds any part of it. */

/** Where one of them may stand; undefined where a key is not written. */
export interface CredentialSources {
  /** The value itself. */
  inline: string | undefined;
  /** Value of the key that names a file, relative to the configuration file. */
  namedFile: string | undefined;
  configFile: string;
  env: NodeJS.ProcessEnv;
}

interface SecretProblem {
  key: "client_secret" | "client_secret_file" | null;
  problem: Message;
  /** Another process may have it nevertheless: the file is another user's, or systemd hands it over. */
  isElsewhere?: boolean;
}

export type Secret = { secret: string; file: string | null; warnings: Message[] } | SecretProblem;

const FILE_BYTES_MAX = 16_384;
/** Shorter ones could not be blanked out of foreign text without blanking out ordinary words. */
const LENGTH_MIN = 4;
const LENGTH_MAX = 4000;

/** The Client Secret. systemd hands it over as `LoadCredential=client-secret:…`. */
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
  // Editors end a file with a line break; whatever else surrounds the secret was put there on purpose or by mistake.
  const secret = read.text.replace(/[\r\n]+$/, "");
  const problem = secretProblem(secret);
  if (problem !== null) return { key, isElsewhere: false, problem: read.about(problem) };
  return { secret, file: read.file, warnings: read.isOpen ? [m.config.openSecretFile] : [] };
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
  /** Null where systemd handed it over. */
  file: string | null;
  /** Every user of this machine may read it. */
  isOpen: boolean;
  about: (problem: Message) => Message;
}

/** From the file that is named, or from systemd's under this name; undefined where there is neither. */
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
  const isOpen = (read.mode & 0o004) !== 0;
  return { text: read.bytes.toString("utf8"), file: namedFile === undefined ? null : file, isOpen, about };
}
