#!/usr/bin/env python3
"""What an ERP does with the mirror in PostgreSQL, for all of its shops. Needs psql, and no package of Python's.

    python3 erp.py ADDRESS orders                              takes the orders that wait
    python3 erp.py ADDRESS stock SHOP SKU QUANTITY             publishes a stock level
    python3 erp.py ADDRESS status SHOP ORDER_ID STATUS         sets a status, once

ADDRESS is what `erp-bridge mirror init --erp NAME` printed. With a driver such as psycopg the statements are the same.
"""

import json
import os
import subprocess
import sys
import uuid

ORDERS_AT_ONCE = 100

# json_build_object: one line a row, whatever a text holds.
PENDING = """
SELECT json_build_object('shop', shop, 'order_id', order_id, 'revision', revision, 'why', why, 'number', number,
                         'status', status, 'total', total, 'lines', lines)
FROM orders_pending LIMIT :orders_at_once
"""

# The revision that was read. If an order changed meanwhile, it stays in orders_pending.
MARK = """
INSERT INTO erp_orders (shop, order_id, erp_number, seen_revision, state, block_reason)
SELECT shop, order_id, erp_number, revision, state, block_reason
FROM json_to_recordset(:'marks') AS m (shop text, order_id uuid, erp_number text, revision bigint, state text, block_reason text)
ON CONFLICT (shop, order_id) DO UPDATE SET
  erp_number = coalesce(excluded.erp_number, erp_orders.erp_number),
  seen_revision = greatest(erp_orders.seen_revision, excluded.seen_revision),
  state = excluded.state, block_reason = excluded.block_reason
"""

STOCK = """
INSERT INTO stock (shop, sku, quantity) VALUES (:'shop', :'sku', :'quantity')
ON CONFLICT (shop, sku, warehouse) DO UPDATE SET quantity = excluded.quantity
"""

# The id is made from what is wanted: however often this is repeated, the status leaves once.
STATUS = """
INSERT INTO status_requests (id, shop, order_id, status) VALUES (:'id', :'shop', :'order_id', :'status')
ON CONFLICT (id) DO NOTHING
"""


def run(address, sql, **values):
    """Runs one statement in a transaction of its own; gives its rows as JSON."""
    command = ["psql", address, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"]
    command += [f"--set={name}={value}" for name, value in values.items()]
    environment = {**os.environ, "PGOPTIONS": "-c search_path=erp_bridge", "PGCLIENTENCODING": "UTF8"}
    ended = subprocess.run(command, input=sql, env=environment, capture_output=True, encoding="utf-8")
    if ended.returncode != 0:
        sys.exit(ended.stderr)
    return [json.loads(line) for line in ended.stdout.splitlines()]


def take(order):
    """Puts one order into the ERP and gives the ERP's own number. Here it is only shown."""
    if not order["lines"]:
        raise ValueError("the order has no lines")
    print(f"{order['shop']}: {order['why']}: {order['number']}, {order['status']}, {order['total']}, {len(order['lines'])} lines")
    return f"ERP-{order['shop']}-{order['number']}"


def take_orders(address):
    while True:
        orders = run(address, PENDING, orders_at_once=ORDERS_AT_ONCE)
        if not orders:
            return
        marks = []
        for order in orders:
            mark = {name: order[name] for name in ("shop", "order_id", "revision")}
            try:
                marks.append({**mark, "state": "taken", "erp_number": take(order)})
            except ValueError as error:
                # Put aside with a word; it shows in orders_blocked.
                marks.append({**mark, "state": "blocked", "block_reason": str(error)})
        # A crash before this shows the same orders again: take() must know those that the ERP has.
        run(address, MARK, marks=json.dumps(marks))
        if len(orders) < ORDERS_AT_ONCE:
            return


def main(arguments):
    if len(arguments) == 2 and arguments[1] == "orders":
        take_orders(arguments[0])
    elif len(arguments) == 5 and arguments[1] == "stock":
        address, _, shop, sku, quantity = arguments
        # Text keeps every digit; a float would not.
        run(address, STOCK, shop=shop, sku=sku, quantity=quantity)
    elif len(arguments) == 5 and arguments[1] == "status":
        address, _, shop, order_id, status = arguments
        wanted = uuid.uuid5(uuid.NAMESPACE_URL, f"{shop}/{order_id}/{status}")
        run(address, STATUS, id=wanted, shop=shop, order_id=order_id, status=status)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
