"""Plug-in for coverage.py: reports lines of MuranoPL files, also of packages loaded from archives.

Enable it in ``.coveragerc``::

    [run]
    plugins = vetro.muranopl.coverage

Generated code objects carry the name of their YAML file, so coverage meets them like Python files. Which lines count is
read from the text that the engine compiled, which `remember` keeps: files of archives exist nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType
from typing import Any

from coverage.plugin import CoveragePlugin, FileReporter, FileTracer
from coverage.types import TLineNo

from vetro.muranopl.reader import read_file

#: file id -> (text, format version) of every class file that ran under this plug-in.
_SOURCES: dict[str, tuple[str, tuple[int, int]]] = {}


def remember(owner: Any) -> str:
    """Keeps the text of the file of linked class ``owner`` and returns the file's name."""
    text, file, _ = owner.package.read_class(owner.name)
    _SOURCES.setdefault(owner.decl.position.file, (text, tuple(owner.package.format)[:2]))
    return str(owner.decl.position.file or file)


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

    def dynamic_source_filename(self, filename: str, frame: FrameType) -> str | None:
        """Remembers the text of the frame's class; None for frames that are not MuranoPL."""
        owner = frame.f_globals.get("__murano__")
        if owner is None:
            return None
        remember(owner)
        return filename


class MuranoReporter(FileReporter):
    """Lines of one MuranoPL file that can run."""

    def source(self) -> str:
        """Text of the file."""
        known = _SOURCES.get(self.filename)
        if known is not None:
            return known[0]
        with open(self.filename, encoding="utf-8") as file:
            return file.read()

    def lines(self) -> set[TLineNo]:
        """Lines on which an instruction begins."""
        from vetro.muranopl.linetrace import _instructions

        text = self.source()
        version = _SOURCES.get(self.filename, ("", (1, 4)))[1]
        declared = read_file(text, self.filename, format_version=version, default_name="coverage.Nameless")
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
