import path from "node:path";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { readMirrorUrl } from "./mirror.ts";
import { readSmallFile } from "./small-file.ts";

/*
 * The Client Secret and the mirror's address, which holds a password: each from the one place where it was written. No message
 * holds any part of them.
 */

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
  /** Another process may have it nevertheless: the file is somebody else's, or systemd hands it over. */
  isElsewhere?: boolean;
}

export type Secret = { secret: string; file: string | null; warnings: Message[] } | SecretProblem;

export type MirrorUrl =
  | { url: string | null; file: string | null; warnings: Message[] }
  | { key: "shop" | "url" | "url_file" | null; problem: Message; isElsewhere: boolean };

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

/** The mirror's address, handed over as `mirror-url`; null where there is no mirror. */
export function resolveMirrorUrl({
  shop,
  inline,
  ...sources
}: CredentialSources & { shop: string | undefined }): MirrorUrl {
  const { namedFile } = sources;
  if (inline !== undefined && namedFile !== undefined)
    return { key: "url", problem: m.config.twoMirrorUrls, isElsewhere: false };
  if (shop === undefined)
    return inline === undefined && namedFile === undefined
      ? { url: null, file: null, warnings: [] }
      : { key: null, problem: m.config.noShopKey, isElsewhere: false };
  if (inline !== undefined) {
    const problem = problemOfUrl(inline);
    return problem === null ? { url: inline, file: null, warnings: [] } : { key: "url", problem, isElsewhere: false };
  }
  const key = namedFile === undefined ? null : "url_file";
  const read = readCredential("mirror-url", sources);
  if (read === undefined) return { key: null, problem: m.config.noMirrorUrl, isElsewhere: true };
  if ("problem" in read) return { key, problem: read.problem, isElsewhere: read.isForbidden || key === null };
  const url = read.text.trim();
  const problem = problemOfUrl(url);
  if (problem !== null) return { key, problem: m.config.fileUnreadable({ problem }), isElsewhere: false };
  return { url, file: read.file, warnings: read.isOpen ? [m.config.openMirrorUrl] : [] };
}

function problemOfUrl(url: string): Message | null {
  const target = readMirrorUrl(url);
  return "problem" in target ? target.problem : null;
}

interface ReadCredential {
  text: string;
  /** Null where systemd handed it over. */
  file: string | null;
  /** Everybody on this machine may read it. */
  isOpen: boolean;
  about: (problem: Message) => Message;
}

/** From the file that is named, or from systemd's under this name; undefined where there is neither. */
function readCredential(
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
