#!/usr/bin/python3
"""Applies one software configuration in a server, once: a second call with the same id gives the first one's result.

Reads ``{"id", "group", "config", "inputs", "timeout"}`` from standard input, writes ``{"stdout", "stderr", "code"}``,
or ``{"refused": reason}`` where the image has no hook for the group. It goes on when who asked is gone; a second call
waits for it. Groups besides ``script`` run the hook programs of Heat's images where they are installed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
from typing import Any

FOLDER = os.environ.get("VETRO_CONFIGS", "/var/lib/vetro/configs")
#: Where images keep Heat's hooks.
HOOKS = ("/usr/libexec/heat-config/hooks", "/var/lib/heat-config/hooks")
#: Characters that are kept of what a script prints.
LARGEST = 4 << 20


def main() -> int:
    """Does it; gives the exit status."""
    request = json.load(sys.stdin)
    os.makedirs(FOLDER, mode=0o700, exist_ok=True)
    path = os.path.join(FOLDER, hashlib.sha256(request["id"].encode()).hexdigest()[:32])
    with open(path + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(path + ".json"):
            with open(path + ".json", encoding="utf-8") as file:
                result = json.load(file)
        else:
            result = apply(request, path)
            if "refused" not in result:
                with open(path + ".new", "w", encoding="utf-8") as file:
                    json.dump(result, file)
                os.replace(path + ".new", path + ".json")
    json.dump(result, sys.stdout)
    return 0


def apply(request: dict[str, Any], path: str) -> dict[str, Any]:
    """Runs the script or the hook; gives the result."""
    group = request["group"] or "script"
    if group in ("script", "Heat::Ungrouped"):
        text = request["config"]
        with open(path, "w", encoding="utf-8") as file:
            file.write(text if text.startswith("#!") else "#!/bin/sh\n" + text)
        os.chmod(path, 0o700)
        inputs = {
            key: value if isinstance(value, str) else json.dumps(value) for key, value in request["inputs"].items()
        }
        return run([path], request, None, {**os.environ, **inputs})
    for folder in HOOKS:
        hook = os.path.join(folder, group)
        if os.access(hook, os.X_OK):
            named = [{"name": key, "value": value} for key, value in request["inputs"].items()]
            given = {**request, "inputs": named, "outputs": [], "options": {}, "name": request["id"]}
            done = run([hook], request, json.dumps(given), dict(os.environ))
            try:
                answer = json.loads(done["stdout"])
            except ValueError:
                return done
            return {
                "stdout": str(answer.get("deploy_stdout", "")),
                "stderr": str(answer.get("deploy_stderr", "")),
                "code": int(answer.get("deploy_status_code", 0) or 0),
            }
    return {"refused": f"the image has no hook for the group '{group}' in {' or '.join(HOOKS)}"}


def run(argv: list[str], request: dict[str, Any], given: str | None, env: dict[str, str]) -> dict[str, Any]:
    """Runs a program in files of its own (daemons that it leaves behind may keep them open)."""
    base = os.path.join(FOLDER, f"run-{os.getpid()}")
    try:
        with open(base + ".in", "w+b") as stdin, open(base + ".out", "w+b") as out, open(base + ".err", "w+b") as err:
            stdin.write((given or "").encode())
            stdin.seek(0)
            child = subprocess.Popen(
                argv, cwd="/", env=env, stdin=stdin, stdout=out, stderr=err, start_new_session=True
            )
            try:
                code = child.wait(request["timeout"])
                late = ""
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, 9)
                child.wait()
                code, late = 124, f"\nit did not end within {request['timeout']:g} s"
            texts = [tail(file) for file in (out, err)]
    finally:
        for name in (".in", ".out", ".err"):
            if os.path.exists(base + name):
                os.unlink(base + name)
    return {"stdout": texts[0], "stderr": texts[1] + late, "code": code}


def tail(file: Any) -> str:
    """The end of what was written."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - LARGEST))
    return str(file.read().decode("utf-8", "replace"))


if __name__ == "__main__":
    sys.exit(main())
