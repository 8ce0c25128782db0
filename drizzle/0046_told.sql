-- What a person was told of before a decision stands in meta, for all commands alike.

ALTER TABLE pull_mark DROP COLUMN told_at;
