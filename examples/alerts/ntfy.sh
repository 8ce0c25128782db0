#!/bin/sh
# Sends an alert to a topic of ntfy, urgently where something is wrong.
#
#   /etc/erp-bridge/ntfy.curl (0640, root:erp-bridge)
#     url = "https://ntfy.sh/TOPIC"
#     header = "Authorization: Bearer tk_TOKEN"
#
# alerts:
#   command: [/etc/erp-bridge/ntfy.sh, /etc/erp-bridge/ntfy.curl]
case "$ERP_BRIDGE_ALERT_KIND" in
  problem | digest) priority=high tags=rotating_light ;;
  *) priority=default tags=white_check_mark ;;
esac
exec curl --fail --silent --show-error --max-time 20 --config "$1" --data-binary @- \
  --header "Title: erp-bridge on $ERP_BRIDGE_HOST ($ERP_BRIDGE_INSTANCE)" \
  --header "Priority: $priority" --header "Tags: $tags"
