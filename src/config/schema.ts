import * as z from "zod";
import { imports } from "./imports.ts";
import { mirror } from "./mirror.ts";
import { orders, statuses, updates } from "./orders.ts";
import { service } from "./service.ts";
import {
  alerts,
  backup,
  database,
  erp,
  heartbeat,
  http,
  language,
  log,
  reconcile,
  retention,
  timezone,
} from "./upkeep.ts";

/** The whole file: every key with its default, its limits and its meaning. Messages, reference and example are made from it. */
export const configSchema = z.strictObject({
  service,
  database,
  orders,
  updates,
  statuses,
  imports,
  reconcile,
  erp,
  alerts,
  heartbeat,
  backup,
  retention,
  mirror,
  http,
  log,
  timezone,
  language,
});

type Parsed = z.output<typeof configSchema>;

/**
 * The effective configuration, with the file's own key names. Durations are milliseconds, sizes bytes, places on
 * disk absolute, and the secret is resolved.
 */
export type Config = Omit<Parsed, "service" | "mirror"> & {
  mirror: Omit<Parsed["mirror"], "url" | "url_file"> & {
    /** Null: there is no mirror, or its address is not for this process to read. */
    url: string | null;
    /** Where the address was read from, if a file was named. */
    url_file: string | null;
  };
  service: Omit<Parsed["service"], "client_secret" | "client_secret_file"> & {
    client_secret: string;
    /** Where the secret was read from, if a file was named. */
    client_secret_file: string | null;
  };
};
