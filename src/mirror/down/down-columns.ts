/* The columns that the mirror writes, with their types in PostgreSQL. Values are sent as text, except for jsonb. */

export const ORDER_COLUMNS = {
  order_id: "uuid",
  service_id: "text",
  number: "text",
  status: "text",
  is_cancelled: "boolean",
  is_open: "boolean",
  service_created_at: "text",
  service_updated_at: "text",
  currency: "text",
  total: "text",
  revision: "bigint",
  erp_revision: "bigint",
  received_at: "timestamptz",
  changed_at: "timestamptz",
  removed_at: "timestamptz",
  lines: "jsonb",
  payload: "jsonb",
  payload_text: "text",
  hash: "text",
} as const;

export const ID_COLUMNS = { order_id: "uuid" } as const;

export const EVENT_COLUMNS = {
  seq: "bigint",
  order_id: "uuid",
  revision: "bigint",
  kind: "text",
  status_changed: "boolean",
  lines_changed: "boolean",
  fields_changed: "boolean",
  old_status: "text",
  new_status: "text",
  changes: "jsonb",
  source: "text",
  at: "timestamptz",
} as const;

export const BATCH_COLUMNS = {
  id: "bigint",
  service_batch_id: "text",
  received_at: "timestamptz",
  order_count: "integer",
  state: "text",
  confirm_attempts: "integer",
  confirmed_at: "timestamptz",
  last_error: "text",
} as const;

export const HELD_COLUMNS = {
  id: "bigint",
  kind: "text",
  reference: "text",
  reason: "text",
  state: "text",
  first_seen_at: "timestamptz",
  last_seen_at: "timestamptz",
  times: "integer",
} as const;

export const CONDITION_COLUMNS = {
  rank: "integer",
  code: "text",
  severity: "text",
  subject: "text",
  since: "timestamptz",
  params: "jsonb",
  text: "text",
  command: "text",
  seen_at: "timestamptz",
} as const;

export const MARK_COLUMNS = {
  order_id: "uuid",
  erp_number: "text",
  seen_revision: "bigint",
  state: "text",
  block_reason: "text",
  note: "text",
  blocked_at: "bigint",
} as const;

export type Columns = Readonly<Record<string, string>>;
/** A value for each column. */
export type Values<C extends Columns> = Record<keyof C, string | number | boolean | null>;

/** A row to be written to PostgreSQL. */
export interface DownRow<C extends Columns> {
  /** Its key in the shop's database. */
  key: number;
  values: Values<C>;
  /** The values without those that PostgreSQL may still refuse. */
  plain?: () => Values<C>;
}
