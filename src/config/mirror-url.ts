import path from "node:path";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { readMirrorUrl } from "./mirror.ts";
import { readSmallFile } from "./small-file.ts";

export interface MirrorSources {
  /** Values of `mirror.shop`, `url` and `url_file`; undefined where they are not written. */
  shop: string | undefined;
  url: string | undefined;
  urlFile: string | undefined;
  configFile: string;
  env: NodeJS.ProcessEnv;
}

export type MirrorUrl =
  | { url: string | null; file: string | null; warnings: Message[] }
  /** `isElsewhere`: another process may have it nevertheless. */
  | { key: "shop" | "url" | "url_file" | null; problem: Message; isElsewhere: boolean };

/** The name under which systemd hands the address over (`LoadCredential=mirror-url:…`). */
const CREDENTIAL = "mirror-url";
const FILE_BYTES_MAX = 16_384;

/** The mirror's address from the one place where it was written, because it holds a password; null where there is no mirror. */
export function resolveMirrorUrl({ shop, url, urlFile, configFile, env }: MirrorSources): MirrorUrl {
  const refuse = (key: "shop" | "url" | "url_file" | null, problem: Message, isElsewhere = false): MirrorUrl => ({
    key,
    problem,
    isElsewhere,
  });
  if (url !== undefined && urlFile !== undefined) return refuse("url", m.config.twoMirrorUrls);
  if (shop === undefined)
    return url === undefined && urlFile === undefined
      ? { url: null, file: null, warnings: [] }
      : refuse(null, m.config.noShopKey);
  if (url !== undefined) {
    const problem = problemOfUrl(url);
    return problem === null ? { url, file: null, warnings: [] } : refuse("url", problem);
  }
  const folder = env["CREDENTIALS_DIRECTORY"];
  const hasCredential = folder !== undefined && folder !== "" && !folder.includes("\0");
  const file =
    urlFile !== undefined
      ? path.resolve(path.dirname(configFile), urlFile)
      : hasCredential
        ? path.join(folder, CREDENTIAL)
        : undefined;
  if (file === undefined) return refuse(null, m.config.noMirrorUrl, true);
  const key = urlFile === undefined ? null : "url_file";
  const read = readSmallFile(file, FILE_BYTES_MAX);
  if ("problem" in read) {
    const problem =
      key === null
        ? m.config.credentialUnreadable({ credential: CREDENTIAL, problem: read.problem })
        : m.config.fileUnreadable({ problem: read.problem });
    return refuse(key, problem, read.code === "EACCES" || key === null);
  }
  const text = read.bytes.toString("utf8").trim();
  const problem = problemOfUrl(text);
  if (problem !== null) return refuse(key, m.config.fileUnreadable({ problem }));
  const isOpen = (read.mode & 0o004) !== 0;
  return { url: text, file: key === null ? null : file, warnings: isOpen ? [m.config.openMirrorUrl] : [] };
}

function problemOfUrl(url: string): Message | null {
  const target = readMirrorUrl(url);
  return "problem" in target ? target.problem : null;
}
