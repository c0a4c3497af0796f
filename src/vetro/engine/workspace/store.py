"""`Workspace`: a folder of environments."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from pathlib import Path
from typing import Any

from vetro.engine.workspace.files import NoSuchEnvironment, WorkspaceError
from vetro.engine.workspace.folder import EnvironmentFolder
from vetro.engine.workspace.settings import Settings, read_settings

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def default_root() -> Path:
    """``$VETRO_WORKSPACE``, else ``vetro`` in the user's data folder."""
    given = os.environ.get("VETRO_WORKSPACE")
    if given:
        return Path(given)
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "vetro"


class Workspace:
    """The environments below ``root``; nothing is made before the first one is created."""

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        self.root = (default_root() if root is None else Path(root)).absolute()

    @property
    def cloud(self) -> Path:
        """The folder of the local cloud's state."""
        return self.root / "cloud"

    def settings(self) -> Settings:
        """What ``vetro.toml`` in the workspace says, or the defaults. Raises `SettingsError`."""
        return read_settings(self.root)

    def names(self) -> list[str]:
        """Names of all environments."""
        folder = self.root / "environments"
        if not folder.is_dir():
            return []
        return sorted(p.name for p in folder.iterdir() if (p / "environment.json").exists())

    def get(self, name: str) -> EnvironmentFolder:
        """The environment of this name, or id. Raises `NoSuchEnvironment`."""
        path = self.root / "environments" / name
        if _NAME.fullmatch(name) and (path / "environment.json").exists():
            return EnvironmentFolder(path)
        names = self.names()
        for other in names:
            folder = EnvironmentFolder(self.root / "environments" / other)
            if folder.id == name:
                return folder
        from vetro.yaql.didyoumean import suggest

        close = suggest(name, names)
        hint = (
            f"did you mean '{close}'?" if close else f"there are {', '.join(names)}" if names else "there are none yet"
        )
        raise NoSuchEnvironment(f"there is no environment '{name}' in {self.root}", hint=hint)

    def create(self, name: str, **settings: Any) -> EnvironmentFolder:
        """A new environment. Raises `WorkspaceError` for a bad name or one that is taken."""
        if not _NAME.fullmatch(name):
            raise WorkspaceError(
                f"'{name}' cannot be the name of an environment",
                hint="use up to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit",
            )
        return EnvironmentFolder.create(self.root / "environments" / name, name, secrets.token_hex(16), **settings)

    def remove(self, name: str) -> None:
        """Removes an environment's folder with its history. The caller has destroyed what it deployed."""
        folder = self.get(name)
        with folder.lock():
            shutil.rmtree(folder.path)
