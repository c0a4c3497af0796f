#!/bin/sh
set -e
curl --silent --show-error --fail --max-time 60 "http://127.0.0.1:%PORT%/backup"
