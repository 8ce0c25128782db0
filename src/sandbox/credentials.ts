import { answerText, type Plan, refuse, type SandboxRequest } from "./messages.ts";
import type { SandboxOptions } from "./options.ts";
import type { Area } from "./routes.ts";

/** The credentials that both areas accept. */
export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

function basicPair(header: string | undefined): string | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+=*) *$/i.exec(header ?? "") ?? [];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8");
}

/**
 * The refusal of a request without valid credentials, or undefined. Imports accept only X-Client-ID and
 * X-Client-Secret, the 1C endpoints only HTTP Basic.
 */
export function refuseCredentials(
  area: Area,
  request: SandboxRequest,
  credentials: Credentials,
  options: SandboxOptions,
): Plan | undefined {
  const { clientId, clientSecret } = credentials;
  const closed = options.refuse.includes(area);
  if (area === "import") {
    const right = request.headers["x-client-id"] === clientId && request.headers["x-client-secret"] === clientSecret;
    if (right && !closed) return undefined;
    return answerText(401, JSON.stringify({ code: "unauthorized", message: "Неверный Client ID или Client Secret" }));
  }
  if (basicPair(request.headers["authorization"]) === `${clientId}:${clientSecret}` && !closed) return undefined;
  return refuse(401, "HTTP Basic credentials are wrong or missing", {
    "www-authenticate": 'Basic realm="1c", charset="UTF-8"',
  });
}
