#!/bin/sh
# Usage: report.sh PORT
set -e
curl --silent --show-error --fail --max-time 20 "http://127.0.0.1:$1/report"
