#!/bin/sh
# Usage: install-database.sh PORT TOKEN. Installs the database, or gives it another port or token, and waits for it.
set -e
port="$1"
token="$2"

mkdir -p /opt/minidb /var/lib/minidb
install -m 0755 minidb.py /opt/minidb/minidb.py
umask 077
printf 'MINIDB_PORT=%s\nMINIDB_TOKEN=%s\nMINIDB_FOLDER=/var/lib/minidb\n' "$port" "$token" > /etc/minidb.conf
umask 022

if [ -d /run/systemd/system ]; then
    cat > /etc/systemd/system/minidb.service <<'UNIT'
[Unit]
Description=Small SQL database
After=network.target

[Service]
ExecStart=/usr/bin/env python3 /opt/minidb/minidb.py /etc/minidb.conf
Restart=always

[Install]
WantedBy=multi-user.target
UNIT
    systemctl daemon-reload
    systemctl enable --quiet minidb.service
    systemctl restart minidb.service
else
    if [ -f /run/minidb.pid ]; then
        kill "$(cat /run/minidb.pid)" 2> /dev/null || true
    fi
    cd /
    setsid nohup python3 /opt/minidb/minidb.py /etc/minidb.conf > /var/log/minidb.log 2>&1 < /dev/null &
    echo $! > /run/minidb.pid
fi

sudo iptables -C INPUT -p tcp --dport "$port" -j ACCEPT 2> /dev/null ||
    sudo iptables -I INPUT -p tcp --dport "$port" -j ACCEPT 2> /dev/null || true

tries=0
until curl --silent --fail --max-time 2 "http://127.0.0.1:$port/alive" > /dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -ge 100 ]; then
        echo "the database does not answer on port $port" >&2
        exit 1
    fi
    sleep 0.1
done
echo "listening on $port"
