-- Status and headers that came with a body that is still to be read, as JSON: they may say that it is a part. NULL: 200, and nothing of the kind.

ALTER TABLE batches ADD COLUMN head TEXT;
