#!/usr/bin/python3
"""Asks the Memcached of this server: `status` and `flush`, JSON in and JSON out.

Where clients log in, it does so with the first password that is taken.
"""

import json
import socket
import sys

WHERE = ("127.0.0.1", 11211)
#: Seconds that Memcached has for an answer.
SECONDS = 5
SHOWN = {
    "keys": "curr_items",
    "bytes": "bytes",
    "limit": "limit_maxbytes",
    "hits": "get_hits",
    "misses": "get_misses",
    "evictions": "evictions",
    "connections": "curr_connections",
}


class Refused(Exception):
    """Memcached does not do it; the text is for people."""


class Memcached:
    """A connection of the text protocol."""

    def __init__(self, passwords):
        try:
            self._socket = socket.create_connection(WHERE, SECONDS)
        except OSError as error:
            raise Refused(f"Memcached takes no connection: {error}") from None
        self._stream = self._socket.makefile("rwb")
        for password in passwords:
            if self.say(f"set login 0 0 {len(password) + 10}\r\nmemcached {password}") == "STORED":
                break
        else:
            if passwords:
                raise Refused("Memcached refuses all passwords")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stream.close()
        self._socket.close()

    def say(self, line):
        """The first line of the answer."""
        try:
            self._stream.write(f"{line}\r\n".encode())
            self._stream.flush()
            return self.line()
        except OSError as error:
            raise Refused(f"Memcached does not answer: {error}") from None

    def line(self):
        data = self._stream.readline(1 << 16)
        if not data:
            raise Refused("Memcached has closed the connection")
        return data.decode("utf-8", "replace").rstrip("\r\n")

    def statistics(self):
        found, line = {}, self.say("stats")
        while line.startswith("STAT "):
            _, name, value = line.split(" ", 2)
            found[name] = value
            line = self.line()
        if line != "END":
            raise Refused(f"Memcached answers: {line}")
        return found


def status(memcached):
    found = memcached.statistics()
    return {"version": found["version"], **{name: int(found[key]) for name, key in SHOWN.items()}}


def flush(memcached):
    if (answer := memcached.say("flush_all")) != "OK":
        raise Refused(f"Memcached answers: {answer}")
    return {"changed": True}


def main():
    try:
        with Memcached(json.load(sys.stdin)["passwords"]) as memcached:
            json.dump({"status": status, "flush": flush}[sys.argv[1]](memcached), sys.stdout)
    except Refused as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
