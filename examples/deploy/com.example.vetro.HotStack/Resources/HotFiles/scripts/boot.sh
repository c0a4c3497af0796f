#!/bin/sh
umask 077
echo '$PASSWORD' > /root/password
