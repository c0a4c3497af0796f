#!/bin/bash
# Usage: run.sh NAME SCRIPT SETTINGS ARGUMENTS...
set -e
here="$(cd "$(dirname "$0")/.." && pwd)"
. "$here/unit.sh"
name="$1"
script="$2"
settings="$3"
shift 3

stop_program "$name"
mkdir -p "/srv/hosted/$name"
install -m 0644 "$script" "/srv/hosted/$name/program.py"
install -m 0640 -g "$(id -g hosted)" "$settings" "/srv/hosted/$name/settings"
chown hosted "/srv/hosted/$name"
start_program "$name" "$@"

for port in $(sed -n 's/^PORTS=//p' "$settings" | tr ',' ' '); do
    sudo iptables -C INPUT -p tcp --dport "$port" -j ACCEPT 2> /dev/null ||
        sudo iptables -I INPUT -p tcp --dport "$port" -j ACCEPT 2> /dev/null || true
    tries=0
    until (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do
        tries=$((tries + 1))
        if [ "$tries" -ge 100 ]; then
            echo "$name does not listen on port $port" >&2
            exit 1
        fi
        sleep 0.1
    done
done
echo "$name is running"
