#!/bin/sh
# Installs erp-bridge from its unpacked archive on a system without dpkg: run as root. Run again with a newer archive it
# is an upgrade. Configuration and data are never touched.
set -eu
cd "$(dirname "$0")"

if [ "$(id -u)" -ne 0 ]; then
  echo "install.sh must be run as root" >&2
  exit 1
fi
case "$(uname -sm)" in
  "Linux @UNAME@") ;;
  *)
    echo "This archive is for Linux on @UNAME@." >&2
    exit 1
    ;;
esac

# The new program beside the old one, then the names change: what runs keeps its files until it is restarted.
rm -rf /usr/lib/erp-bridge.new
mkdir -p /usr/lib
cp -R usr/lib/erp-bridge /usr/lib/erp-bridge.new
if ! /usr/lib/erp-bridge.new/node /usr/lib/erp-bridge.new/bin/erp-bridge.mjs --version >/dev/null; then
  rm -rf /usr/lib/erp-bridge.new
  echo "The program does not start on this system: it needs glibc 2.34 and libstdc++ of GCC 11, or newer." >&2
  exit 1
fi
rm -rf /usr/lib/erp-bridge.old
if [ -d /usr/lib/erp-bridge ]; then
  mv /usr/lib/erp-bridge /usr/lib/erp-bridge.old
fi
mv /usr/lib/erp-bridge.new /usr/lib/erp-bridge
rm -rf /usr/lib/erp-bridge.old

install -m 0755 usr/bin/erp-bridge /usr/bin/erp-bridge
(cd usr/share && find . -type f) | while read -r file; do
  install -D -m 0644 "usr/share/$file" "/usr/share/$file"
done
/usr/lib/erp-bridge/prepare-host

if [ -d /run/systemd/system ]; then
  # Below /etc, because /usr/lib/systemd belongs to the system's own packages.
  for unit in erp-bridge.service erp-bridge@.service; do
    install -m 0644 "usr/lib/systemd/system/$unit" "/etc/systemd/system/$unit"
    # Without perl nobody opens the notification socket, and the program systemd-notify speaks instead.
    drop_in=/etc/systemd/system/$unit.d/notify-access.conf
    if [ -x /usr/bin/perl ]; then
      rm -f "$drop_in"
    else
      mkdir -p "$(dirname "$drop_in")"
      start=$(sed -n 's|^ExecStart=/usr/lib/erp-bridge/with-notify-socket ||p' "usr/lib/systemd/system/$unit")
      printf '[Service]\nNotifyAccess=all\nExecStart=\nExecStart=%s\n' "$start" >"$drop_in"
    fi
  done
  systemctl daemon-reload
  systemctl try-restart erp-bridge.service 'erp-bridge@*.service'
fi
echo "erp-bridge $(erp-bridge --version) is installed."
if [ ! -e /etc/erp-bridge/config.yaml ]; then
  printf "%s\n" "It is not yet configured. Next:" "  erp-bridge init" "  systemctl enable --now erp-bridge"
fi
