const DAY = { weekday: "short", day: "numeric", month: "short" } as const;

/** The words of the status page that are not part of the status. */
export const pageEn = {
  verdicts: {
    well: "All is well",
    starting: "Starting",
    attention: "Something needs a look",
    ill: "Not everything is well",
  },
  /** The heading where nothing needs attention. */
  allWell: "Orders and stock are up to date.",
  noOrdersYet: "No order has come yet. The first one appears here within a minute of being placed.",
  /** The heading before the first success. */
  justStarted: "The bridge has just started. How things stand shows here within a minute or two.",
  headings: {
    attention: "What else needs attention",
    steps: "What to do",
    flows: "Every flow",
    orders: "Orders received by day",
    site: "Age of the stock on the site",
    numbers: "In numbers",
  },
  flows: {
    orders: { name: "Orders", what: "from the site" },
    updates: { name: "Changes", what: "to orders, from the site" },
    statuses: { name: "Statuses", what: "to the site" },
    stocks: { name: "Stock", what: "to the site" },
    prices: { name: "Prices", what: "to the site" },
    catalog: { name: "Catalog", what: "to the site" },
    images: { name: "Images", what: "to the site" },
    reconcile: { name: "Comparison", what: "of orders with the site" },
    backup: { name: "Backup", what: "of the database" },
    upkeep: { name: "Upkeep", what: "of old history" },
    mirror: { name: "Mirror", what: "in PostgreSQL" },
    erp: { name: "ERP", what: "takes orders" },
  },
  states: {
    fresh: "Fresh",
    starting: "Starting",
    failing: "Failing",
    stale: "Silent",
    held: "Held",
    late: "Late",
    look: "Attention",
  },
  switchedOff: (names: string) => `Switched off: ${names}.`,
  /** Null: less than a minute ago. */
  succeeded: (ago: string | null) => (ago === null ? "Last success just now." : `Last success ${ago} ago.`),
  neverSucceeded: "No success yet.",
  failing: (why: string) => `Failing: ${why}.`,
  heldFor: (reason: string) => `Held: ${reason}.`,
  waiting: (flow: string, n: number, oldest: string | null) =>
    `${numberText(n)} ${flow === "erp" ? `${n === 1 ? "order" : "orders"} not yet taken` : "waiting"}${oldest === null ? "" : `, the oldest for ${oldest}`}.`,
  refused: (n: number) => `${numberText(n)} refused by the service, tried again.`,
  quarantined: (flow: string, n: number) =>
    `${numberText(n)} ${flow === "erp" ? "put aside by the ERP" : "in quarantine"}.`,
  everythingTaken: "Every order is taken.",
  siteAsOf: (ago: string) => `The site shows the state of ${ago} ago.`,
  orders: {
    caption: (total: number, days: number) =>
      `${numberText(total)} ${total === 1 ? "order" : "orders"} in ${days} days`,
    most: (n: number, day: string) => `most on ${day}: ${numberText(n)}`,
    none: "No order in the last two weeks.",
  },
  site: {
    caption: (hours: number) => `Longest of each hour, last ${hours} hours`,
    most: (age: string) => `at most ${age}`,
    none: "Nothing has been sent in the last day.",
    now: (age: string) => `now ${age}`,
  },
  values: "Values",
  day: "Day",
  hour: "Hour",
  count: "Orders",
  age: "Longest age",
  today: "today",
  now: "now",
  unknown: "not known",
  ordersOf: (n: number) => `${numberText(n)} ${n === 1 ? "order" : "orders"}`,
  dayName: (date: Date) => date.toLocaleDateString("en-GB", DAY),
  number: numberText,
  numbers: {
    orders: "Orders stored",
    pending: "Not yet taken by the ERP",
    unconfirmed: "Batches not yet confirmed",
    quarantined: "Records in quarantine",
    database: "Database",
    log: "Write-ahead log",
    free: "Free on the disk",
    since: "Running since",
    version: "Version",
  },
  asOf: (time: string) => `As of ${time}.`,
  renewed: "The page renews itself every minute.",
  forMachines: "For machines:",
};

function numberText(n: number): string {
  return n.toLocaleString("en-GB");
}
