#!/bin/bash
# Usage: installBanner.sh HOST; the text comes on standard input. The frame is a compressed file.
{
    zcat frame.txt.gz
    cat
    echo
    zcat frame.txt.gz
} > /etc/motd
cp /etc/motd /etc/issue
echo "$1 says $(wc -l < /etc/motd) lines"
