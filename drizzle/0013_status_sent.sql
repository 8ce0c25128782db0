-- The last status that was sent for an order: a request that says no more than it need not leave.

CREATE INDEX status_requests_sent ON status_requests (order_id, answered_at) WHERE state = 'sent';
