"""The version of a task's program tells apart what shares a version number."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import vetro
from vetro.engine.version import digest, engine_version

ROOT = Path(vetro.__file__).parent


def test_it_is_the_version_and_a_digest_of_the_text() -> None:
    assert re.fullmatch(re.escape(vetro.__version__) + r"\+[0-9a-f]{8}", engine_version())
    assert engine_version().endswith(digest(ROOT))


def test_other_text_is_another_program_and_the_same_text_the_same(tmp_path: Path) -> None:
    copy = tmp_path / "vetro"
    shutil.copytree(ROOT / "yaql", copy / "yaql", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "cli").mkdir()
    first = digest(copy)
    (copy / "cli" / "new.py").write_text("# no part of what runs packages\n")
    (copy / "yaql" / "notes.txt").write_text("no text of the program\n")
    assert digest(copy) == first
    lexer = copy / "yaql" / "lexer.py"
    lexer.write_bytes(lexer.read_bytes().replace(b"\n", b"\r\n"))
    assert digest(copy) == first
    lexer.write_text(lexer.read_text() + "\n# changed\n")
    second = digest(copy)
    assert second != first
    lexer.rename(lexer.with_name("lexing.py"))
    assert digest(copy) not in (first, second)


def test_another_standard_library_is_another_program(tmp_path: Path) -> None:
    """Its classes decide what a task does when it is run again, and are no Python."""
    copy = tmp_path / "vetro"
    shutil.copytree(ROOT / "library", copy / "library", ignore=shutil.ignore_patterns("__pycache__"))
    found = [digest(copy)]
    for name in ("Classes/Environment.yaml", "Resources/Agent-v2.template", "manifest.yaml"):
        path = copy / "library" / "io.murano" / name
        path.write_text(path.read_text() + "\n# changed\n")
        found.append(digest(copy))
    assert len(set(found)) == 4
    (copy / "library" / "__pycache__").mkdir()
    for name in ("stacks.cpython-311.pyc", "stacks.cpython-311.pyc.140234560"):  # the second one is just being made
        (copy / "library" / "__pycache__" / name).write_bytes(b"made by whoever imports")
    (copy / "library" / ".stacks.py.swp").write_bytes(b"made by an editor")
    assert digest(copy) == found[-1]


_CHANGED = """
import os, pathlib, signal, vetro
from vetro.engine.task.launcher import Launcher, LauncherError
with Launcher() as launcher:
    launcher.start().close()
    os.kill(launcher.pid, signal.SIGKILL)
    launcher.start().close()
    lexer = pathlib.Path(vetro.__file__).parent / "yaql" / "lexer.py"
    lexer.write_text(lexer.read_text() + "\\n# changed\\n")
    launcher.start().close()  # the zygote that runs has what it began with
    os.kill(launcher.pid, signal.SIGKILL)
    for _ in range(2):
        try:
            launcher.start()
        except LauncherError as error:
            print(error.message, "|", error.hint)
"""


@pytest.mark.campaign
def test_a_program_that_was_changed_on_disk_starts_no_tasks(tmp_path: Path) -> None:
    shutil.copytree(ROOT, tmp_path / "vetro", ignore=shutil.ignore_patterns("__pycache__", "server", "cli"))
    done = subprocess.run(
        [sys.executable, "-P", "-c", _CHANGED],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    told = "the program was changed on disk since this process began | start the service, or the command, again"
    assert (done.returncode, done.stderr, done.stdout.splitlines()) == (0, "", [told, told])
