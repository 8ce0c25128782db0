-- What is held is found without reading what was released, however much of either there is.
CREATE INDEX quarantine_held_id ON quarantine (id) WHERE state = 'held';
--> statement-breakpoint
CREATE INDEX quarantine_unnamed ON quarantine (id) WHERE state = 'held' AND length(coalesce(reference, '')) <> 36;
