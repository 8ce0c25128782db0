-- What was found in the files that images are read from, so that a file is read again only after it was written.
CREATE TABLE image_files (
  path TEXT NOT NULL PRIMARY KEY, -- as the row names it, below the folder of the images
  identity TEXT, -- device, inode, size and the times of the last change in nanoseconds; NULL: look again
  size INTEGER NOT NULL DEFAULT 0,
  sha256 TEXT CHECK (length(sha256) = 64), -- NULL: it was not read, because it is too large or cannot be read
  type TEXT, -- told by its first bytes
  problem TEXT -- why it cannot be read
) STRICT, WITHOUT ROWID;
--> statement-breakpoint

CREATE INDEX image_files_content ON image_files (sha256) WHERE sha256 IS NOT NULL;
