import { X509Certificate } from "node:crypto";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { type MirrorTarget, readMirrorUrl } from "./mirror.ts";
import type { Config } from "./schema.ts";
import { readSmallFile } from "./small-file.ts";

/**
 * How the service is reached, and which certificate authorities are trusted in addition to the usual ones.
 * @throws BridgeError `config_invalid` where service.ca_file holds no certificates
 */
export function routeOf({ service }: Pick<Config, "service">): { proxy: string | null; authorities: string[] } {
  return { proxy: service.proxy, authorities: authoritiesOf(service.ca_file) };
}

/**
 * Where the mirror is, and which certificate authorities are trusted in addition to the usual ones; undefined where
 * there is no mirror.
 * @throws BridgeError `config_invalid` where mirror.ca_file holds no certificates
 */
export function mirrorRouteOf({
  mirror,
}: Pick<Config, "mirror">): { target: MirrorTarget; shop: string; authorities: string[] } | undefined {
  if (mirror.url === null || mirror.shop === null) return undefined;
  const target = readMirrorUrl(mirror.url);
  if ("problem" in target) return undefined;
  return { target, shop: mirror.shop, authorities: authoritiesOf(mirror.ca_file) };
}

const CA_BYTES_MAX = 1_000_000;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * The certificates in a PEM file; empty where none is named.
 * @throws BridgeError `config_invalid` where the file cannot be read or holds no certificate
 */
export function authoritiesOf(file: string | null): string[] {
  if (file === null) return [];
  const read = readSmallFile(file, CA_BYTES_MAX);
  const found = "problem" in read ? [] : (read.bytes.toString("latin1").match(CERTIFICATE) ?? []);
  if (found.length > 0 && found.every(isCertificate)) return found;
  const message =
    "problem" in read
      ? m.config.authoritiesUnreadable({ file, problem: read.problem })
      : m.config.noCertificate({ file });
  throw new BridgeError("config_invalid", message, { hint: m.config.askForCertificate });
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).subject !== "";
  } catch {
    return false;
  }
}
