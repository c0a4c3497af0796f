"""Commands run in an empty folder, in this process, as a user without a terminal would run them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from vetro.cli.main import main
from vetro.server import sandboxed_workers
from vetro.server.tasks import effect_hosts

MANIFEST = """\
Format: {format}
Type: Application
FullName: {name}
Version: {version}
Name: Sample
Description: A package of the tests.
Classes:
{classes}
"""


def write_package(
    folder: Path,
    classes: dict[str, str],
    *,
    name: str = "t",
    version: str = "1.0.0",
    format: str = "1.4",
    extra: str = "",
) -> Path:
    """A package folder; ``classes`` maps full class names to the text of their files."""
    (folder / "Classes").mkdir(parents=True)
    listed = "\n".join(f"  {full}: {full.rpartition('.')[2]}.yaml" for full in classes)
    manifest = MANIFEST.format(format=format, name=name, version=version, classes=listed) + extra
    (folder / "manifest.yaml").write_text(manifest, encoding="utf-8")
    for full, text in classes.items():
        (folder / "Classes" / f"{full.rpartition('.')[2]}.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def no_contexts(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands act on this machine, whatever servers the user of this machine is signed in at."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "nobody"))
    monkeypatch.delenv("VETRO_CONTEXT", raising=False)


@pytest.fixture(autouse=True)
def own_database(django_db_blocker: Any) -> Iterator[None]:
    """Commands about this machine bring a database of their own, whichever Django has in this process."""
    with django_db_blocker.unblock():
        yield


#: What ends the processes of a command; most tests keep these for the next one.
ENDS = (sandboxed_workers.close, effect_hosts.close)
#: Variables that the processes were started with which are kept for the next command.
_started_with: dict[str, str] = {}
#: Those that are for commands only: the processes get folders by their settings.
_OF_COMMANDS = frozenset({"PYTEST_CURRENT_TEST", "VETRO_WORKSPACE", "VETRO_CACHE", "XDG_CONFIG_HOME", "XDG_DATA_HOME"})


@pytest.fixture(autouse=True)
def kept_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What each command on this machine starts for itself is kept for the commands after it: it takes a second.

    It is started anew for a command with other variables.
    """

    def kept(made: Callable[..., Any]) -> Callable[..., Any]:
        def get(*args: Any, **more: Any) -> Any:
            now = {name: value for name, value in os.environ.items() if name not in _OF_COMMANDS}
            if _started_with != now:
                for end in ENDS:
                    end()
                _started_with.clear()
                _started_with.update(now)
            return made(*args, **more)

        return get

    monkeypatch.setattr(sandboxed_workers, "launcher", kept(sandboxed_workers.launcher))
    monkeypatch.setattr(effect_hosts, "host", kept(effect_hosts.host))
    monkeypatch.setattr(sandboxed_workers, "close", lambda: None)
    monkeypatch.setattr(effect_hosts, "close", lambda: None)


@pytest.fixture(scope="session", autouse=True)
def ended_processes() -> Iterator[None]:
    """Ends them after all tests."""
    yield
    sandboxed_workers.close()
    effect_hosts.close()


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A running `vetro serve` with a worker and recorded servers, and people in two projects."""
    from tests.cli.remotekit import Installation

    made = Installation(tmp_path_factory.mktemp("installation"))
    try:
        made.prepare()
        yield made
    finally:
        made.end()


@pytest.fixture
def remote(installation: Any, here: Path) -> Any:
    """``ann`` at a terminal, signed in at that service, with `deploykit`'s box in her folder."""
    from tests.cli.remotekit import Remote

    return Remote(installation, here, "ann")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and an environment that says nothing about colours.

    What commands keep for later ones (compiled packages, the template of a workspace) is kept for all tests, in all
    processes of the run.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VETRO_CACHE", str(Path(os.environ["TESTS_FOLDER"], "commands")))
    for name in ("NO_COLOR", "FORCE_COLOR", "VETRO_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def vetro(here: Path) -> Callable[..., Result]:
    """``vetro("eval", "1 + 1", input=None)``: the command's result."""

    def run(*args: str, input: str | bytes | None = None, **options: Any) -> Result:
        return CliRunner().invoke(main, args, input=input, prog_name="vetro", **options)

    return run
