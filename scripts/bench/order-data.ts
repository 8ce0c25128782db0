import { createHash } from "node:crypto";

/** Orders in a batch, lines in an order: what a shop of some size sees. */
export const BATCH_SIZE = 100;
const LINES = 4;

const STARTED_AT = Date.UTC(2026, 0, 1);

/** A random-looking UUID, the same for the same number: stored orders are found anywhere in an index, as real ones are. */
export function orderIdOf(n: number): string {
  const hex = createHash("sha256").update(String(n)).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function timestampOf(n: number): string {
  return new Date(STARTED_AT + n * 1_000).toISOString();
}

/** The order's record as a service would write it, about 1 KB. */
export function orderText(n: number): string {
  const items = Array.from({ length: LINES }, (_, line) => ({
    sku: `SKU-${String((n * 7 + line) % 50_000).padStart(6, "0")}`,
    name: `Article ${n % 1_000}.${line}, a name of some length`,
    quantity: 1 + ((n + line) % 5),
    price: `${100 + ((n * 13 + line) % 900)}.50`,
  }));
  return JSON.stringify({
    order_id: orderIdOf(n),
    number: `N-${n}`,
    status: "new",
    created_at: timestampOf(n),
    updated_at: timestampOf(n),
    currency: "RUB",
    total: `${1_000 + (n % 9_000)}.00`,
    customer: {
      name: `Customer ${n % 10_000}`,
      phone: "+7 900 000-00-00",
      address: `Street ${n % 500}, house ${n % 99}`,
    },
    comment: "leave it at the door, please",
    items,
  });
}

/** A whole answer to GET /orders. */
export function batchBody(first: number, size = BATCH_SIZE): string {
  const orders = Array.from({ length: size }, (_, index) => orderText(first + index));
  return `{"batch_id":"b-${first}","orders":[${orders.join(",")}]}`;
}

/** The order as a record of the updates answer that holds whole orders, changed at this time. */
export function changeText(n: number, timestamp: string): string {
  return orderText(n).replace(/"updated_at":"[^"]*"/, `"updated_at":"${timestamp}"`);
}
