-- What the English texts of other tables say (runs.error, holds.detail, quarantine.reason and the like), so that they can be shown in
-- another language. A text that has no row here is shown as it is.

CREATE TABLE stored_messages (
  text TEXT PRIMARY KEY,
  message TEXT NOT NULL -- JSON: the message's id and its parameters
) STRICT;
