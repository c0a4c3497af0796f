#!/bin/bash
# Usage: prepare.sh NAME
id hosted > /dev/null 2>&1 || sudo useradd --system --home-dir /srv/hosted --shell /usr/sbin/nologin hosted
sudo mkdir -p /srv/hosted
sudo chown hosted /srv/hosted
echo "$1" > /srv/hosted/machine
