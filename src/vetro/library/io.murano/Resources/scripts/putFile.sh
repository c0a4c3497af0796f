#!/bin/sh
# Puts the file that was delivered beside this script to the path given as the only argument.
# The agent delivers a link to where it keeps the content. A file that is there keeps its owner and mode.
set -eu

target=$1
source=$(readlink -f content)

mkdir -p "$(dirname "$target")"
cat "$source" > "$target"
rm -f "$source"
