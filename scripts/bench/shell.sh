#!/bin/sh
# What a shop would write instead: curl, jq and sqlite3 in a loop. $1: the service, $2: the database. Ends with the first
# empty batch and prints how many orders it stored.
set -e
url=$1
db=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
total=0
while :; do
  curl -s "$url/api/v1/1c/orders" >"$dir/batch.json"
  count=$(jq '.orders | length' "$dir/batch.json")
  [ "$count" -gt 0 ] || break
  jq -r '
    def q: if . == null then "NULL" else "'"'"'" + (tostring | gsub("'"'"'"; "'"'"''"'"'")) + "'"'"'" end;
    "PRAGMA synchronous = FULL;", "BEGIN IMMEDIATE;",
    (.orders[] | . as $o
      | "INSERT INTO orders VALUES (\($o.order_id | q), \($o.number | q), \($o.status | q), \($o.total | q), \($o | tojson | q)) ON CONFLICT DO NOTHING;",
        ($o.items | to_entries[] | "INSERT INTO lines VALUES (\($o.order_id | q), \(.key + 1), \(.value.sku | q), \(.value.quantity | q), \(.value.price | q)) ON CONFLICT DO NOTHING;")),
    "COMMIT;"' "$dir/batch.json" | sqlite3 "$db" >/dev/null
  jq -c '{batch_id}' "$dir/batch.json" | curl -s -X POST -H 'content-type: application/json' -d @- "$url/api/v1/1c/orders/confirm" >/dev/null
  total=$((total + count))
done
echo "$total"
