#!/usr/bin/env python3
"""What an ERP does with the database of erp-bridge, in Python's standard library alone.

    python3 erp.py DATABASE orders                  takes the orders that wait
    python3 erp.py DATABASE stock SKU QUANTITY      publishes a stock level
"""

import json
import sqlite3
import sys

ORDERS_AT_ONCE = 100

# Headers and lines in one statement, so that both are of the same revision.
PENDING = """
SELECT p.order_id, p.revision, p.why, p.number, p.status, p.total,
       (SELECT json_group_array(json_object('sku', l.sku, 'quantity', l.quantity, 'price', l.price))
        FROM order_lines l WHERE l.order_id = p.order_id) AS lines
FROM orders_pending p LIMIT ?
"""

# The revision that was read. If the order changed meanwhile, it simply stays in orders_pending.
MARK = """
INSERT INTO erp_orders (order_id, erp_number, seen_revision) VALUES (:order_id, :erp_number, :revision)
ON CONFLICT (order_id) DO UPDATE SET
  erp_number = excluded.erp_number,
  seen_revision = max(seen_revision, excluded.seen_revision)
"""

# An order that the ERP cannot take is put aside with a word; it shows in orders_blocked, and a change brings it back.
BLOCK = """
INSERT INTO erp_orders (order_id, seen_revision, state, error) VALUES (:order_id, :revision, 'blocked', :error)
ON CONFLICT (order_id) DO UPDATE SET
  seen_revision = max(seen_revision, excluded.seen_revision), state = 'blocked', error = excluded.error
"""


def open_database(path):
    # 10 s: the bridge never holds the write lock for more than half a second.
    database = sqlite3.connect(f"file:{path}?mode=rw", uri=True, timeout=30)
    # Asked for and not left to the library: with NORMAL a power cut may take a mark back, and the order comes once more.
    database.execute("PRAGMA synchronous = FULL")
    # An SQLite older than this leaves checkpoints to the bridge; docs/sharing-the-database.md says why.
    if sqlite3.sqlite_version_info < (3, 51, 3):
        database.execute("PRAGMA wal_autocheckpoint = 0")
    database.row_factory = sqlite3.Row
    return database


def take(order, lines):
    """Puts one order into the ERP and gives the ERP's own number. Here it is only shown."""
    if not lines:
        raise ValueError("the order has no lines")
    print(f"{order['why']}: {order['number']}, {order['status']}, {order['total']}, {len(lines)} lines")
    return f"ERP-{order['number']}"


def take_orders(database):
    while True:
        # fetchall: finish reading before anything is written.
        orders = database.execute(PENDING, (ORDERS_AT_ONCE,)).fetchall()
        if not orders:
            return
        for order in orders:
            key = {"order_id": order["order_id"], "revision": order["revision"]}
            try:
                erp_number = take(order, json.loads(order["lines"]))
            except ValueError as error:
                with database:
                    database.execute(BLOCK, {**key, "error": str(error)})
            else:
                # One short transaction an order: a crash after it repeats nothing that was done.
                with database:
                    database.execute(MARK, {**key, "erp_number": erp_number})
        if len(orders) < ORDERS_AT_ONCE:
            return


def write_stock(database, sku, quantity):
    with database:
        database.execute(
            """INSERT INTO stock (sku, quantity) VALUES (?, ?)
               ON CONFLICT (sku, warehouse) DO UPDATE SET quantity = excluded.quantity""",
            # Text keeps every digit; a float would not.
            (sku, quantity),
        )


def main(arguments):
    if len(arguments) == 2 and arguments[1] == "orders":
        take_orders(open_database(arguments[0]))
    elif len(arguments) == 4 and arguments[1] == "stock":
        write_stock(open_database(arguments[0]), arguments[2], arguments[3])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
