-- Of which account of the service a shop is: where nothing else of it is left, a takeover under another one is refused.
ALTER TABLE positions ADD COLUMN account text; -- a hash of the service's address and the client; NULL: not said yet
