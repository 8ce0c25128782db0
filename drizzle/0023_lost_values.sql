-- Orders that were answered without what every former order had, while another one was answered with it: the first time. A second
-- time, ten minutes later at the earliest, makes it the order's own.

CREATE TABLE lost_values (
  order_id TEXT PRIMARY KEY,
  service_date TEXT NOT NULL -- the service's Date then, which does not depend on this machine's clock
) STRICT, WITHOUT ROWID;
