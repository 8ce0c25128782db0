-- A service whose clock was set back delivers again in another order, which proves nothing about a lost answer.

ALTER TABLE pull_mark ADD COLUMN service_ms REAL; -- the latest time of the service since the loss, in milliseconds since 1970; NULL: not known
--> statement-breakpoint

ALTER TABLE pull_mark ADD COLUMN behind_ms REAL; -- since when the service's clock is behind it, in milliseconds since the machine's start; NULL: it is not
