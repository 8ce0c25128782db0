-- What is usual of the service's answers, learned from them. It stood in three texts of `meta`.

CREATE TABLE learned_answers (
  topic TEXT NOT NULL CHECK (topic IN ('forms', 'counts', 'list', 'changes')),
  endpoint TEXT NOT NULL,
  learned TEXT NOT NULL, -- JSON
  PRIMARY KEY (topic, endpoint)
) STRICT;
--> statement-breakpoint
INSERT INTO learned_answers (topic, endpoint, learned)
SELECT 'forms', e.key, json_remove(e.value, '$.counts')
FROM meta m, json_each(CASE WHEN json_valid(m.value) THEN m.value ELSE '{}' END) e
WHERE m.key = 'answers' AND e.type = 'object';
--> statement-breakpoint
INSERT INTO learned_answers (topic, endpoint, learned)
SELECT 'counts', e.key, json_extract(e.value, '$.counts')
FROM meta m, json_each(CASE WHEN json_valid(m.value) THEN m.value ELSE '{}' END) e
WHERE m.key = 'answers' AND e.type = 'object' AND json_type(e.value, '$.counts') = 'object';
--> statement-breakpoint
INSERT INTO learned_answers (topic, endpoint, learned)
SELECT 'list', e.key, e.value
FROM meta m, json_each(CASE WHEN json_valid(m.value) THEN m.value ELSE '{}' END) e
WHERE m.key = 'lists' AND e.type = 'object';
--> statement-breakpoint
INSERT INTO learned_answers (topic, endpoint, learned)
SELECT 'changes', 'updates', value FROM meta WHERE key = 'learned' AND json_valid(value);
--> statement-breakpoint
DELETE FROM meta WHERE key IN ('answers', 'lists', 'learned');
