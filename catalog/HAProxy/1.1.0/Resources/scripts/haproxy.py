#!/usr/bin/python3 -I
"""What is asked of a running HAProxy: ``status``."""

import csv
import json
import socket
import sys

SOCKET = "/run/haproxy/admin.sock"


def say(command):
    """What HAProxy answers to a command."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(SOCKET)
        connection.sendall(command.encode() + b"\n")
        answer = b""
        while block := connection.recv(65536):
            answer += block
    return answer.decode("utf-8", "replace")


def status(given):
    """Of each server whether it is well, its share, and how many requests it had since HAProxy last read its file."""
    rows = csv.DictReader(say("show stat").removeprefix("# ").splitlines())
    return [
        {
            "application": row["pxname"],
            "server": row["svname"],
            "state": row["status"].partition(" ")[0].lower(),
            "weight": int(row["weight"] or 0),
            "requests": int(row["stot"] or 0),
            "errors": int(row["econ"] or 0) + int(row["eresp"] or 0),
            "sessions": int(row["scur"] or 0),
        }
        for row in rows
        if row["svname"] not in ("FRONTEND", "BACKEND")
    ]


if __name__ == "__main__":
    json.dump({"status": status}[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
