#!/usr/bin/python3 -I
"""A certificate that the server makes itself: ``own``; see `io.vetro.std.Certificate`."""

import json
import os
import subprocess
import sys
import tempfile

#: Days that a certificate is valid, and the seconds that it has to be when it is looked at.
DAYS, LEFT = 825, 30 * 86400


def openssl(*words):
    """What openssl says; its status and output."""
    return subprocess.run(["openssl", *words], capture_output=True, text=True, check=False)


def own(given):
    """A certificate for a name and its key are in their files, and valid for another month."""
    name, path, key = given["name"], given["path"], given.get("key")
    if os.path.exists(path) and os.path.exists(key or path):
        # Apart: with -checkend it looks at nothing else.
        lasts = openssl("x509", "-in", path, "-noout", "-checkend", str(LEFT)).returncode == 0
        if lasts and "does match" in openssl("x509", "-in", path, "-noout", "-checkhost", name).stdout:
            return {"changed": False}
    mask = os.umask(0o077)
    try:
        make(name, path, key)
    finally:
        os.umask(mask)
    return {"changed": True}


def make(name, path, key):
    """Writes the two files; without ``key`` both into the one."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        made = [os.path.join(folder, one) for one in ("crt", "key")]
        kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", str(DAYS)]
        names = ["-subj", f"/CN={name[:64]}", "-addext", f"subjectAltName=DNS:{name}"]
        done = openssl("req", *kind, *names, "-out", made[0], "-keyout", made[1])
        if done.returncode != 0:
            sys.exit(f"openssl: {done.stderr.strip()[-500:]}")
        if key:
            os.rename(made[1], key)
        else:
            with open(made[0], "a", encoding="ascii") as out, open(made[1], encoding="ascii") as one:
                out.write(one.read())
        os.rename(made[0], path)


if __name__ == "__main__":
    json.dump({"own": own}[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
