#!/bin/sh
# Usage: watch.sh NAME PEER INTERVAL. Keeps a log of the runs of this script in /var/log/watch-runs.log.
set -e
echo "$1 $2 $3" >> /var/log/watch-runs.log
mkdir -p /opt/watcher
install -m 0755 watcher /opt/watcher/watcher.py
if [ -f /run/watcher.pid ]; then
    kill "$(cat /run/watcher.pid)" 2> /dev/null || true
fi
cd /
setsid nohup python3 /opt/watcher/watcher.py "$2" "$3" > /var/log/watcher.log 2>&1 < /dev/null &
echo $! > /run/watcher.pid
echo "watching $2"
