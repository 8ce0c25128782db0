import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { type CredentialSources, readCredential } from "./credentials.ts";
import { readMirrorUrl } from "./mirror.ts";

export type MirrorUrl =
  | { url: string | null; file: string | null; warnings: Message[] }
  | {
      key: "shop" | "url" | "url_file" | null;
      problem: Message;
      isElsewhere: boolean;
      /** The fault is in the named file, which another administrator provides, not in the configuration. */
      isOfFile?: boolean;
    };

/**
 * Resolves the mirror's address, which holds a password; the credential is `mirror-url`. Null where there is no mirror.
 */
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
  const isOfFile = true;
  if (read === undefined) return { key: null, problem: m.config.noMirrorUrl, isElsewhere: true, isOfFile };
  if ("problem" in read) return { key, problem: read.problem, isElsewhere: read.isForbidden || key === null, isOfFile };
  const url = read.text.trim();
  const problem = problemOfUrl(url);
  if (problem !== null) return { key, problem: m.config.fileUnreadable({ problem }), isElsewhere: false, isOfFile };
  const { file, openFile } = read;
  return { url, file, warnings: openFile === null ? [] : [m.config.openMirrorUrl({ file: openFile })] };
}

function problemOfUrl(url: string): Message | null {
  const target = readMirrorUrl(url);
  return "problem" in target ? target.problem : null;
}
