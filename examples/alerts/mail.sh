#!/bin/sh
# Sends an alert by e-mail through the machine's sendmail.
#
# alerts:
#   command: [/etc/erp-bridge/mail.sh, admin@shop.example]
#
# A sendmail that changes its user or group (Postfix, Exim) cannot do so in the packaged service; msmtp-mta does not need to.
{
  printf 'To: %s\nSubject: erp-bridge on %s (%s): %s, %s\n' "$1" "$ERP_BRIDGE_HOST" "$ERP_BRIDGE_INSTANCE" \
    "$ERP_BRIDGE_ALERT_KIND" "$ERP_BRIDGE_ALERT_SUBJECT"
  printf 'MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n'
  cat
} | exec "${SENDMAIL:-/usr/sbin/sendmail}" -i -t
