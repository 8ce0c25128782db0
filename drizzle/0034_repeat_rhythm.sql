-- While the unit of a timestamp is not over, the order is read again and again: until when, and how often it was.

ALTER TABLE repeat_reads ADD COLUMN end_at TEXT; -- NULL: at due_at
--> statement-breakpoint

ALTER TABLE repeat_reads ADD COLUMN step INTEGER NOT NULL DEFAULT 0;
