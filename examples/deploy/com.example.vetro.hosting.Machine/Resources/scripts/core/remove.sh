#!/bin/bash
# Usage: remove.sh NAME
here="$(cd "$(dirname "$0")/.." && pwd)"
. "$here/unit.sh"
stop_program "$1"
rm -rf "/srv/hosted/$1" "/etc/systemd/system/hosted-$1.service" "/var/log/hosted-$1.log"
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
