#!/usr/bin/python3
"""``systemctl`` and ``service`` for servers without an init system (proot): starts and stops what units say.

Does what package scripts and people ask for most; what it does not know it says and ends with 1. A unit is started by
its ``ExecStart`` (``Type``, ``Environment``, ``EnvironmentFile``, ``WorkingDirectory``, ``ExecStartPre``, ``PIDFile``
are understood, users are not changed), a service without a unit by its script in ``/etc/init.d``.

``systemctl start-enabled`` is what an init system does when a server starts: it starts the services that were enabled
in this server's life, by ``systemctl enable`` or as packages do it, by links; not those that the image came with.
Besides those that ran when the server was stopped: the agent is started by ``service`` where there is no init system,
and a server is stopped for each snapshot.
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
WANTS = os.environ.get("VETRO_WANTS", "/etc/systemd/system")
LOGS = os.environ.get("VETRO_SERVICE_LOGS", "/var/log/vetro-services")
#: Verbs that mean nothing without an init system, and succeed.
QUIET = (
    "daemon-reload",
    "mask",
    "unmask",
    "preset",
    "reset-failed",
    "daemon-reexec",
)
#: Targets that a server comes up to.
TARGETS = ("multi-user.target", "default.target", "graphical.target")

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
        return 0
    if verb == "start-enabled":
        return max([act("start", name) for name in dict.fromkeys([*ran(), *enabled()])], default=0)
    if verb in ("enable", "reenable", "disable"):
        status = max([(disable if verb == "disable" else enable)(name) for name in names], default=0)
        now = "stop" if verb == "disable" else "start"
        return max([status, *(act(now, name) for name in names)]) if "--now" in argv else status
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
    if verb == "is-enabled":
        print("enabled" if links_of(name) else "disabled")
        return 0 if links_of(name) else 1
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


def enable(name: str) -> int:
    """Has a service started when the server starts."""
    name = name.removesuffix(".service")
    install = read_unit(name, "[Install]")
    if install is None:
        if os.path.exists(os.path.join("/etc/init.d", name)):
            return 0
        print(f"Failed to enable unit: Unit file {name}.service does not exist.", file=sys.stderr)
        return 1
    for target in [word for words in install.get("WantedBy", []) for word in words.split()]:
        link = os.path.join(WANTS, target + ".wants", name + ".service")
        os.makedirs(os.path.dirname(link), exist_ok=True)
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(path_of(name) or "", link)
    return 0


def disable(name: str) -> int:
    """Has a service started by hand only."""
    for link in links_of(name.removesuffix(".service")):
        os.unlink(link)
    return 0


def links_of(name: str) -> list[str]:
    """By which a service is enabled."""
    links = [os.path.join(WANTS, target + ".wants", name + ".service") for target in TARGETS]
    return [link for link in links if os.path.lexists(link)]


def enabled() -> list[str]:
    """The services that were enabled since the server was made, which is when this program was put into it."""
    made = os.stat(__file__).st_mtime
    found: dict[str, None] = {}
    for target in TARGETS:
        folder = os.path.join(WANTS, target + ".wants")
        for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if entry.endswith(".service") and os.lstat(os.path.join(folder, entry)).st_mtime > made:
                found[entry[: -len(".service")]] = None
    return list(found)


def ran() -> list[str]:
    """The services that ran when the server was stopped."""
    before = STATE + "-before"
    names = sorted(os.listdir(before)) if os.path.isdir(before) else []
    return [name[: -len(".pid")] for name in names if name.endswith(".pid")]


def path_of(name: str) -> str | None:
    """The file of a unit; None where it has none, or is masked."""
    for folder in UNITS:
        path = os.path.join(folder, name + ".service")
        if os.path.exists(path) and os.path.realpath(path) != "/dev/null":
            return path
    return None


def read_unit(name: str, part: str = "[Service]") -> Unit | None:
    """The settings of a part of a unit; None when there is no unit."""
    path = path_of(name)
    if path is None:
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read().replace("\\\n", " ")
    unit: Unit = {}
    section = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line
        elif section == part and "=" in line and line[0] not in "#;":
            key, _, value = line.partition("=")
            unit.setdefault(key.strip(), []).append(value.strip())
    return unit


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
