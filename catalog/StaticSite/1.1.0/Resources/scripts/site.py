#!/usr/bin/python3 -I
"""What a site needs besides files: ``pull`` of its repository."""

import json
import os
import subprocess
import sys

SITE = "/srv/site"


def git(*words):
    """What git says; ends with its error."""
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "HOME": "/root"}
    done = subprocess.run(["git", *words], capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(f"git {words[0]}: {done.stderr.strip()[-1000:]}")
    return done.stdout.strip()


def pull(given):
    """The branch as it is now, in a folder that takes the place of the former one."""
    mirror = "/var/lib/vetro-site"
    git("init", "--quiet", "--bare", mirror)
    git("-C", mirror, "fetch", "--quiet", "--depth", "1", "--", given["repository"], f"refs/heads/{given['branch']}")
    commit = git("-C", mirror, "rev-parse", "FETCH_HEAD")
    mark = f"{SITE}.commit"
    if os.path.isdir(SITE) and os.path.exists(mark):
        with open(mark, encoding="ascii") as file:
            if file.read() == commit:
                return {"changed": False, "commit": commit}
    new = f"{SITE}.new"
    subprocess.run(["rm", "-rf", "--", new], check=True)
    os.makedirs(new)
    archive = subprocess.Popen(["git", "-C", mirror, "archive", commit], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", new, "--no-same-owner"], stdin=archive.stdout, check=True)
    if archive.wait() != 0:
        sys.exit("git archive: the commit cannot be read")
    subprocess.run(["rm", "-rf", "--", f"{SITE}.old"], check=True)
    if os.path.isdir(SITE):
        os.rename(SITE, f"{SITE}.old")
    os.rename(new, SITE)
    subprocess.run(["rm", "-rf", "--", f"{SITE}.old"], check=True)
    with open(mark, "w", encoding="ascii") as file:
        file.write(commit)
    return {"changed": True, "commit": commit}


if __name__ == "__main__":
    json.dump({"pull": pull}[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
