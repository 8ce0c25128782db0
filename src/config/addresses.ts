/*
 * Addresses of the service and of the program's own listener. No value may redirect a request to a host other than the
 * named one.
 */

import { isIPv4, isIPv6 } from "node:net";
import * as z from "zod";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { checked, refuse, saying, text, worded } from "./kinds.ts";

export interface Listen {
  host: string;
  port: number;
}

function parseUrl(value: string): URL | null {
  return URL.canParse(value) ? new URL(value) : null;
}

export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

function baseUrlProblem(value: string): Message | null {
  const url = parseUrl(value);
  if (url === null || /\s/.test(value)) return m.config.notAddress;
  if (url.protocol !== "https:" && url.protocol !== "http:") return m.config.notHttps;
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    return m.config.plainHttp;
  }
  if (url.username !== "" || url.password !== "") return m.config.credentialsInAddress;
  if (value.includes("?") || value.includes("#")) return m.config.queryInAddress;
  return null;
}

/** The service's address without a trailing slash. */
export function baseUrl() {
  const schema = text(500).transform((value, context) => {
    const problem = baseUrlProblem(value);
    if (problem === null) return new URL(value).href.replace(/\/+$/, "");
    refuse(context, { what: problem });
    return z.NEVER;
  });
  return worded(schema, m.kinds.httpsAddress);
}

/** An address of the administrator's own; it is sent only facts about the bridge itself. May hold a token. */
export function outsideUrl() {
  const isHttp = (value: string) => /^https?:$/.test(parseUrl(value)?.protocol ?? "");
  const schema = checked(2000, z.refine(isHttp, saying(m.config.notHttpAddress)));
  return worded(schema, m.kinds.httpAddress, "token-url");
}

/** `env`, or the address of a proxy, which may hold credentials; null means no proxy. */
export function proxy() {
  const isProxy = (value: string) => value === "env" || /^https?:$/.test(parseUrl(value)?.protocol ?? "");
  const schema = checked(500, z.refine(isProxy, saying(m.config.notProxy))).nullable();
  return worded(schema, m.kinds.proxy, "token-url");
}

const REQUEST_PATH = /^\/(?!\/)[A-Za-z0-9._~!$&'()*+,;=:@%/{}-]*(\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?$/;

/** Whether a step is `.` or contains `..`, percent-encoded or not: a server or a URL parser would resolve it. */
function climbs(path: string): boolean {
  return path.split(/[/?]/).some((step) => step.replace(/%2e/gi, ".").includes("..") || /^(\.|%2e)$/i.test(step));
}

function requestPathProblem(value: string): Message | null {
  if (!value.startsWith("/")) return m.config.noLeadingSlash;
  if (climbs(value)) return m.config.climbingPath;
  return REQUEST_PATH.test(value) ? null : m.config.notRequestPath;
}

/** A path below `base_url`. Each of `placeholders` must occur exactly once. */
export function requestPath(placeholders: readonly string[] = []) {
  const schema = checked(
    500,
    z.superRefine((value, context) => {
      const problem = requestPathProblem(value) ?? placeholderProblem(value, placeholders);
      if (problem !== null) refuse(context, { what: problem });
    }),
  );
  return worded(schema, m.kinds.requestPath);
}

function placeholderProblem(value: string, placeholders: readonly string[]): Message | null {
  const missing = placeholders.find((placeholder) => value.split(`{${placeholder}}`).length !== 2);
  if (missing !== undefined) return m.config.placeholderMissing({ placeholder: missing });
  const rest = placeholders.reduce((left, placeholder) => left.replace(`{${placeholder}}`, ""), value);
  if (!/[{}]/.test(rest)) return null;
  return placeholders.length === 0 ? m.config.braces : m.config.otherPlaceholder({ names: placeholders });
}

function parseListen(value: string): Listen | null {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:\s]+)):(\d{1,5})$/.exec(value) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) return null;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : null;
  return plain !== undefined && /^[A-Za-z0-9.-]+$/.test(plain) ? { host: plain, port } : null;
}

/** `host:port` on loopback, or `off`, which becomes null. */
export function listen() {
  const schema = text(300).transform((value, context): Listen | null => {
    if (value === "off") return null;
    const parsed = parseListen(value);
    if (parsed === null) refuse(context, { what: m.config.notListen });
    else if (!isLoopback(parsed.host)) {
      refuse(context, { what: m.config.notLoopback });
    }
    return parsed;
  });
  return worded(schema, m.kinds.listen, "listen");
}

export function formatListen(value: Listen | null): string {
  if (value === null) return "off";
  return isIPv6(value.host) ? `[${value.host}]:${value.port}` : `${value.host}:${value.port}`;
}
