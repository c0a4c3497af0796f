#!/usr/bin/python3
"""``systemctl`` and ``service`` for servers without an init system (proot): starts and stops what units say.

Does what package scripts and people ask for most; what it does not know it says and ends with 1. A unit is started by
its ``ExecStart`` (``Type``, ``Environment``, ``EnvironmentFile``, ``WorkingDirectory``, ``ExecStartPre``, ``PIDFile``
are understood, users are not changed), a service without a unit by its script in ``/etc/init.d``.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time

UNITS = os.environ.get("VETRO_UNITS", "/etc/systemd/system:/lib/systemd/system:/usr/lib/systemd/system").split(":")
STATE = os.environ.get("VETRO_SERVICES", "/run/vetro-services")
LOGS = os.environ.get("VETRO_SERVICE_LOGS", "/var/log/vetro-services")
#: Verbs that mean nothing without an init system, and succeed.
QUIET = (
    "daemon-reload",
    "enable",
    "disable",
    "mask",
    "unmask",
    "preset",
    "reset-failed",
    "is-enabled",
    "daemon-reexec",
)

Unit = dict[str, list[str]]


def main(argv: list[str]) -> int:
    """Does what the command line says; gives the exit status."""
    words = [word for word in argv[1:] if not word.startswith("-")]
    if os.path.basename(argv[0]) == "service":
        if "--status-all" in argv or len(words) < 2:
            return 0
        return act(words[1], words[0])
    if not words:
        return 0
    verb, names = words[0], words[1:]
    if verb == "is-system-running":
        print("running")
        return 0
    if verb in QUIET:
        return max([act("start", name) for name in names], default=0) if "--now" in argv and verb == "enable" else 0
    return max([act(verb, name) for name in names], default=0)


def act(verb: str, name: str) -> int:
    """One verb for one service."""
    name = name.removesuffix(".service")
    unit = read_unit(name)
    script = os.path.join("/etc/init.d", name)
    if unit is None:
        if os.access(script, os.X_OK):
            return subprocess.call([script, "status" if verb == "is-active" else verb])
        print(f"Failed to {verb} {name}.service: Unit {name}.service not found.", file=sys.stderr)
        return 5
    if verb in ("status", "is-active", "show"):
        running = pid_of(name, unit) is not None or os.path.exists(os.path.join(STATE, name + ".done"))
        print("active" if running else "inactive")
        return 0 if running else 3
    if verb in ("stop", "kill"):
        return stop(name, unit)
    if verb in ("restart", "force-reload", "reload-or-restart"):
        stop(name, unit)
        return start(name, unit)
    if verb in ("try-restart", "condrestart"):
        return start(name, unit) if pid_of(name, unit) is not None and stop(name, unit) == 0 else 0
    if verb == "reload":
        pid = pid_of(name, unit)
        if pid is not None:
            os.kill(pid, signal.SIGHUP)
        return 0 if pid is not None else 1
    if verb == "start":
        return start(name, unit)
    print(f"systemctl: '{verb}' is not known here", file=sys.stderr)
    return 1


def read_unit(name: str) -> Unit | None:
    """The settings of a unit's ``[Service]`` part; None when there is no unit."""
    for folder in UNITS:
        path = os.path.join(folder, name + ".service")
        if os.path.exists(path) and os.path.realpath(path) != "/dev/null":
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read().replace("\\\n", " ")
            unit: Unit = {}
            section = ""
            for line in text.splitlines():
                line = line.strip()
                if line.startswith("["):
                    section = line
                elif section == "[Service]" and "=" in line and line[0] not in "#;":
                    key, _, value = line.partition("=")
                    unit.setdefault(key.strip(), []).append(value.strip())
            return unit
    return None


def environment(unit: Unit) -> dict[str, str]:
    """What the service finds in its environment."""
    env = dict(os.environ)
    for path in unit.get("EnvironmentFile", []):
        optional, path = path.startswith("-"), path.lstrip("-")
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = [line.strip() for line in file if "=" in line and not line.lstrip().startswith("#")]
            env.update({key: value.strip("\"'") for key, _, value in (line.partition("=") for line in lines)})
        elif not optional:
            print(f"there is no environment file {path}", file=sys.stderr)
    for words in unit.get("Environment", []):
        env.update({key: value for key, _, value in (word.partition("=") for word in shlex.split(words))})
    return env


def start(name: str, unit: Unit) -> int:
    """Starts a service that does not run."""
    if pid_of(name, unit) is not None:
        return 0
    env = environment(unit)
    kind = (unit.get("Type") or ["simple"])[-1]
    folder = (unit.get("WorkingDirectory") or ["/"])[-1].lstrip("-") or "/"
    for place in (
        STATE,
        LOGS,
        *("/run/" + word for words in unit.get("RuntimeDirectory", []) for word in words.split()),
    ):
        os.makedirs(place, exist_ok=True)
    with open(os.path.join(LOGS, name + ".log"), "ab") as log:
        for command in unit.get("ExecStartPre", []) + (unit.get("ExecStart", []) if kind == "oneshot" else []):
            status = subprocess.call(words_of(command, env), env=env, cwd=folder, stdout=log, stderr=log)
            if status and not command.startswith("-"):
                print(f"Job for {name}.service failed: '{command}' ended with status {status}", file=sys.stderr)
                return 1
        if kind == "oneshot":
            open(os.path.join(STATE, name + ".done"), "w").close()
            return 0
        command = (unit.get("ExecStart") or ["/bin/true"])[-1]
        child = subprocess.Popen(
            words_of(command, env),
            env=env,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    if kind == "forking":
        return 0 if child.wait() == 0 else 1
    with open(os.path.join(STATE, name + ".pid"), "w", encoding="ascii") as file:
        file.write(str(child.pid))
    time.sleep(0.2)  # long enough for a command that cannot begin at all
    return 0 if child.poll() in (None, 0) else 1


def stop(name: str, unit: Unit) -> int:
    """Stops a service."""
    done = os.path.join(STATE, name + ".done")
    if os.path.exists(done):
        os.unlink(done)
    for command in unit.get("ExecStop", []):
        env = environment(unit)
        env["MAINPID"] = str(pid_of(name, unit) or "")
        subprocess.call(words_of(command, env), env=env)
    pid = pid_of(name, unit)
    if pid is None:
        return 0
    for number, patience in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 2.0)):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return 0
        end = time.monotonic() + patience
        while alive(pid) and time.monotonic() < end:
            time.sleep(0.05)
        if not alive(pid):
            return 0
    return 1


def pid_of(name: str, unit: Unit) -> int | None:
    """The main process of a service that runs."""
    for path in [os.path.join(STATE, name + ".pid"), *unit.get("PIDFile", [])]:
        try:
            with open(path, encoding="ascii") as file:
                pid = int(file.read().split()[0])
        except (OSError, ValueError, IndexError):
            continue
        if alive(pid):
            return pid
    return None


def alive(pid: int) -> bool:
    """Whether a process runs and is no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def words_of(command: str, env: dict[str, str]) -> list[str]:
    """The words of a command of a unit, variables filled in."""
    words: list[str] = []
    for word in shlex.split(command.lstrip("-@+!:")):
        if word.startswith("$") and not word.startswith("${"):
            words += env.get(word[1:], "").split()
            continue
        for key, value in env.items():
            word = word.replace("${" + key + "}", value)
        words.append(word)
    return words


if __name__ == "__main__":
    sys.exit(main(sys.argv))
