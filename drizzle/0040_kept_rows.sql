-- JSON: the key of the row that is gone and has kept what it sent of the article; it counts as on sale no longer when another row gets that.
ALTER TABLE feed_former ADD COLUMN row_key TEXT;
