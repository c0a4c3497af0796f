#!/usr/bin/python3 -I
"""What is done at a running Redis: ``apply``, ``demote``, ``save``, ``restore`` and ``status``.

Input: ``passwords``, of which the first is the present one. It speaks the protocol itself, so no password is a word of
a command line, where every user of the server could read it.
"""

import contextlib
import hashlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time

PORT = 6379
DATA = "/var/lib/redis"
#: Seconds for which writes are held up while a primary is demoted.
PAUSE = 20


class Refused(Exception):
    """Redis answered with an error."""


class Redis:
    """A connection. Raises `Refused` when no password is taken."""

    def __init__(self, passwords, host="127.0.0.1"):
        end = time.monotonic() + 30
        while True:
            try:
                self.socket = socket.create_connection((host, PORT), 10)
                self.socket.settimeout(60)
                self.file = self.socket.makefile("rb")
                self._login(passwords)
                self.say("PING")
                return
            except (OSError, Refused) as error:
                # It loads its data after a start, for as long as that takes.
                if time.monotonic() > end and "LOADING" not in str(error):
                    raise
                time.sleep(0.2)

    def _login(self, passwords):
        for number, password in enumerate(passwords):
            try:
                self.say("AUTH", "default", password)
                return
            except Refused:
                if number == len(passwords) - 1:
                    raise

    def say(self, *words):
        """The answer to a command."""
        data = [str(word).encode() for word in words]
        self.socket.sendall(b"".join([b"*%d\r\n" % len(data), *(b"$%d\r\n%s\r\n" % (len(w), w) for w in data)]))
        return self._answer()

    def _answer(self):
        line = self.file.readline()
        if not line:
            raise OSError("Redis closed the connection")
        kind, rest = line[:1], line[1:].strip().decode("utf-8", "replace")
        if kind == b"-":
            raise Refused(rest)
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"*":
            return [self._answer() for _ in range(int(rest))] if rest != "-1" else None
        if rest == "-1":
            return None
        data = self.file.read(int(rest) + 2)[:-2]
        return data.decode("utf-8", "replace")

    def info(self, section):
        """A section of INFO."""
        lines = self.say("INFO", section).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)


def valid(redis, name):
    """Hashes of the passwords of a user; nothing of one that is not there."""
    user = redis.say("ACL", "GETUSER", name) or []
    return set(dict(zip(user[::2], user[1::2])).get("passwords", ()))


def hashes(passwords):
    return {hashlib.sha256(password.encode()).hexdigest() for password in passwords}


def apply(given):
    """Passwords and role are as wanted, without a restart."""
    redis, changed = Redis(given["passwords"]), False
    metrics = [given["metrics"]] if given.get("metrics") else []
    if valid(redis, "default") != hashes(given["passwords"]) or valid(redis, "vetro_exporter") != hashes(metrics):
        redis.say("ACL", "LOAD")
        changed = True
    if redis.say("CONFIG", "GET", "masterauth")[1] != given["passwords"][0]:
        redis.say("CONFIG", "SET", "masteruser", "default", "masterauth", given["passwords"][0])
        changed = True
    role = redis.info("replication")
    now = role["master_host"] if role["role"] == "slave" else None
    if now != given["follows"]:
        redis.say("REPLICAOF", *([given["follows"], PORT] if given["follows"] else ["NO", "ONE"]))
        changed = True
    if given["follows"]:
        end = time.monotonic() + 60
        while redis.info("replication")["master_link_status"] != "up":
            if time.monotonic() > end:
                raise SystemExit(f"the primary {given['follows']} does not send its data")
            time.sleep(0.2)
    redis.say("CLIENT", "UNPAUSE")
    return {"changed": changed}


def demote(given):
    """Writes wait from now on, and at least one replica has all that was written."""
    redis = Redis(given["passwords"])
    if redis.info("replication")["role"] == "slave":
        return {"changed": False}
    redis.say("CLIENT", "PAUSE", PAUSE * 1000, "WRITE")
    offset = int(redis.info("replication")["master_repl_offset"])
    end = time.monotonic() + PAUSE / 2
    while True:
        found = redis.info("replication")
        slaves = [found[f"slave{number}"] for number in range(int(found["connected_slaves"]))]
        offsets = [int(dict(part.split("=") for part in slave.split(","))["offset"]) for slave in slaves]
        if len(offsets) >= len(given["replicas"]) and all(one >= offset for one in offsets):
            return {"changed": True}
        if time.monotonic() > end:
            redis.say("CLIENT", "UNPAUSE")
            raise SystemExit(
                f"replicas that have what was written: {len(offsets)} of {len(given['replicas'])}; nothing is changed"
            )
        time.sleep(0.05)


def save(given):
    """Writes a snapshot of all data to a file, which nobody else reads."""
    os.umask(0o077)
    redis = Redis(given["passwords"])
    redis.say("BGSAVE", "SCHEDULE")
    while True:
        state = redis.info("persistence")
        if state["rdb_bgsave_in_progress"] == "0" and state.get("aof_rewrite_in_progress") == "0":
            break
        time.sleep(0.1)
    if state["rdb_last_bgsave_status"] != "ok":
        raise SystemExit("Redis could not write its snapshot")
    snapshot = os.open(os.path.join(DATA, "dump.rdb"), os.O_RDONLY | os.O_NOFOLLOW)
    with open(snapshot, "rb") as data, open(given["path"], "wb") as out:
        shutil.copyfileobj(data, out, 1 << 20)
    return {"changed": True, "keys": redis.say("DBSIZE")}


def restore(given):
    """Brings back a snapshot: it becomes the beginning of the append-only file."""
    with open(given["path"], "rb") as file:
        if file.read(5) != b"REDIS":
            raise SystemExit("the file is no snapshot of Redis")
    subprocess.run(["systemctl", "stop", "redis-server"], check=True)
    folder = os.path.join(DATA, "appendonlydir")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder, 0o700)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(DATA, "dump.rdb"))
    listed = b"file appendonly.aof.1.base.rdb seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i\n"
    for path, source in (
        (os.path.join(folder, "appendonly.aof.1.base.rdb"), given["path"]),
        (os.path.join(DATA, "dump.rdb"), given["path"]),
        (os.path.join(folder, "appendonly.aof.1.incr.aof"), None),
        (os.path.join(folder, "appendonly.aof.manifest"), None),
    ):
        # Redis may put links there: none is followed.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(handle, "wb") as out:
            if source:
                with open(source, "rb") as data:
                    shutil.copyfileobj(data, out, 1 << 20)
            elif path.endswith("manifest"):
                out.write(listed)
    who = pwd.getpwnam("redis")
    for _, folders, files, at in os.fwalk(DATA):
        for name in [*folders, *files]:
            os.chown(name, who.pw_uid, who.pw_gid, dir_fd=at, follow_symlinks=False)
    subprocess.run(["systemctl", "start", "redis-server"], check=True)
    return {"changed": True, "keys": Redis(given["passwords"]).say("DBSIZE")}


def status(given):
    """What is to be known of this server."""
    redis = Redis(given["passwords"])
    role = redis.info("replication")
    found = {
        "role": "replica" if role["role"] == "slave" else "primary",
        "keys": redis.say("DBSIZE"),
        "memory": int(redis.info("memory")["used_memory"]),
        "version": redis.info("server")["redis_version"],
    }
    return {**found, "linked": role["master_link_status"] == "up"} if found["role"] == "replica" else found


if __name__ == "__main__":
    given = json.load(sys.stdin)
    try:
        json.dump({f.__name__: f for f in (apply, demote, save, restore, status)}[sys.argv[1]](given), sys.stdout)
    except (OSError, Refused) as error:
        sys.exit(f"Redis: {error}")
