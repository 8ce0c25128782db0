/* Explains a failed TLS handshake to a shop's network administrator. */

import { connect } from "node:tls";
import { shortWords } from "../messages/inert-text.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

const LOOK_WITHIN_MS = 5_000;

const UNKNOWN_AUTHORITY = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_UNTRUSTED",
]);
const OUT_OF_DATE = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]);
const OTHER_NAME = "ERR_TLS_CERT_ALTNAME_INVALID";

export interface ShownCertificate {
  subject: string;
  issuer: string;
  validFrom: string;
  validTo: string;
}

/** For a certificate that cannot be fetched, as behind a proxy. */
const UNSEEN: ShownCertificate = { subject: "?", issuer: "?", validFrom: "?", validTo: "?" };

/** Whether the error is about a certificate, not the connection. */
export function isCertificateFault(code: string): boolean {
  return UNKNOWN_AUTHORITY.has(code) || OUT_OF_DATE.has(code) || code === OTHER_NAME;
}

/** What is wrong with the certificate, and a hint; for codes of {@link isCertificateFault}. */
export function describeCertificateFault(
  code: string,
  shown: ShownCertificate | undefined,
): { what: Message; hint: Message } {
  const { subject, issuer, validFrom, validTo } = shown ?? UNSEEN;
  if (code === OTHER_NAME) {
    return { what: m.service.otherNamesCertificate({ subject }), hint: m.service.fixBaseUrl };
  }
  if (OUT_OF_DATE.has(code)) {
    return { what: m.service.certificateOutOfDate({ subject, validFrom, validTo }), hint: m.service.compareClock };
  }
  return { what: m.service.unknownAuthority({ subject, issuer }), hint: m.service.setCaFile };
}

/** Fetches the certificate of an address over a separate connection without a request: the failed handshake does not provide it. */
export function lookAtCertificate({ hostname, port }: URL): Promise<ShownCertificate | undefined> {
  const host = hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve) => {
    const options = { host, port: Number(port) || 443, rejectUnauthorized: false };
    const socket = connect(/^[\d.:]+$/.test(host) ? options : { ...options, servername: host }, () => {
      const { subject, issuer, valid_from: validFrom, valid_to: validTo } = socket.getPeerCertificate();
      socket.destroy();
      resolve(
        subject === undefined ? undefined : { subject: nameOf(subject), issuer: nameOf(issuer), validFrom, validTo },
      );
    });
    socket.setTimeout(LOOK_WITHIN_MS, () => socket.destroy());
    socket.on("error", () => resolve(undefined));
    socket.on("close", () => resolve(undefined));
  });
}

function nameOf(name: object | undefined): string {
  const parts = Object.entries(name ?? {}).map(([key, value]) => `${key}=${String(value)}`);
  return shortWords(parts.join(", "));
}
