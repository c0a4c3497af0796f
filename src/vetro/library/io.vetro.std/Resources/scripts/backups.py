#!/usr/bin/python3 -I
"""The folder of an application's backups: ``begin``, ``finish``, ``list`` and ``find``; see `io.vetro.std.Backup`.

A backup is one file, named by the moment at which it was begun. Beside it is its checksum; what has none was not
finished, counts for nothing, and goes with the next backup.
"""

import glob
import hashlib
import json
import os
import re
import sys
import time

_NAME = re.compile(r"\d{8}T\d{6}Z")


def checksum(path):
    """SHA-256 of a file."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def finished(folder):
    """The backups that are whole, newest first."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*Z.sha256")), reverse=True):
        name = os.path.basename(path)[: -len(".sha256")]
        data = os.path.join(folder, name)
        if _NAME.fullmatch(name) and os.path.isfile(data):
            with open(path, encoding="ascii") as file:
                found.append({"name": name, "size": os.path.getsize(data), "sha256": file.read().strip(), "path": data})
    return found


def begin(folder, given):
    """Where the next backup is to be written."""
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o711)  # users that write one get there, and see no others
    whole = {one["path"] for one in finished(folder)}
    for path in glob.glob(os.path.join(folder, "*Z")):
        if path not in whole:
            os.unlink(path)
    while os.path.exists(path := os.path.join(folder, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))):
        time.sleep(0.2)
    return {"path": path}


def finish(folder, given):
    """Takes up what was written since `begin`, and removes what is too old."""
    whole = {one["path"] for one in finished(folder)}
    begun = sorted(path for path in glob.glob(os.path.join(folder, "*Z")) if path not in whole)
    if not begun:
        raise SystemExit("no backup was written")
    path = begun[-1]
    if not os.path.getsize(path):
        raise SystemExit("the backup that was written is empty")
    os.chown(path, 0, 0)
    os.chmod(path, 0o600)
    with open(path, "rb") as file:
        os.fsync(file.fileno())
    with open(path + ".new", "w", encoding="ascii") as out:
        out.write(checksum(path))
    os.rename(path + ".new", path + ".sha256")
    there = finished(folder)
    for old in there[max(1, given["keep"]) :]:
        os.unlink(old["path"] + ".sha256")
        os.unlink(old["path"])
    return {**there[0], "changed": True}


def find(folder, given):
    """One backup, as it was written. Ends with a message where there is none, or where it is damaged."""
    there = finished(folder)
    if not there:
        raise SystemExit("there is no backup")
    one = next((one for one in there if given["name"] in (None, one["name"])), None)
    if one is None:
        raise SystemExit(f"there is no backup {given['name']}, only {', '.join(one['name'] for one in there)}")
    if checksum(one["path"]) != one["sha256"]:
        raise SystemExit(f"the backup {one['name']} is damaged: its checksum is another one than when it was made")
    return one


if __name__ == "__main__":
    given = json.load(sys.stdin)
    commands = {"begin": begin, "finish": finish, "find": find, "list": lambda folder, given: finished(folder)}
    json.dump(commands[sys.argv[1]](given["folder"], given), sys.stdout)
