-- Orders that were read before the unit of their timestamp was over, by the service's clock: they are read once more then.

CREATE TABLE repeat_reads (
  order_id TEXT PRIMARY KEY,
  due_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
