import { stringify } from "yaml";
import { type LoadedConfig, parseConfig } from "../../src/config/load.ts";
import { bridgeSettings, type Changed, type Forms } from "./forms.ts";

export const CREDENTIALS = { clientId: "shop-1", clientSecret: "s3cret-of-shop-1" };

/** Small, so that an answer beyond the limit is cheap. */
const ANSWER_BYTES_MAX = "250KB";

/** The changes made by an operator. */
export type Written = Changed & { secret?: string; isMoved?: boolean };

type Config = LoadedConfig["config"];

/**
 * Configurations as operators would write them, parsed by the product. Each section is parsed once and cached: sections
 * do not affect each other, and there are more combinations than are ever run.
 */
export class Configurations {
  readonly #sections = new Map<string, LoadedConfig>();

  for(forms: Forms, database: string, written: Written = {}): LoadedConfig {
    const { service, orders, updates, statuses, imports } = settingsOf(forms, written);
    const { stocks, prices, catalog } = imports;
    const parts = {
      service: this.#read({ service }),
      orders: this.#read({ service: SERVICE, orders }),
      updates: this.#read({ service: SERVICE, updates }),
      statuses: this.#read({ service: SERVICE, statuses }),
      stocks: this.#read({ service: SERVICE, imports: { stocks } }),
      prices: this.#read({ service: SERVICE, imports: { prices } }),
      ...(catalog === undefined ? {} : { catalog: this.#read({ service: SERVICE, imports: { catalog } }) }),
    };
    const whole = parts.service;
    const config: Config = {
      ...whole.config,
      orders: parts.orders.config.orders,
      updates: parts.updates.config.updates,
      statuses: parts.statuses.config.statuses,
      imports: {
        ...whole.config.imports,
        stocks: parts.stocks.config.imports.stocks,
        prices: parts.prices.config.imports.prices,
        ...(parts.catalog === undefined ? {} : { catalog: parts.catalog.config.imports.catalog }),
      },
      database: { ...whole.config.database, path: database },
    };
    const named = new Set(Object.values(parts).flatMap((part) => [...part.written]));
    return { ...whole, config, written: named };
  }

  #read(settings: object): LoadedConfig {
    const key = JSON.stringify(settings);
    const loaded = this.#sections.get(key) ?? read(settings);
    this.#sections.set(key, loaded);
    return loaded;
  }
}

/** The service's second address. */
const MOVED_TO = "http://127.0.0.1:8081";
const SERVICE = {
  base_url: "http://127.0.0.1:8080",
  client_id: CREDENTIALS.clientId,
  client_secret: CREDENTIALS.clientSecret,
  answer_bytes_max: ANSWER_BYTES_MAX,
};

interface Settings {
  service: object;
  orders: object;
  updates: object;
  statuses: object;
  imports: { stocks: object; prices: object; catalog?: object };
}

function settingsOf(forms: Forms, { secret = CREDENTIALS.clientSecret, isMoved, ...changed }: Written): Settings {
  const settings = bridgeSettings(forms, changed) as unknown as Settings;
  const base_url = isMoved ? MOVED_TO : SERVICE.base_url;
  return { ...settings, service: { ...settings.service, ...SERVICE, base_url, client_secret: secret } };
}

function read(settings: object): LoadedConfig {
  const written = { ...settings, database: { path: "/srv/bridge.db" }, http: { listen: "off" } };
  return parseConfig({ text: stringify(written), file: "/srv/config.yaml", env: {} });
}

/** The same configuration, parsed as one text. */
export function readWhole(forms: Forms, written: Written = {}): LoadedConfig {
  return read(settingsOf(forms, written));
}
