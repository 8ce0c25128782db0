#!/bin/sh
# Takes away what install.sh has installed. Configuration and data stay; with --purge they go too.
set -eu

if [ "$(id -u)" -ne 0 ]; then
  echo "uninstall.sh must be run as root" >&2
  exit 1
fi
if [ -d /run/systemd/system ]; then
  systemctl stop erp-bridge.service 'erp-bridge@*.service' || true
  systemctl disable erp-bridge.service 2>/dev/null || true
  rm -f /etc/systemd/system/erp-bridge.service /etc/systemd/system/erp-bridge@.service \
    /etc/systemd/system/multi-user.target.wants/erp-bridge@*.service
  rm -f /etc/systemd/system/erp-bridge.service.d/notify-access.conf /etc/systemd/system/erp-bridge@.service.d/notify-access.conf
  rmdir /etc/systemd/system/erp-bridge.service.d /etc/systemd/system/erp-bridge@.service.d 2>/dev/null || true
  systemctl daemon-reload
fi
rm -rf /usr/lib/erp-bridge /usr/share/erp-bridge /usr/share/doc/erp-bridge /var/cache/erp-bridge
rm -f /usr/share/lintian/overrides/erp-bridge
rm -f /usr/bin/erp-bridge /usr/share/man/man1/erp-bridge.1.gz /usr/share/bash-completion/completions/erp-bridge \
  /usr/share/fish/vendor_completions.d/erp-bridge.fish
# Folders that nothing is left in: other programs' files keep theirs.
for folder in lintian/overrides fish/vendor_completions.d bash-completion/completions man/man1; do
  (cd /usr/share && rmdir -p "$folder" 2>/dev/null) || true
done
if [ "${1:-}" = "--purge" ]; then
  rm -rf /etc/erp-bridge /var/lib/erp-bridge
  rm -rf /etc/systemd/system/erp-bridge.service.d /etc/systemd/system/erp-bridge@*.service.d
  if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl reset-failed erp-bridge.service 'erp-bridge@*.service' 2>/dev/null || true
  fi
  if getent passwd erp-bridge >/dev/null; then userdel erp-bridge; fi
  if getent group erp-bridge >/dev/null; then groupdel erp-bridge; fi
  echo "erp-bridge is gone, with its configuration, its data, its user and its group."
  echo "Copies in other folders (backup.dir, backup.journal) stay; they belong to a user that no longer exists."
else
  echo "erp-bridge is gone. /etc/erp-bridge and /var/lib/erp-bridge stay."
fi
