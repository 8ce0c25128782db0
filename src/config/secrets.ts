import path from "node:path";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { readSmallFile } from "./small-file.ts";

export interface SecretSources {
  /** The value itself, undefined where it is not written. */
  inline: string | undefined;
  /** Value of the key that names a file, relative to the configuration file. */
  namedFile: string | undefined;
  configFile: string;
  env: NodeJS.ProcessEnv;
}

interface SecretProblem {
  key: "client_secret" | "client_secret_file" | null;
  problem: Message;
  /** Another process may have it nevertheless: the file is somebody else's, or systemd hands it over. */
  isElsewhere?: boolean;
}

export type Secret = { secret: string; file: string | null; warnings: Message[] } | SecretProblem;

/** The name under which systemd hands the secret over (`LoadCredential=client-secret:…`). */
const CREDENTIAL = "client-secret";
const FILE_BYTES_MAX = 16_384;
/** Shorter ones could not be blanked out of foreign text without blanking out ordinary words. */
const LENGTH_MIN = 4;
const LENGTH_MAX = 4000;

const OPEN_TO_ALL = m.config.openSecretFile;

/** The Client Secret from the one place where it was written. No message holds any part of it. */
export function resolveSecret({ inline, namedFile, configFile, env }: SecretSources): Secret {
  if (inline !== undefined && namedFile !== undefined) {
    return { key: "client_secret", problem: m.config.twoSecrets };
  }
  if (inline !== undefined) {
    const problem = secretProblem(inline);
    return problem === null ? { secret: inline, file: null, warnings: [] } : { key: "client_secret", problem };
  }
  if (namedFile !== undefined) {
    return readSecret(path.resolve(path.dirname(configFile), namedFile), "client_secret_file");
  }
  const folder = env["CREDENTIALS_DIRECTORY"];
  if (folder !== undefined && folder !== "" && !folder.includes("\0")) {
    const found = readSecret(path.join(folder, CREDENTIAL), null);
    return "secret" in found ? { ...found, file: null } : found;
  }
  return {
    key: null,
    isElsewhere: true,
    problem: m.config.noSecret,
  };
}

function secretProblem(secret: string): Message | null {
  if (secret === "") return m.config.empty;
  if (secret.length < LENGTH_MIN || secret.length > LENGTH_MAX) {
    return m.config.secretLength({ lengthMin: LENGTH_MIN, lengthMax: LENGTH_MAX });
  }
  if (!/^[\x20-\x7e]+$/.test(secret)) return m.config.secretCharacter;
  return secret.trim() === secret ? null : m.config.secretSpace;
}

function readSecret(file: string, key: SecretProblem["key"]): Secret {
  const refuse = (problem: Message, code?: string): SecretProblem => ({
    key,
    isElsewhere: code === "EACCES",
    problem:
      key === null
        ? m.config.credentialUnreadable({ credential: CREDENTIAL, problem })
        : m.config.fileUnreadable({ problem }),
  });
  const read = readSmallFile(file, FILE_BYTES_MAX);
  if ("problem" in read) return refuse(read.problem, read.code);
  // Editors end a file with a line break; whatever else surrounds the secret was put there on purpose or by mistake.
  const secret = read.bytes.toString("utf8").replace(/[\r\n]+$/, "");
  const problem = secretProblem(secret);
  if (problem !== null) return refuse(problem);
  const open = (read.mode & 0o004) !== 0;
  return { secret, file, warnings: open ? [OPEN_TO_ALL] : [] };
}
