import { isIPv4, isIPv6 } from "node:net";
import * as z from "zod";
import { text, worded } from "./kinds.ts";

/** Where requests go and where the program listens. Nothing here may lead a request to another host than the one named. */

export interface Listen {
  host: string;
  port: number;
}

function parseUrl(value: string): URL | null {
  return URL.canParse(value) ? new URL(value) : null;
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

function baseUrlProblem(value: string): string | null {
  const url = parseUrl(value);
  if (url === null || /\s/.test(value)) return "is not an address such as https://api.example.com";
  if (url.protocol !== "https:" && url.protocol !== "http:") return "must begin with https://";
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    return "must begin with https:// (http would show the credentials to the network; it is for loopback only)";
  }
  if (url.username !== "" || url.password !== "") return "must hold no credentials; they have keys of their own";
  if (value.includes("?") || value.includes("#")) return "must hold no query and no fragment";
  return null;
}

/** The service's address without a trailing slash. */
export function baseUrl() {
  const schema = text(500).transform((value, context) => {
    const problem = baseUrlProblem(value);
    if (problem === null) return new URL(value).href.replace(/\/+$/, "");
    context.addIssue({ code: "custom", message: problem });
    return z.NEVER;
  });
  return worded(schema, "an https address");
}

/** An address of the administrator's own, called only with what the bridge says about itself. May hold a token. */
export function outsideUrl() {
  const schema = text(2000).refine((value) => /^https?:$/.test(parseUrl(value)?.protocol ?? ""), {
    error: "is not an address that begins with https:// or http://",
  });
  return worded(schema, "an http or https address", "token-url");
}

/** `env`, or the address of a proxy, which may hold its credentials; null: none. */
export function proxy() {
  const schema = text(500)
    .refine((value) => value === "env" || /^https?:$/.test(parseUrl(value)?.protocol ?? ""), {
      error: "is neither env nor an address such as http://proxy.example:3128",
    })
    .nullable();
  return worded(schema, "env, an http or https address, or null", "token-url");
}

const REQUEST_PATH = /^\/(?!\/)[A-Za-z0-9._~!$&'()*+,;=:@%/{}-]*(\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?$/;

/** Steps that a server or a URL parser would climb up with, also in their percent-encoded forms. */
function climbs(path: string): boolean {
  return path.split(/[/?]/).some((step) => step.replace(/%2e/gi, ".").includes("..") || /^(\.|%2e)$/i.test(step));
}

function requestPathProblem(value: string): string | null {
  if (!value.startsWith("/")) return "must begin with /";
  if (climbs(value)) return "must hold no ..";
  return REQUEST_PATH.test(value) ? null : "is not a path such as /api/v1/import/stocks";
}

/** A path below `base_url`. `placeholders`: those it must name, each exactly once. */
export function requestPath(placeholders: readonly string[] = []) {
  const schema = text(500).superRefine((value, context) => {
    const problem = requestPathProblem(value) ?? placeholderProblem(value, placeholders);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  });
  return worded(schema, "a path below base_url");
}

function placeholderProblem(value: string, placeholders: readonly string[]): string | null {
  const missing = placeholders.find((placeholder) => value.split(`{${placeholder}}`).length !== 2);
  if (missing !== undefined) return `must name {${missing}} once`;
  const rest = placeholders.reduce((left, placeholder) => left.replace(`{${placeholder}}`, ""), value);
  if (!/[{}]/.test(rest)) return null;
  return placeholders.length === 0 ? "must hold no braces" : `may name nothing but {${placeholders.join("}, {")}}`;
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
    if (parsed === null)
      context.addIssue({ code: "custom", message: "must be host:port, for example 127.0.0.1:9469, or off" });
    else if (!isLoopback(parsed.host)) {
      context.addIssue({
        code: "custom",
        message:
          "must be a loopback address such as 127.0.0.1 (the page asks nobody who they are; put a proxy before it)",
      });
    }
    return parsed;
  });
  return worded(schema, "host:port of loopback, or off", "listen");
}

export function formatListen(value: Listen | null): string {
  if (value === null) return "off";
  return isIPv6(value.host) ? `[${value.host}]:${value.port}` : `${value.host}:${value.port}`;
}
