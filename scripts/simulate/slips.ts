/* Slips of a person who writes an address with a password into the configuration. */

export const MISTYPED_KEYS = [
  "service.base_url",
  "service.proxy",
  "mirror.url",
  "alerts.webhook",
  "heartbeat",
] as const;
export type MistypedKey = (typeof MISTYPED_KEYS)[number];
export const SLIPS = ["no scheme", "one slash", "another scheme", "a space", "a parameter"] as const;
export type Slip = (typeof SLIPS)[number];

export const PASSWORD = "p4ss-of-an-address";

const SCHEMES: Record<MistypedKey, string> = {
  "service.base_url": "https",
  "service.proxy": "http",
  "mirror.url": "postgres",
  "alerts.webhook": "https",
  heartbeat: "https",
};

/** A configuration with such an address. */
export function mistyped(key: MistypedKey, slip: Slip): object {
  const service = { base_url: "https://service.example", client_id: "shop-1", client_secret: "x" };
  const [group = "", name] = key.split(".");
  const address = addressOf(SCHEMES[key], slip);
  const own = name === undefined ? address : { [name]: address };
  return { service, ...(group === "service" ? { service: { ...service, ...(own as object) } } : { [group]: own }) };
}

function addressOf(scheme: string, slip: Slip): string {
  const place = `user:${PASSWORD}@host.example/path`;
  switch (slip) {
    case "no scheme":
      return place;
    case "one slash":
      return `${scheme}:/${place}`;
    case "another scheme":
      return `${scheme}x://${place}`;
    case "a space":
      return `${scheme}://${place} `;
    case "a parameter":
      return `${scheme}://user:x@host.example/path?optoin=${PASSWORD}`;
  }
}
