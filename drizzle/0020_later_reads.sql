-- Orders that are read again an hour, six hours and a day after the service said of them what it may have to take back.

CREATE TABLE later_reads (
  order_id TEXT PRIMARY KEY,
  begun_at TEXT NOT NULL,
  step INTEGER NOT NULL, -- how many of the reads were requested
  due_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
