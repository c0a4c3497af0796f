#!/bin/sh
echo "$1 is set up"
