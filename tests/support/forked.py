"""Python programs in processes of their own that find loaded what all of them load: forked from one that waits.

For tests that run many commands one after the other. What a command is like whose process is new is tested elsewhere.
Django is set up there, too, for an installation that nobody uses: programs go on with their own (`setup.move_to`).
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
#: What is loaded before a program is.
LOADED = (
    "argon2",
    "django.contrib.auth.hashers",
    "django.core.management",
    "django.db.backends.sqlite3.base",
    "django.db.migrations.executor",
    "oslo_policy.policy",
    "psycopg",
    "vetro.cli.commands.admin",
    "vetro.cli.commands.db",
    "vetro.cli.main",
    "vetro.engine.host",
    "vetro.engine.task.launcher",
    "vetro.library.natives",
    "vetro.muranopl.api",
    "vetro.server.http.startup",
    "vetro.server.setup",
)
#: These change what Python itself does at its start: who has others needs a process of its own.
_OF_PYTHON = ("PYTHONHASHSEED", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "LD_PRELOAD")
_server: subprocess.Popen[str] | None = None


def run(
    module: str, *words: str, env: Mapping[str, str], cwd: Path = ROOT, input: str = "", timeout: float = 100
) -> subprocess.CompletedProcess[str]:
    """``python -m MODULE WORDS`` with these variables only: its status and what it said."""
    command = [sys.executable, "-m", module, *words]
    if any(env.get(name) != os.environ.get(name) for name in _OF_PYTHON):
        return subprocess.run(command, env=env, cwd=cwd, input=input, capture_output=True, text=True, timeout=timeout)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("input", "output", "errors")]
        paths[0].write_text(input, encoding="utf-8")
        order = {"module": module, "words": words, "env": dict(env), "cwd": str(cwd), "paths": list(map(str, paths))}
        status = _asked(order, timeout)
        return subprocess.CompletedProcess(command, status, *(path.read_text("utf-8") for path in paths[1:]))


def _asked(order: dict[str, Any], timeout: float) -> int:
    global _server
    if _server is None:
        own = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
        argv, pipe = [sys.executable, "-m", __name__], subprocess.PIPE
        _server = subprocess.Popen(argv, cwd=ROOT, env=own, text=True, stdin=pipe, stdout=pipe)
    assert _server.stdin is not None and _server.stdout is not None
    late = threading.Timer(timeout, _server.kill)
    late.start()
    try:
        print(json.dumps(order), file=_server.stdin, flush=True)
        answer = _server.stdout.readline()
        assert answer, f"{order['words']} did not end in {timeout:.0f} seconds"
        return int(answer)
    except BaseException:
        _server.kill()
        close()
        raise
    finally:
        late.cancel()


@atexit.register
def close() -> None:
    """Ends the process that waits."""
    global _server
    if _server is not None:
        assert _server.stdin is not None and _server.stdout is not None
        _server.stdin.close()
        _server.wait()
        _server.stdout.close()
        _server = None


def main() -> None:
    """Forks a process for each line of standard input, and prints how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        _set_up(Path(folder))
        for name in LOADED:
            import_module(name)
        import_module("django.db.migrations.loader").MigrationLoader(None)  # loads all migrations
    gc.freeze()
    del sys.modules["vetro.cli.main"]  # the program of all commands, which `runpy` loads
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for line in orders:
        pid = os.fork()
        if pid == 0:
            orders.close()
            answers.close()
            _become(**json.loads(line))
        status = os.waitpid(pid, 0)[1]
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _set_up(folder: Path) -> None:
    """Sets up Django, before anything is loaded that does so itself."""
    from vetro.server import setup
    from vetro.server.config.config import Config
    from vetro.server.tasks.backends import backend

    def go_on(given: Config | None = None) -> Config:
        found = given or Config.load()
        assert backend(found) is None, "its apps are not those of the process that this one was forked from"
        setup.move_to(found)
        return found

    setup.setup(Config.load(folder))
    setup._current = None
    setup.setup = go_on


def _become(module: str, words: list[str], env: dict[str, str], cwd: str, paths: list[str]) -> None:
    """Is the program from here on."""
    os.chdir(cwd)
    for number, path in enumerate(paths):
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(env)
    sys.argv[1:] = words
    status: Any = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    if isinstance(status, str):
        print(status, file=sys.stderr)
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status or 0)


if __name__ == "__main__":
    main()
