-- What a feed's rows were told may turn out to be none: a service was restored to an earlier state, or has answered like an
-- acceptance while it was out of order.

ALTER TABLE feeds ADD COLUMN doubt_since TEXT; -- acknowledgements since then are in doubt; the next pass marks them, and they go again
