"""Plug-in for coverage.py: reports lines of MuranoPL files, also of packages loaded from archives.

Enable it in ``.coveragerc``::

    [run]
    plugins = vetro.muranopl.tools.coverage

Generated code objects carry the name of their YAML file, so coverage meets them like Python files. Which lines count is
read from the text that the engine compiled, which `remember` keeps: files of archives exist nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType
from typing import Any
from zipfile import BadZipFile, ZipFile

from coverage.exceptions import NoSource
from coverage.plugin import CoveragePlugin, FileReporter, FileTracer
from coverage.types import TLineNo

from vetro.muranopl.reader.files import read_file
from vetro.muranopl.tools.linetrace import _instructions

#: file id -> (text, format version) of every class file that ran under this plug-in.
_SOURCES: dict[str, tuple[str, tuple[int, int]]] = {}


def remember(owner: Any, filename: str) -> None:
    """Keeps the text of the file of linked class ``owner`` under the name that coverage has for it."""
    if filename not in _SOURCES:
        text, _, _ = owner.package.read_class(owner.name)
        _SOURCES[filename] = (text, tuple(owner.package.format)[:2])


def _stored(filename: str) -> str | None:
    """Text of a file on disk or in an archive (``x.zip/Classes/A.yaml``), for reports of another process."""
    archive, inside, inner = filename.partition(".zip/")
    try:
        if inside:
            with ZipFile(archive + ".zip") as opened:
                return opened.read(inner).decode("utf-8-sig")
        with open(filename, encoding="utf-8-sig") as file:
            return file.read()
    except (OSError, KeyError, BadZipFile, UnicodeDecodeError):
        return None


class MuranoTracer(FileTracer):
    """Says for each frame of generated code which MuranoPL file it belongs to."""

    def __init__(self, filename: str) -> None:
        self._filename = filename

    def source_filename(self) -> str:
        """The file that coverage named when it asked."""
        return self._filename

    def has_dynamic_source_filename(self) -> bool:
        """The text is only known from the running frame."""
        return True

    def dynamic_source_filename(self, filename: str | None, frame: FrameType) -> str | None:
        """Remembers the text of the frame's class; None for frames that are not MuranoPL. ``filename`` is None."""
        owner = frame.f_globals.get("__murano__")
        if owner is None:
            return None
        remember(owner, self._filename)
        return self._filename


class MuranoReporter(FileReporter):
    """Lines of one MuranoPL file that can run."""

    def source(self) -> str:
        """Text of the file."""
        known = _SOURCES.get(self.filename)
        if known is not None:
            return known[0]
        text = _stored(self.filename)
        if text is None:
            raise NoSource(f"the text of {self.filename} exists only in the process that ran it")
        return text

    def lines(self) -> set[TLineNo]:
        """Lines on which an instruction begins."""
        text = self.source()
        version = _SOURCES.get(self.filename, ("", (1, 4)))[1]
        declared = read_file(text, self.filename, format_version=version, default_name="coverage.Nameless", problems=[])
        found: set[TLineNo] = set()
        for decl in declared.classes.values():
            for method in decl.methods.values():
                found |= {i.position.line for i in _instructions(method.body)}
        return found


class MuranoPlugin(CoveragePlugin):
    """Takes over the files of generated code."""

    def file_tracer(self, filename: str) -> FileTracer | None:
        """A tracer for YAML files: only generated code has such names."""
        return MuranoTracer(filename) if filename.endswith((".yaml", ".yml")) else None

    def file_reporter(self, filename: str) -> FileReporter:
        """A reporter for a file that was traced."""
        return MuranoReporter(filename)

    def find_executable_files(self, src_dir: str) -> Iterable[str]:
        """Only files that ran are reported."""
        return []


def coverage_init(registry: Any, options: Any) -> None:
    """Entry point that coverage.py calls."""
    registry.add_file_tracer(MuranoPlugin())
