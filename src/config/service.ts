import * as z from "zod";
import { baseUrl, proxy } from "./addresses.ts";
import { bytes, decimal, duration, integer, key, section, text, worded } from "./kinds.ts";

/** Printable ASCII, because it travels in a header; no colon, because Basic authentication ends the id there. */
const CLIENT_ID = /^[!-9;-~]([ -9;-~]*[!-9;-~])?$/;

function isTimezone(value: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: value });
    return true;
  } catch {
    return false;
  }
}

function timezone() {
  const schema = text(60).refine(isTimezone, "is not a time zone such as UTC, Europe/Moscow or +03:00");
  return worded(schema, "a time zone");
}

const clientId = worded(
  z
    .string()
    .max(200)
    .regex(CLIENT_ID, { error: "must be printable ASCII without a colon and without spaces around it" }),
  "text of 1 to 200 printable ASCII characters without a colon",
);

export const service = section("The service, and how the bridge behaves towards it.", {
  base_url: key(baseUrl(), "Address of the service, https (http on loopback only), without query and credentials."),
  client_id: key(clientId, "Client ID from the service's API access settings."),
  client_secret: key(
    worded(z.string().max(4000), "text", "secret").optional(),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the notation of the file, meant as it stands
    "Client Secret itself, best as ${ERP_BRIDGE_CLIENT_SECRET}; either this or client_secret_file.",
  ),
  client_secret_file: key(
    text(1000, "a file").optional(),
    "File that holds the Client Secret, relative to this file; with neither key the systemd credential client-secret is read.",
  ),
  timezone: key(
    timezone().prefault("UTC"),
    "Time zone of the service's times that name none.",
    "The form of the service's times is not shown: if they name no zone, change an order and compare its updated_at with the clock.",
  ),
  requests_per_second: key(
    decimal(0.1, 10_000).prefault(5),
    "The most requests a second that the bridge sends, all areas together.",
    "Limits are not shown: ask the service, or watch for answers 429 in status and lower it.",
  ),
  timeouts: section("How long a request may take.", {
    connect: key(duration("10ms", "5m").prefault("5s"), "Until the connection stands."),
    headers: key(duration("10ms", "10m").prefault("15s"), "Until the answer begins."),
    total: key(duration("10ms", "1h").prefault("60s"), "Until the whole answer is read."),
    import: key(duration("10ms", "2h").prefault("120s"), "The same for an import; also how long rows in doubt rest."),
  }),
  proxy: key(
    proxy().prefault(null),
    "How the service is reached from a network that lets nothing out directly: env (HTTPS_PROXY and NO_PROXY of the program's environment), the address of a proxy, or null. A service on loopback is asked directly.",
  ),
  ca_file: key(
    text(1000, "a file").nullable().prefault(null),
    "File with certificates (PEM) of authorities that are believed beside the usual ones, relative to this file, for a network that inspects TLS.",
  ),
  answer_bytes_max: key(
    bytes("1KB", "500MB").prefault("256MB"),
    "The largest answer that is read; a larger one is an error and confirms nothing.",
    "Size limits are not shown: raise it if status names an answer that is too large.",
  ),
  answer_records_max: key(
    integer(1_000, 2_000_000).prefault(200_000),
    "The most records (orders, changes) that one answer may hold; more are an error and confirm nothing. 200,000 take some 400 MB of memory while they are read.",
  ),
  answer_values_max: key(
    integer(10_000, 200_000_000).prefault(32_000_000),
    "The most JSON values that one answer may hold; more are an error and confirm nothing.",
  ),
});
