#!/bin/sh
# Serves the folder /srv/farm; the placeholders are replaced before the script is sent.
set -e
mkdir -p /srv/farm
echo '%NAME%' > /srv/farm/name.txt

if [ -d /run/systemd/system ]; then
    cat > /etc/systemd/system/farm.service <<'UNIT'
[Unit]
Description=Web farm
After=network.target

[Service]
ExecStart=/usr/bin/env python3 -m http.server --directory /srv/farm %PORT%
Restart=always

[Install]
WantedBy=multi-user.target
UNIT
    systemctl daemon-reload
    systemctl enable --quiet farm.service
    systemctl restart farm.service
else
    cd /
    setsid nohup python3 -m http.server --directory /srv/farm '%PORT%' > /var/log/farm.log 2>&1 < /dev/null &
fi

tries=0
until curl --silent --fail --max-time 2 'http://127.0.0.1:%PORT%/name.txt' > /dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -ge 100 ]; then
        echo 'the farm does not answer on port %PORT%' >&2
        exit 1
    fi
    sleep 0.1
done
sudo iptables -C INPUT -p tcp --dport '%PORT%' -j ACCEPT 2> /dev/null ||
    sudo iptables -I INPUT -p tcp --dport '%PORT%' -j ACCEPT 2> /dev/null || true
