#!/bin/sh
# A database is there from its first statement on.
set -e
curl --silent --show-error --fail --max-time 20 -H 'X-Token: %TOKEN%' \
    -d '{"database": "%DATABASE%", "sql": "select 1"}' http://127.0.0.1:%PORT%/query
