-- Rows of sources without triggers are compared with what was acknowledged and is owed: no hash of them is kept.
DROP TABLE feed_rows;
