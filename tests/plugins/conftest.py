"""Plug-ins as a stranger gets them: built into wheels, installed into a folder of their own, used by a new process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: ``run(*arguments, see=[folders])``: a Python process that sees these folders; output and errors as text.
Run = Callable[..., "subprocess.CompletedProcess[str]"]
#: ``own("vetro-example")``: where that plug-in of ours is installed.
Own = Callable[[str], Path]


def python(*arguments: str, see: list[Path] | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A new Python process. It inherits nothing that would show it this checkout, but Vetro itself is installed."""
    hidden = ("PYTHON", "PYTEST_", "DJANGO_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    inherited = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    environment |= {
        "PYTHONPATH": os.pathsep.join([*map(str, see or ()), *inherited]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "VETRO_CACHE": "off",
        "NO_COLOR": "1",
    }
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=cwd, timeout=100, check=False
    )


def _installed(source: Path, into: Path) -> Path:
    """The distribution at ``source`` built and installed, without network, into a folder."""
    pip = ["-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "--quiet"]
    wheels = into / "wheels"
    offline = ["--no-deps", "--no-index"]
    built = python(*pip, "wheel", *offline, "--no-build-isolation", "--wheel-dir", str(wheels), str(source), cwd=into)
    assert built.returncode == 0, built.stderr
    (wheel,) = wheels.glob("*.whl")
    target = into / "site"
    done = python(*pip, "install", *offline, "--no-compile", "--target", str(target), str(wheel), cwd=into)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """``install(folder)``: where the distribution is installed; each is built once."""
    known: dict[Path, Path] = {}

    def find(source: Path) -> Path:
        if source not in known:
            known[source] = _installed(source, tmp_path_factory.mktemp(source.name))
        return known[source]

    return find


@pytest.fixture(scope="session")
def own(install: Callable[[Path], Path]) -> Own:
    """See `Own`."""
    return lambda name: install(ROOT / "plugins" / name)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Python in an empty folder."""

    def start(*arguments: str, see: list[Path] | None = None) -> subprocess.CompletedProcess[str]:
        return python(*arguments, see=see, cwd=tmp_path)

    return start
