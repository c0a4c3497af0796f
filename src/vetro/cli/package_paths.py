"""Packages named on a command line, and the text of their files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from vetro.cli import output as out
from vetro.cli.stored_text import stored_text
from vetro.diagnostics import Text
from vetro.yaql.didyoumean import suggest


class _Warnings(logging.Handler):
    """What the engine logs, as lines on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        label = out.style(f"{record.levelname.lower()}: ", fg="yellow")
        out.note(label + out.shown(record.getMessage()))


def load_packages(paths: Iterable[str]) -> list[Any]:
    """All packages of the paths (folders, archives, folders of packages). Raises `PackageError`."""
    from vetro.packages import load_path

    logger = logging.getLogger("vetro")
    handler = _Warnings(logging.WARNING)
    logger.addHandler(handler)
    try:
        found: list[Any] = []
        for path in paths:
            found.extend(load_path(path))
        return found
    finally:
        logger.removeHandler(handler)


def extended(packages: Iterable[Any]) -> tuple[list[Any], Any]:
    """The packages with the extension plug-ins that they require, and what these register; see `Extensions`."""
    from vetro.packages.extensions.plugins import required_extensions

    known = list(packages)
    extensions = required_extensions(known)
    return [*known, *extensions.packages], extensions


def source_finder(packages: Iterable[Any]) -> Callable[[str], str | None]:
    """Text of a package file by its id: a class file of ``packages``, else a file on disk or in an archive."""
    known = list(packages)

    def find(file: str) -> str | None:
        for package in known:
            for name in package.classes:
                try:
                    text, file_id, _ = package.read_class(name)
                except Exception:  # a file that cannot be read is shown without its text
                    continue
                if file == file_id:
                    return str(text)
        return stored_text(file)

    return find


def suggestion_of_class(name: str, packages: Iterable[Any]) -> Text | None:
    """A hint for a class name that no package has."""
    names = [known for package in packages for known in package.classes]
    if not names:
        return None
    # People get the last word wrong, or the namespace: both count as close.
    close = suggest(name, names) or next((n for n in names if n.rpartition(".")[2] == name.rpartition(".")[2]), None)
    if close:
        return Text("did you mean '{close}'?", close=close)
    some = ", ".join([*sorted(names)[:8], *(["…"] if len(names) > 8 else [])])
    return Text("the packages have: {names}", names=some)
