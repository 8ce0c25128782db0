#!/bin/sh
# Sends an alert to a Telegram chat. The address holds the bot's token, so it stands in a file that nobody else may read:
#
#   /etc/erp-bridge/telegram.curl (0640, root:erp-bridge)
#     url = "https://api.telegram.org/bot123456:TOKEN/sendMessage"
#     data = "chat_id=-100123456"
#
# alerts:
#   command: [/etc/erp-bridge/telegram.sh, /etc/erp-bridge/telegram.curl]
exec curl --fail --silent --show-error --max-time 20 --config "$1" --data-urlencode text@-
