from __future__ import annotations

import ast
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

from tests.agent.agentworld import AgentProcess, call, script_plan
from vetro.agent.build import agent_bytes, build_agent
from vetro.agent.guest import VERSION
from vetro.agent.signing import ensure_key
from vetro.agent.sockets import SocketChannel

_OLD_PYTHON = next(
    (str(path) for path in sorted(Path.home().glob(".pyenv/versions/3.9.*/bin/python3.9"))), "/usr/bin/python3.9"
)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={"PATH": "/usr/bin:/bin"}, cwd="/")


def test_the_same_bytes_always() -> None:
    assert agent_bytes() == agent_bytes()


def test_one_executable_file(tmp_path: Path) -> None:
    path = build_agent(tmp_path / "new" / "muranoagent")
    assert (path, os.access(path, os.X_OK)) == (tmp_path / "new" / "muranoagent", True)
    assert os.listdir(path.parent) == ["muranoagent"]
    assert path.read_bytes().startswith(b"#!/usr/bin/env python3\n")
    assert build_agent(tmp_path / "new") == path


def test_it_is_written_only_when_it_differs(tmp_path: Path) -> None:
    path = build_agent(tmp_path)
    before = path.stat()
    assert build_agent(tmp_path).stat().st_ino == before.st_ino
    path.write_text("old")
    assert build_agent(tmp_path).read_bytes() == agent_bytes()


def test_it_needs_the_standard_library_only(program: Path) -> None:
    """With no site packages at all it tells its version and its options."""
    done = run(sys.executable, "-I", "-S", str(program), "--version")
    assert (done.stdout.strip(), done.stderr) == (f"muranoagent {VERSION}", "")
    done = run(sys.executable, "-I", "-S", "-W", "error", str(program), "--help")
    assert all(option in done.stdout for option in ("--config-dir", "--config-file", "--once"))


def test_imports_are_of_the_standard_library() -> None:
    for item in resources.files("vetro.agent.guest").iterdir():
        if item.name.endswith(".py"):
            for node in ast.walk(ast.parse(item.read_text(), feature_version=(3, 9))):
                if isinstance(node, ast.Import):
                    assert all(name.name.split(".")[0] in sys.stdlib_module_names for name in node.names), item.name
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    assert str(node.module).split(".")[0] in sys.stdlib_module_names, item.name


@pytest.mark.skipif(not os.path.exists(_OLD_PYTHON), reason="needs Python 3.9")
def test_it_runs_with_python_3_9(program: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(program)!r})\n" + "".join(
        f"import {name[:-3].replace('/', '.')}\n"
        for name in zipfile.ZipFile(program).namelist()
        if name.startswith("muranoagent/") and not name.endswith("__init__.py")
    )
    done = run(_OLD_PYTHON, "-c", code + "print(sys.version_info[:2])")
    assert (done.stdout.strip(), done.stderr) == ("(3, 9)", "")


@pytest.mark.skipif(not os.path.exists(_OLD_PYTHON), reason="needs Python 3.9")
def test_it_serves_with_python_3_9(
    channel: SocketChannel, make_agent: Callable[..., AgentProcess], tmp_path: Path
) -> None:
    agent = make_agent(engine_key=(key := ensure_key(tmp_path / "key")).public_pem())
    agent.stop()
    agent.python = _OLD_PYTHON
    agent.start()
    assert call(channel, script_plan("echo hello"), key=key)["Body"] == "hello"
    assert call(channel, script_plan("exit 2"), key=key)["ErrorCode"] == 100
    assert agent.stop() == 0


def test_wrong_settings_are_named(program: Path, tmp_path: Path) -> None:
    done = run(sys.executable, str(program), "--config-dir", str(tmp_path))
    assert (done.returncode, "configuration" in done.stderr) == (2, True)
    (tmp_path / "a.conf").write_text("[rabbitmq]\n")
    done = run(sys.executable, str(program), "--config-dir", str(tmp_path))
    assert (done.returncode, "input_queue" in done.stderr) == (2, True)
    (tmp_path / "file").write_text("")
    (tmp_path / "a.conf").write_text(
        f"[DEFAULT]\nstorage={tmp_path}/file\n[rabbitmq]\ninput_queue=q\nresult_routing_key=r\n"
    )
    done = run(sys.executable, str(program), "--config-dir", str(tmp_path))
    assert (done.returncode, "file" in done.stderr) == (1, True)
    assert "Traceback" not in done.stderr
