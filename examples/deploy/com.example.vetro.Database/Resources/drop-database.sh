#!/bin/sh
set -e
curl --silent --show-error --fail --max-time 20 -H 'X-Token: %TOKEN%' \
    -d '{"database": "%DATABASE%"}' http://127.0.0.1:%PORT%/drop
