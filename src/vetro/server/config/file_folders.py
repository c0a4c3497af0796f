"""Where files between people and servers are, and how much room they have: known without the database."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from vetro import file_lock
from vetro.clouds.interface import Owner
from vetro.engine.host.file_parts import LOCK
from vetro.server.config.config import Config

_FOLDER_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def root_of(settings: Config) -> Path:
    """The folder of all of them: in it a folder a project, with a folder an environment."""
    return settings.data / "files"


def folder_of(settings: Config, project: str, environment: str) -> Path:
    """That of an environment."""
    # Projects of Keystone are called by whoever made them.
    names = (name if _FOLDER_NAME.fullmatch(name) else f".{name.encode().hex()}" for name in (project, environment))
    return root_of(settings).joinpath(*names)


def remove_folder(folder: Path) -> None:
    """Removes the folder of an environment, and its files."""
    if folder.is_dir():
        with file_lock.exclusive(folder.parent / LOCK):
            shutil.rmtree(folder, ignore_errors=True)


def most_of(settings: Config) -> int:
    """Bytes that those of a project may have together."""
    return int(settings["files.each_project_mib"]) << 20


def host_setting(settings: Config, owner: Owner) -> dict[str, Any]:
    """What an effects host is told of the files of its owner."""
    return {"folder": str(folder_of(settings, owner.project, owner.environment)), "most": most_of(settings)}
