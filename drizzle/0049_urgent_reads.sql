-- Which reads come first: 2 where the record cancels an order that is not cancelled, 1 where its status is another one than the stored one,
-- 0 where it is the same or there is no record. Of reads that are queued already it is not known.

ALTER TABLE owed_reads ADD COLUMN urgency INTEGER NOT NULL DEFAULT 1 CHECK (urgency IN (0, 1, 2));
