#!/usr/bin/env python3
"""Exchanges orders, statuses and stock between the database of erp-bridge and an HTTP service of 1C on another machine.

    exchange.py /var/lib/erp-bridge/bridge.db https://server-1c/shop/hs/bridge /etc/erp-bridge/1c-login

Runs on the bridge's machine, once a minute, by a timer. The third file holds USER:PASSWORD. What 1C answers is described in
docs/1c.md; http-service.bsl is its side. Python's own modules are enough. Every step may be repeated: an order that was sent and
not marked is sent again, and a status of 1C is taken over once, by its id.
"""

import base64
import json
import sqlite3
import sys
import urllib.request

AT_ONCE = 100
SECONDS = 60

PENDING = """
SELECT p.order_id, p.revision, p.why, p.erp_number, p.number, p.status, p.currency, p.total,
       (SELECT json_group_array(json_object('line_no', l.line_no, 'sku', l.sku, 'name', l.name,
                                            'quantity', l.quantity, 'price', l.price))
        FROM (SELECT * FROM order_lines WHERE order_id = p.order_id ORDER BY line_no) l) AS lines
FROM orders_pending p LIMIT ?
"""
MARK = """
INSERT INTO erp_orders (order_id, erp_number, seen_revision) VALUES (?, ?, ?)
ON CONFLICT (order_id) DO UPDATE SET
  erp_number = excluded.erp_number, seen_revision = max(seen_revision, excluded.seen_revision), state = 'taken', error = NULL
"""
BLOCK = """
INSERT INTO erp_orders (order_id, state, error) VALUES (?, 'blocked', ?)
ON CONFLICT (order_id) DO UPDATE SET state = excluded.state, error = excluded.error
"""
ASK_STATUS = "INSERT INTO status_requests (order_id, status, comment) VALUES (?, ?, ?)"
WRITE_STOCK = """
INSERT INTO stock (sku, warehouse, quantity, reserved) VALUES (?, ?, ?, ?)
ON CONFLICT (sku, warehouse) DO UPDATE SET quantity = excluded.quantity, reserved = excluded.reserved
"""


def connect(path):
    database = sqlite3.connect(f"file:{path}?mode=rw", uri=True, timeout=30, isolation_level=None)
    database.row_factory = sqlite3.Row
    # A SQLite older than 3.51.3 leaves checkpoints to the bridge; docs/sharing-the-database.md says why.
    database.execute("PRAGMA wal_autocheckpoint = 0")
    database.execute("PRAGMA synchronous = FULL")
    # The last id of 1C that was taken over, and what became of each: a table of our own.
    database.execute("CREATE TABLE IF NOT EXISTS my_1c_statuses (id INTEGER PRIMARY KEY, order_id TEXT, error TEXT)")
    return database


class Service:
    def __init__(self, address, login):
        self.address = address.rstrip("/")
        self.login = base64.b64encode(login.encode()).decode()

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        headers = {"Authorization": f"Basic {self.login}", "Content-Type": "application/json; charset=utf-8"}
        request = urllib.request.Request(self.address + path, data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            # Numbers stay the digits that 1C wrote: no float touches them. 1C may write a byte order mark first.
            return json.loads(answer.read().decode("utf-8-sig"), parse_float=str, parse_int=str)


def give_orders(database, service):
    while True:
        orders = [dict(row) for row in database.execute(PENDING, (AT_ONCE,)).fetchall()]
        if not orders:
            return
        for order in orders:
            order["lines"] = json.loads(order["lines"])
        answered = {each["order_id"]: each for each in service.ask("/orders", {"orders": orders})["orders"]}
        settled = 0
        for order in orders:
            result = answered.get(order["order_id"])
            if result is None:
                continue
            if result.get("error"):
                database.execute(BLOCK, (order["order_id"], result["error"]))
            else:
                # The revision that was sent: an order that has changed since stays pending.
                database.execute(MARK, (order["order_id"], result.get("erp_number"), order["revision"]))
            settled += 1
        if settled == 0:
            raise RuntimeError("1C answered for none of the orders that it was sent")


def take_statuses(database, service):
    last = database.execute("SELECT coalesce(max(id), 0) FROM my_1c_statuses").fetchone()[0]
    for status in sorted(service.ask(f"/statuses?after={last}")["statuses"], key=lambda each: int(each["id"])):
        database.execute("BEGIN IMMEDIATE")
        error = None
        try:
            database.execute(ASK_STATUS, (status["order_id"], status["status"], status.get("comment")))
        except sqlite3.IntegrityError as refused:
            error = str(refused)
        note = "INSERT OR IGNORE INTO my_1c_statuses (id, order_id, error) VALUES (?, ?, ?)"
        database.execute(note, (int(status["id"]), status["order_id"], error))
        database.execute("COMMIT")
        if error is not None:
            print(f"status {status['id']} of 1C: {error}", file=sys.stderr)


def take_stock(database, service):
    rows = service.ask("/stock")["stock"]
    if not rows:
        raise RuntimeError("1C answered with no stock at all; nothing was changed")
    values = [(row["sku"], row.get("warehouse") or "", row["quantity"], row.get("reserved") or 0) for row in rows]
    database.execute("BEGIN IMMEDIATE")
    try:
        database.executemany(WRITE_STOCK, values)
        database.execute("CREATE TEMP TABLE IF NOT EXISTS sold (sku, warehouse, PRIMARY KEY (sku, warehouse))")
        database.execute("DELETE FROM temp.sold")
        database.executemany("INSERT OR IGNORE INTO temp.sold VALUES (?, ?)", [value[:2] for value in values])
        database.execute("DELETE FROM stock WHERE (sku, warehouse) NOT IN (SELECT sku, warehouse FROM temp.sold)")
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def main(path, address, login_file):
    with open(login_file, encoding="utf-8") as file:
        service = Service(address, file.read().strip())
    database = connect(path)
    failed = 0
    for step in (give_orders, take_statuses, take_stock):
        try:
            step(database, service)
        except (OSError, RuntimeError, ValueError, KeyError, sqlite3.Error) as error:
            # What fails keeps nothing else from being exchanged; the next run repeats it.
            print(f"{step.__name__}: {error}", file=sys.stderr)
            failed = 1
    database.close()
    return failed


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
