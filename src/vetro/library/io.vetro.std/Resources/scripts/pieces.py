#!/usr/bin/python3 -I
"""Parts of files that go to people or come from them: what `io.vetro.std.File` sends, run by an agent as root.

Reads ``{"do": kind, ...}`` from standard input and writes its answer to ``answer.json`` beside itself. A part may come
twice, and a file that is there already stays. A file is replaced as a whole, once all of it has come and is what it was
said to be; until then it is a file of root's beside its place.
"""

import base64
import grp
import hashlib
import json
import os
import pwd
import re
import stat
import sys
import time

_ID = re.compile(r"[0-9a-f]{32}")
_STEP = 1 << 20
#: Seconds.
_KEPT = 86400


class Failed(Exception):
    """It cannot be done; the text is for people."""


def place_of(given):
    path = given["path"]
    if not path.startswith("/") or path.endswith("/") or "\0" in path or ".." in path.split("/"):
        raise Failed(f"'{path}' is no absolute path of a file")
    return path


def opened(path, flags):
    """A file that is none but an ordinary one: a link, a pipe or a device is not followed, read or waited for."""
    file = os.fdopen(os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise Failed(f"'{path}' is no ordinary file")
    return file


def digest(file, path):
    found, left = hashlib.sha256(), os.fstat(file.fileno()).st_size
    while data := file.read(min(_STEP, left + 1)):
        left -= len(data)
        if left < 0:  # it grows, or is one of the kernel's, which say that they are empty
            break
        found.update(data)
    if left:
        raise Failed(f"'{path}' has not as many bytes as it says, or changes while it is read")
    return found.hexdigest()


def mark(file):
    """Says whether a file is still the same."""
    now = os.fstat(file.fileno())
    return f"{now.st_dev}:{now.st_ino}:{now.st_mtime_ns}:{now.st_size}"


def owner_of(given):
    try:
        who = pwd.getpwnam(given.get("owner") or "root")
        return who.pw_uid, grp.getgrnam(given["group"]).gr_gid if given.get("group") else who.pw_gid
    except KeyError as error:
        raise Failed(f"'{given['path']}' cannot have this owner: {error.args[0]}") from None


def part_of(given):
    """Where the parts of a file are until all have come."""
    if not _ID.fullmatch(given["file"]):
        raise Failed("a file is named by 32 hexadecimal digits")
    return os.path.join(os.path.dirname(place_of(given)), f".vetro-{given['file']}.part")


def look(given):
    """Whether the file is there already; its owner and mode become what they are to be."""
    try:
        with opened(place_of(given), os.O_RDONLY) as there:
            now = os.fstat(there.fileno())
            if now.st_size != given["size"] or digest(there, given["path"]) != given["sha256"]:
                return {"same": False}
            (uid, gid), mode = owner_of(given), int(given["mode"], 8)
            same = (now.st_uid, now.st_gid, stat.S_IMODE(now.st_mode)) == (uid, gid, mode)
            if not same:
                os.fchown(there.fileno(), uid, gid)
                os.fchmod(there.fileno(), mode)
            return {"same": True, "changed": not same}
    except IsADirectoryError:
        raise Failed(f"'{given['path']}' is a folder") from None
    except (OSError, Failed):
        return {"same": False}


def forget(folder):
    """Removes parts of files that came no further a day ago."""
    for one in os.scandir(folder):
        ours = re.fullmatch(r"\.vetro-[0-9a-f]{32}\.part", one.name) and not one.is_dir(follow_symlinks=False)
        try:
            if ours and time.time() - one.stat(follow_symlinks=False).st_mtime > _KEPT:
                os.unlink(one.path)
        except FileNotFoundError:
            pass  # somebody else was faster


def put(given):
    path, data = part_of(given), base64.b64decode(given["data"])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if given["at"] == 0:
        forget(os.path.dirname(path))
    room = os.statvfs(os.path.dirname(path))
    left = given["size"] - given["at"]
    if left > room.f_bavail * room.f_frsize:
        raise Failed(f"there is no room for '{given['path']}': {left} bytes are to come")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as out:
        now = os.fstat(out.fileno())
        if (now.st_uid, now.st_nlink) != (os.geteuid(), 1) or not stat.S_ISREG(now.st_mode):
            raise Failed(f"'{path}' is somebody else's")
        if now.st_size < given["at"]:
            raise Failed("the parts that came before are gone: send the file again")
        os.ftruncate(out.fileno(), given["at"])
        os.lseek(out.fileno(), given["at"], os.SEEK_SET)
        out.write(data)
    return {}


def finish(given):
    path, new, (uid, gid) = place_of(given), part_of(given), owner_of(given)
    if given["size"] == 0:
        put({**given, "at": 0, "data": ""})
    try:
        file = opened(new, os.O_RDONLY)
    except FileNotFoundError:
        if look(given)["same"]:  # it is done for the second time
            return {}
        raise Failed(f"the parts of '{path}' are gone: send the file again") from None
    with file:
        if os.fstat(file.fileno()).st_size != given["size"] or digest(file, path) != given["sha256"]:
            os.unlink(new)
            raise Failed(f"what came for '{path}' is not the file that was sent")
        os.fchown(file.fileno(), uid, gid)
        os.fchmod(file.fileno(), int(given["mode"], 8))
        os.fsync(file.fileno())
    os.rename(new, path)
    print(f"wrote {path}", flush=True)
    return {}


def stat_of(given):
    with _readable(given) as there:
        return {"mark": mark(there), "size": os.fstat(there.fileno()).st_size, "sha256": digest(there, given["path"])}


def get(given):
    with _readable(given) as there:
        data = os.pread(there.fileno(), given["most"], given["at"])
        if mark(there) != given["mark"] or len(data) != given["most"]:
            raise Failed(f"'{given['path']}' changed while it was read")
        return {"data": base64.b64encode(data).decode("ascii")}


def _readable(given):
    try:
        return opened(place_of(given), os.O_RDONLY)
    except OSError as error:
        raise Failed(f"'{given['path']}' cannot be read: {error.strerror}") from None


def main():
    given = json.load(sys.stdin)
    try:
        answer = {"look": look, "put": put, "finish": finish, "stat": stat_of, "get": get}[given["do"]](given)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"'{given['path']}': {error.strerror}", file=sys.stderr)
        return 1
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "answer.json"), "w", encoding="utf-8") as out:
        json.dump(answer, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
