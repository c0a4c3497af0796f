#!/bin/sh
# Usage: install-shop.sh PORT DATABASE_URL TOKEN DATABASE
set -e
mkdir -p /opt/webshop /etc/webshop
install -m 0755 webshop.py /opt/webshop/webshop.py
install -m 0644 page.html /opt/webshop/page.html
umask 077
printf 'PORT=%s\nDATABASE_URL=%s\nTOKEN=%s\nDATABASE=%s\n' "$1" "$2" "$3" "$4" > /etc/webshop/shop.conf
umask 022
[ -f /etc/webshop/greeting.txt ] || echo Welcome > /etc/webshop/greeting.txt

if [ -d /run/systemd/system ]; then
    cat > /etc/systemd/system/webshop.service <<'UNIT'
[Unit]
Description=Web shop
After=network.target

[Service]
ExecStart=/usr/bin/env python3 /opt/webshop/webshop.py /etc/webshop/shop.conf
Restart=always

[Install]
WantedBy=multi-user.target
UNIT
    systemctl daemon-reload
    systemctl enable --quiet webshop.service
    systemctl restart webshop.service
else
    if [ -f /run/webshop.pid ]; then
        kill "$(cat /run/webshop.pid)" 2> /dev/null || true
    fi
    cd /
    setsid nohup python3 /opt/webshop/webshop.py /etc/webshop/shop.conf > /var/log/webshop.log 2>&1 < /dev/null &
    echo $! > /run/webshop.pid
fi

sudo iptables -C INPUT -p tcp --dport "$1" -j ACCEPT 2> /dev/null ||
    sudo iptables -I INPUT -p tcp --dport "$1" -j ACCEPT 2> /dev/null || true

tries=0
until curl --silent --fail --max-time 5 "http://127.0.0.1:$1/report" > /dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -ge 100 ]; then
        echo "the shop does not answer on port $1" >&2
        curl --silent --max-time 5 "http://127.0.0.1:$1/report" >&2 || true
        exit 1
    fi
    sleep 0.1
done
echo "serving on $1"
