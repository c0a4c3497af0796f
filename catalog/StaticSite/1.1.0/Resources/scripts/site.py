#!/usr/bin/python3 -I
"""What a site needs besides files: ``pull`` of its repository, and ``certify``, a certificate of its own."""

import json
import os
import subprocess
import sys

SITE, TLS = "/srv/site", "/etc/nginx/tls"


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


def certify(given):
    """A certificate for a name, unless there is one that is valid for another month."""
    certificate, key = f"{TLS}/site.crt", f"{TLS}/site.key"
    if os.path.exists(certificate) and os.path.exists(key):
        asked = [
            "openssl",
            "x509",
            "-in",
            certificate,
            "-noout",
            "-checkend",
            str(30 * 86400),
            "-checkhost",
            given["name"],
        ]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode == 0 and "does match" in done.stdout:
            return {"changed": False}
    os.umask(0o077)
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "825",
        "-subj",
        f"/CN={given['name'][:64]}",
        "-addext",
        f"subjectAltName=DNS:{given['name']}",
        "-keyout",
        key,
        "-out",
        certificate,
    ]
    done = subprocess.run(made, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"openssl: {done.stderr.strip()[-500:]}")
    subprocess.run(["sh", "-c", "systemctl is-active --quiet nginx && systemctl reload nginx || true"], check=True)
    return {"changed": True}


if __name__ == "__main__":
    json.dump({"pull": pull, "certify": certify}[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
