#!/usr/bin/python3
"""First steps of a server: network, name, SSH keys, and once in its life what its user data says.

Runs as root in the guest (Python 3.9 or later, standard library only), mounted read-only at `SEED` beside
``server.json``, which the host wrote: ``{"id", "hostname", "nics", "keys", "environment", "steps"}``; the host has
taken the user data apart into ``steps`` (`vetro.clouds.guest.user_data`). Commands: ``network`` (may be repeated),
``boot`` (the user data). Progress goes to the console, and as JSON into `STATE`.
"""

from __future__ import annotations

import base64
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

SEED = os.environ.get("VETRO_SEED", "/run/vetro-guest")
STATE = os.environ.get("VETRO_STATE", "/run/vetro-boot.json")
MARK = os.environ.get("VETRO_MARK", "/var/lib/vetro/booted")
LOG = os.environ.get("VETRO_LOG", "/var/log/vetro-boot.log")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: What ``server.json`` holds, and one of its steps.
Server = dict[str, Any]
Step = dict[str, Any]
#: Seconds that an interface may take to appear.
PATIENCE = 30


def main(argv: list[str]) -> int:
    """Does what the command line says; gives the exit status."""
    with open(os.path.join(SEED, "server.json"), encoding="utf-8") as file:
        server = json.load(file)
    command = argv[1] if len(argv) > 1 else "boot"
    if command == "network":
        try:
            set_names(server)
            set_network(server)
        except Exception as error:
            tell("broken", [f"{type(error).__name__}: {error}"])
            raise
        tell("network")
        return 0
    if command == "boot":
        return boot(server)
    print(f"boot.py: unknown command {command!r}; use network or boot", file=sys.stderr)
    return 2


def tell(phase: str, problems: Iterable[str] = ()) -> None:
    """Says how far the server is."""
    write(STATE, json.dumps({"phase": phase, "problems": list(problems), "at": time.time()}), 0o644)


def say(text: str) -> None:
    """A line for the console and the log."""
    print("vetro: " + text, flush=True)
    os.makedirs(os.path.dirname(LOG), exist_ok=True)
    with open(LOG, "a", encoding="utf-8") as file:
        file.write(time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime()) + text + "\n")


def write(path: str, text: str | bytes, mode: int, append: bool = False) -> None:
    """Writes a file with its folders; it is there as a whole or not at all."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    data = text if isinstance(text, bytes) else text.encode("utf-8")
    if append and os.path.exists(path):
        with open(path, "ab") as file:
            file.write(data)
        return
    handle, fresh = tempfile.mkstemp(dir=folder, prefix=".vetro-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(fresh, mode)
        os.replace(fresh, path)
    except BaseException:
        os.unlink(fresh)
        raise


# -- names and network ------------------------------------------------------------------------------------------------


def set_names(server: Server) -> None:
    """The server's own name: every sudo complains when it cannot be resolved."""
    name = server["hostname"]
    write("/etc/hostname", name + "\n", 0o644)
    try:
        with open("/proc/sys/kernel/hostname", "w", encoding="ascii") as file:
            file.write(name)
    except OSError:
        subprocess.call(["hostname", name])
    begin, end = "# vetro: begin\n", "# vetro: end\n"
    first = [nic["addresses"][0].split("/")[0] for nic in server["nics"] if nic["addresses"]]
    # Its own address, not a loopback one: clusters tell each other what they find here.
    lines = ["127.0.0.1 localhost\n", *(f"{address} {name}\n" for address in first or ["127.0.1.1"])]
    try:
        with open("/etc/hosts", encoding="utf-8", errors="surrogateescape") as file:
            old = file.read()
    except OSError:
        old = ""
    if begin in old and end in old:
        # Lines that packages added stay.
        head, _, rest = old.partition(begin)
        old = head + rest.partition(end)[2]
    with open("/etc/hosts", "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(begin + "".join(lines) + end + old)


def ip(*words: str) -> bool:
    """Runs `ip`; True when it succeeded."""
    return subprocess.call(["ip", *words], stderr=subprocess.DEVNULL) == 0


def set_network(server: Server) -> None:
    """Gives every interface its addresses and routes; more often gives the same."""
    ip("link", "set", "lo", "up")
    metric = 100
    for nic in server["nics"]:
        name = nic["name"]
        end = time.monotonic() + PATIENCE
        while not os.path.exists("/sys/class/net/" + name):
            if time.monotonic() > end:
                raise OSError(f"the interface {name} did not appear within {PATIENCE} s")
            time.sleep(0.01)
        noted = "/run/vetro-addresses-" + name
        before = set()
        if os.path.exists(noted):
            with open(noted, encoding="ascii") as file:
                before = set(file.read().split())
        ip("link", "set", name, "up")
        for address in nic["addresses"]:
            ip("addr", "replace", address, "dev", name)
        for address in before - set(nic["addresses"]):
            ip("addr", "del", address, "dev", name)
        write(noted, "\n".join(nic["addresses"]), 0o644)
        if nic.get("gateway"):
            # The first interface wins; the others' routes serve when it is gone.
            ip("route", "replace", "default", "via", nic["gateway"], "dev", name, "metric", str(metric))
            metric += 100


# -- user data --------------------------------------------------------------------------------------------------------


def boot(server: Server) -> int:
    """The user data once in a server's life, early commands at every start; gives the exit status."""
    problems = []
    first = True
    if os.path.exists(MARK):
        with open(MARK, encoding="utf-8") as file:
            first = file.read().strip() != server["id"]
    if first:
        # Marked before: a script that reboots the server is not run again and again.
        write(MARK, server["id"] + "\n", 0o644)
        set_keys(server["keys"])
    tell("scripts")
    for number, step in enumerate(server["steps"]):
        if not first and not step.get("always"):
            continue
        try:
            status = STEPS[step["kind"]](step, server, number)
        except Exception:
            say(f"step {number + 1} ({step['kind']}): {traceback.format_exc().splitlines()[-1]}")
            status = 1
        if status:
            problems.append(f"step {number + 1} ({step['kind']}) ended with status {status}")
            say(problems[-1])
    tell("failed" if problems else "done", problems)
    say("the server is ready" + (f", with {len(problems)} problem(s)" if problems else ""))
    return 0


def set_keys(keys: list[str]) -> None:
    """Public keys that may log in as root."""
    if keys:
        os.makedirs("/root/.ssh", mode=0o700, exist_ok=True)
        write("/root/.ssh/authorized_keys", "".join(key.strip() + "\n" for key in keys), 0o600)


def environment(server: Server) -> dict[str, str]:
    """What scripts find in their environment."""
    fixed = {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "USER": "root"}
    fixed.update(server["environment"])
    return fixed


def run(argv: list[str], server: Server) -> int:
    """Runs a program; what it prints goes to the console and the log. Gives its exit status."""
    os.makedirs(os.path.dirname(LOG), exist_ok=True)
    with open(LOG, "ab") as log:
        # Output goes to a file, not to a pipe: daemons that a script leaves behind keep it open.
        start = log.tell()
        status = subprocess.call(
            argv, cwd="/", env=environment(server), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
    with open(LOG, "rb") as log:
        log.seek(max(start, os.path.getsize(LOG) - 65536))
        sys.stdout.write(log.read().decode("utf-8", "replace"))
        sys.stdout.flush()
    return status


def run_script(step: Step, server: Server, number: int) -> int:
    """A whole script, with the interpreter that its first line names."""
    path = f"/var/lib/vetro/scripts/{number:03d}"
    text = step["text"]
    write(path, text if text.startswith("#!") else "#!/bin/sh\n" + text, 0o700)
    say(f"running script {number + 1}")
    return run([path], server)


def run_command(step: Step, server: Server, number: int) -> int:
    """One command: words, or a line for the shell."""
    words = step["command"]
    return run(words if isinstance(words, list) else ["/bin/sh", "-c", words], server)


def write_file(step: Step, server: Server, number: int) -> int:
    """A file with owner and mode."""
    data = base64.b64decode(step["data"])
    write(step["path"], data, int(step["mode"]), step.get("append", False))
    if step.get("owner"):
        user, _, group = step["owner"].partition(":")
        shutil.chown(step["path"], user or -1, group or -1)
    return 0


def add_user(step: Step, server: Server, number: int) -> int:
    """A user with its groups and keys."""
    name = step["name"]
    groups = ["-G", step["groups"]] if step.get("groups") else []
    shell = ["-s", step.get("shell") or "/bin/bash"]
    if subprocess.call(["id", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) != 0:
        status = run(["useradd", "-m", *shell, *groups, name], server)
        if status:
            return status
    if step.get("sudo"):
        write("/etc/sudoers.d/vetro-" + name, "{} {}\n".format(name, step["sudo"]), 0o440)
    if step.get("keys"):
        user = pwd.getpwnam(name)
        folder = os.path.join(user.pw_dir, ".ssh")
        write(os.path.join(folder, "authorized_keys"), "".join(key + "\n" for key in step["keys"]), 0o600)
        for path in (folder, os.path.join(folder, "authorized_keys")):
            os.chown(path, user.pw_uid, user.pw_gid)
        os.chmod(folder, 0o700)
    return 0


def set_password(step: Step, server: Server, number: int) -> int:
    """Passwords as lines ``user:password``."""
    done = subprocess.run(["chpasswd"], input=step["lines"].encode(), stdout=subprocess.DEVNULL)
    return done.returncode


def rename(step: Step, server: Server, number: int) -> int:
    """The name that the user data wants."""
    changed = dict(server, hostname=step["hostname"])
    set_names(changed)
    return 0


def more_keys(step: Step, server: Server, number: int) -> int:
    """Further keys of root."""
    set_keys([*server["keys"], *step["keys"]])
    return 0


def note(step: Step, server: Server, number: int) -> int:
    """Something that is left out, said for whoever reads the console."""
    say(step["text"])
    return 0


STEPS: dict[str, Callable[[Step, Server, int], int]] = {
    "script": run_script,
    "command": run_command,
    "file": write_file,
    "user": add_user,
    "password": set_password,
    "hostname": rename,
    "keys": more_keys,
    "note": note,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv))
