-- What a service delivers while its clock is behind proves nothing about a lost answer, and a person decides only about losses that were shown.

ALTER TABLE pull_mark ADD COLUMN service_ms REAL; -- the latest time of the service since the loss, in milliseconds since 1970; NULL: not known
--> statement-breakpoint

ALTER TABLE pull_mark ADD COLUMN behind_ms REAL; -- since when the service's clock is behind it, in milliseconds since the machine's start; NULL: it is not
--> statement-breakpoint

ALTER TABLE pull_mark ADD COLUMN asked_at TEXT; -- when the newest GET was sent
--> statement-breakpoint

ALTER TABLE pull_mark ADD COLUMN lost_at TEXT; -- when the newest GET was sent whose answer was lost; NULL: that of opened_at
--> statement-breakpoint

ALTER TABLE pull_mark ADD COLUMN told_at TEXT; -- the lost_at of which a person was told who wanted to lift the hold
