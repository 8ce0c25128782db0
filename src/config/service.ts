import * as z from "zod";
import { m } from "../messages/messages.ts";
import { baseUrl, proxy } from "./addresses.ts";
import { bytes, decimal, duration, integer, key, place, section, timezone, worded } from "./kinds.ts";

/** Printable ASCII, because it travels in a header; no colon, because Basic authentication ends the id there. */
const CLIENT_ID = /^[!-9;-~]([ -9;-~]*[!-9;-~])?$/;

const clientId = worded(z.string().max(200).regex(CLIENT_ID), m.kinds.clientId, "text");

export const service = section(m.keys.service, {
  base_url: key(baseUrl(), m.keys.serviceBaseUrl),
  client_id: key(clientId, m.keys.serviceClientId),
  client_secret: key(worded(z.string().max(4000), m.kinds.text, "secret").optional(), m.keys.serviceClientSecret),
  client_secret_file: key(place(m.kinds.file).optional(), m.keys.serviceClientSecretFile),
  timezone: key(
    timezone().prefault("UTC"),
    m.keys.serviceTimezone,
    "The form of the service's times is not shown: if they name no zone, change an order and compare its updated_at with the clock.",
  ),
  requests_per_second: key(
    decimal(0.1, 10_000).prefault(5),
    m.keys.serviceRequestsPerSecond,
    "Limits are not shown: ask the service, or watch for answers 429 in status and lower it.",
  ),
  timeouts: section(m.keys.serviceTimeouts, {
    connect: key(duration("10ms", "5m").prefault("5s"), m.keys.serviceTimeoutsConnect),
    headers: key(duration("10ms", "10m").prefault("15s"), m.keys.serviceTimeoutsHeaders),
    total: key(duration("10ms", "1h").prefault("60s"), m.keys.serviceTimeoutsTotal),
    import: key(duration("10ms", "2h").prefault("120s"), m.keys.serviceTimeoutsImport),
  }),
  proxy: key(proxy().prefault(null), m.keys.serviceProxy),
  ca_file: key(place(m.kinds.file).nullable().prefault(null), m.keys.serviceCaFile),
  answer_bytes_max: key(
    bytes("1KB", "500MB").prefault("256MB"),
    m.keys.serviceAnswerBytesMax,
    "Size limits are not shown: raise it if status names an answer that is too large.",
  ),
  answer_records_max: key(integer(1_000, 2_000_000).prefault(200_000), m.keys.serviceAnswerRecordsMax),
  answer_values_max: key(integer(10_000, 200_000_000).prefault(32_000_000), m.keys.serviceAnswerValuesMax),
});
