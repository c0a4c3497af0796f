"""`Workspace`: a folder of environments of one person, and the service over it in this process.

::

    <workspace>/vetro.toml      settings, if there are any: those of a server (docs/settings.md)
                vetro.db        environments, sessions, tasks, journals, packages
                keys            what models and journals are encrypted with
                blobs/          archives of packages
                locks/          a file for each environment at work
                cloud/          state of the cloud
"""

from __future__ import annotations

import getpass
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

from django.db import connections

from vetro.clouds import kinds
from vetro.clouds.stacks.settings import StackSettings
from vetro.server import setup
from vetro.server.caller import Caller
from vetro.server.config.config import Config, ConfigError, make_data
from vetro.server.config.table import SETTINGS
from vetro.server.local import database, locks
from vetro.server.setup import move_to
from vetro.yaql.errors import VetroError

#: The project to which everything in a workspace belongs.
PROJECT = "local"
#: Where earlier versions kept an environment as a folder each (`vetro.server.local.takeover`).
_OLD_FOLDER = "environments"
#: Settings that are paths.
_PATHS = ("cloud.script", "engine.class_configs", "engine.signing_key")
#: Its only user.
USER = "local"


def default_root() -> Path:
    """``$VETRO_WORKSPACE``, else ``vetro`` in the user's data folder."""
    given = os.environ.get("VETRO_WORKSPACE")
    if given:
        return Path(given)
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "vetro"


class Workspace:
    """A workspace that is open: Django works on its database. A context manager.

    Nothing is made in a folder where there is nothing before ``keep`` is called: until then the database is in a
    temporary folder, and gone after the command.
    """

    def __init__(
        self, root: str | os.PathLike[str] | None = None, *, templates: Path | None = None, scratch: bool = False
    ) -> None:
        """``templates``: where copies of new databases are kept (`database.prepare`). ``scratch``: what is done is done
        to a copy, which is gone afterwards; the cloud is that of the workspace."""
        self.root = (default_root() if root is None else Path(root)).absolute()
        self._templates = templates
        self._copied = scratch
        self._stack = ExitStack()
        self._scratch: Path | None = None
        self._config: Config | None = None
        #: Environments of earlier versions that cannot be read, and why.
        self.damaged: dict[str, str] = {}
        self.caller = Caller(USER, _user_name(), PROJECT, PROJECT, ("admin",), True)

    @property
    def config(self) -> Config:
        """The settings. Raises `ConfigError`."""
        if self._config is None:
            self._config = self._load(self._scratch or self.root)
        return self._config

    def _load(self, data: Path) -> Config:
        file = self.root / "vetro.toml"
        # Variables of servers on this machine are not meant for workspaces.
        config = Config.load(data, file if file.exists() else None, environ={})
        if config.file is not None:
            _check(config)
        if data == self.root:
            return config
        # Paths in the file are relative to the workspace.
        mine = {
            name: str(self.root / str(config[name]))
            for name in _PATHS
            if isinstance(config[name], str) and config[name]
        }
        return config.changed({"cloud.directory": str(self.root / "cloud"), **mine})

    def __enter__(self) -> Workspace:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        connections.close_all()
        self._stack.close()

    def _start(self) -> None:
        there = exists(self.root)
        if self._copied or not there:
            folder = tempfile.TemporaryDirectory(prefix="vetro-workspace-")
            self._scratch = Path(self._stack.enter_context(folder))
        if there and self._copied:
            _copy(self.root, self.config.data)
        make_data(self.config)
        setup.open_with(self.config, self._stack)
        database.prepare(self.config, self._templates)
        old = self.config.data / _OLD_FOLDER
        if old.is_dir():
            from vetro.server.local.takeover import take_over  # it needs models, and Django is set up now

            self.damaged = take_over(self.config, self.caller, old)

    @property
    def kept(self) -> bool:
        """Whether what is written stays."""
        return self._scratch is None

    def keep(self) -> None:
        """Makes the folder, with what was written so far: something in it is to stay. Not of a copy."""
        if self._scratch is None or self._copied:
            return
        connections.close_all()
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locks.held(self.root / "locks" / "workspace"):
            if not exists(self.root):
                for path in self._scratch.iterdir():
                    if path.name != "vetro.db" and not (self.root / path.name).exists():
                        shutil.move(path, self.root / path.name)
                # Last: with it the workspace is there.
                shutil.move(self._scratch / "vetro.db", self.root / "vetro.db")
        self._scratch = None
        self._config = self._load(self.root)
        move_to(self._config)

    def lock(self, environment_id: str) -> locks.Lock:
        """Held while a task of an environment runs."""
        return locks.Lock(self.config.data / "locks" / environment_id)


def exists(root: Path) -> bool:
    """Whether there is a workspace: environments were made in it, by this version or an earlier one."""
    return (root / "vetro.db").exists() or (root / _OLD_FOLDER).is_dir()


def _copy(root: Path, target: Path) -> None:
    """Database, keys and packages of a workspace; those that there are."""
    if (root / "vetro.db").exists():
        with (
            closing(sqlite3.connect(root / "vetro.db", timeout=20)) as source,
            closing(sqlite3.connect(target / "vetro.db")) as made,
        ):
            source.backup(made)
    for name in ("keys", "secrets"):
        with suppress(FileNotFoundError):
            shutil.copy2(root / name, target / name)
    for name in ("blobs", "environments"):
        if (root / name).is_dir():
            shutil.copytree(root / name, target / name)


def _check(config: Config) -> None:
    """Raises `ConfigError` for what would only show when a task begins: fields of settings that are tables."""
    from vetro.agent.broker_accounts import broker_of
    from vetro.engine.class_configs import rows_of

    readers: dict[str, Callable[[Any], Any]] = {
        "cloud.settings": StackSettings.from_json,
        "engine.broker": broker_of,
        "engine.class_configs": lambda given: rows_of(given, config.data),
    }
    for item in SETTINGS:
        section, _, name = item.name.partition(".")
        if section == "cloud" and item.type is dict and name != "settings" and config[item.name]:
            readers[item.name] = kinds.find(name).settings.from_json
    for name, read in readers.items():
        try:
            if config[name]:
                read(config[name])
        except VetroError as error:
            wrong = ConfigError(f"{config.file}: {name}: {error.message}")
            wrong.hint = error.hint or wrong.hint
            raise wrong from None
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{config.file}: {name}: {error}") from None


def _user_name() -> str:
    with suppress(Exception):  # a user without a name is no reason to stop
        return getpass.getuser()
    return USER
