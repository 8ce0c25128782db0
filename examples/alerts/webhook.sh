#!/bin/sh
# Posts the alert's JSON to an address that wants headers of its own, such as a key. alerts.webhook sends none.
#
#   /etc/erp-bridge/webhook.curl (0640, root:erp-bridge)
#     url = "https://alarm.shop.example/in"
#     header = "X-Api-Key: KEY"
#
# alerts:
#   command: [/etc/erp-bridge/webhook.sh, /etc/erp-bridge/webhook.curl]
printf '%s' "$ERP_BRIDGE_ALERT_JSON" |
  exec curl --fail --silent --show-error --max-time 20 --config "$1" --data-binary @- \
    --header "Content-Type: application/json; charset=utf-8"
