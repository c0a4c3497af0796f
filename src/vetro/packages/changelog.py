"""What is new in which version of a package: `changes.yaml` beside the manifest, else a `CHANGELOG.md`.

`changes.yaml` is a list of releases, each with `Version`, `Date` and `Changes`; a change has a `Kind` (`KINDS`), a
`Text` (one, or one a language), and may name the `Element` that it is about, what users `Do`, and an `Id` such as that
of an advisory. A `CHANGELOG.md` in the style of Keep a Changelog is read where there is no such file, as far as it
goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.diagnostics import ERROR, WARNING, Diagnostic, Text
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.declarations.versions import Version, parse_version, version_key
from vetro.muranopl.errors import DeclarationError
from vetro.packages.files import FileTree
from vetro.packages.yamltree import Node, TreeError, read_documents
from vetro.yaql.didyoumean import suggest

FILE: Final = "changes.yaml"
MARKDOWN: Final = "CHANGELOG.md"
KINDS: Final = ("breaking", "security", "added", "changed", "deprecated", "removed", "fixed")
#: Releases that are read, changes of one, characters of a text, and bytes of a file.
MOST_RELEASES, MOST_CHANGES, LONGEST, LARGEST = 200, 200, 2000, 1 << 20
_CODE = "PKG115"
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_ELEMENT = re.compile(r"[\w.]+(::[\w.]+(\(\w+\))?)?")
_HEADING = re.compile(
    r"## \[?v?(\d[0-9A-Za-z.+-]*)\]?(?:\([^)]*\))?(?:\s*[-\u2013\u2014(]\s*(\d{4}-\d{2}-\d{2})\)?)?\s*"
)
_SECTION = re.compile(r"### (\w+)\s*")


@dataclass(frozen=True, slots=True)
class Change:
    """One change. ``text``: by language; '' is that of whoever has no other."""

    kind: str
    text: Mapping[str, str]
    element: str = ""
    do: Mapping[str, str] | None = None
    id: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        told = {"element": self.element, "do": dict(self.do or {}), "id": self.id}
        return {"kind": self.kind, "text": dict(self.text), **{key: value for key, value in told.items() if value}}


@dataclass(frozen=True, slots=True)
class Release:
    """What a version brought. ``date`` is in ISO form, '' where it is not told."""

    version: Version
    date: str
    changes: tuple[Change, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"version": str(self.version), "date": self.date, "changes": [one.as_json() for one in self.changes]}


def read_changes(tree: FileTree, version: Version) -> tuple[list[Release], list[Diagnostic]]:
    """The releases that the files of a package tell of, newest first, and what is wrong with them.

    ``version``: that of the package, which knows of nothing later.
    """
    for name, read in ((FILE, _of_yaml), (MARKDOWN, _of_markdown)):
        if not tree.exists(name):
            continue
        top = Position(tree.file_id(name), 1, 1)
        try:
            data = tree.read(name)
            text = data.decode("utf-8-sig") if len(data) <= LARGEST else None
        except (UnicodeDecodeError, OSError, ValueError):
            text = None
        if text is None:
            wrong = Text("{name} is no UTF-8 text of at most {most} MiB", name=name, most=LARGEST >> 20)
            return [], [Diagnostic(_CODE, ERROR if name == FILE else WARNING, wrong, place=top)]
        problems: list[Diagnostic] = []
        found = read(text, top.file, version, problems)
        if _characters(found) > LARGEST:  # by aliases, a small file holds much
            wrong = Text("the texts of all changes have more than {most:,} characters", most=LARGEST)
            return [], [*problems, Diagnostic(_CODE, ERROR, wrong, place=top)]
        return sorted(found, key=lambda one: version_key(one.version), reverse=True), problems
    return [], []


def between(releases: Sequence[Release], old: Version, new: Version) -> list[Release]:
    """The releases after ``old`` up to ``new``."""
    return [one for one in releases if version_key(old) < version_key(one.version) <= version_key(new)]


def _characters(releases: Sequence[Release]) -> int:
    told = (change for one in releases for change in one.changes)
    return sum(
        len(text)
        for c in told
        for text in (*c.text, *c.text.values(), *(c.do or {}), *(c.do or {}).values(), c.element)
    )


# -- changes.yaml ------------------------------------------------------------------------------------------------------


def _of_yaml(text: str, file: str, version: Version, problems: list[Diagnostic]) -> list[Release]:
    try:
        documents = read_documents(text, file)
    except TreeError as error:
        problems.append(Diagnostic(_CODE, ERROR, error.message, error.hint, error.position))
        return []
    return list(_Reader(version, problems).releases(documents[0])) if documents else []


class _Reader:
    def __init__(self, version: Version, problems: list[Diagnostic]) -> None:
        self._version, self._problems = version, problems

    def releases(self, root: Node) -> Iterator[Release]:
        """The releases that can be read."""
        if root.items is None:
            self._wrong(root, Text("it has to be a list of releases"), Text("- Version: 1.0.0"))
            return
        known: set[Version] = set()
        for node in self._some(root, MOST_RELEASES):
            keys = self._keys(node, ("Version", "Date", "Changes"))
            version = self._release(keys.get("Version"), node) if keys is not None else None
            if keys is None or version is None:
                continue
            if version in known:
                self._wrong(node, Text("version {version} stands there twice", version=version))
                continue
            known.add(version)
            changes = tuple(self._changes(keys["Changes"])) if "Changes" in keys else ()
            yield Release(version, self._date(keys.get("Date")), changes)

    def _release(self, node: Node | None, around: Node) -> Version | None:
        if node is None or node.kind != "scalar" or node.null:
            self._wrong(node or around, Text("a release needs a 'Version'"))
            return None
        try:
            version = parse_version(node.text)
        except DeclarationError as error:
            self._wrong(node, error.message, error.hint)
            return None
        if version_key(version) > version_key(self._version):
            text = Text("it tells of {version}, but the package has version {own}", version=version, own=self._version)
            self._wrong(node, text)
            return None
        return version

    def _date(self, node: Node | None) -> str:
        if node is None or node.null:
            return ""
        try:
            return date.fromisoformat(node.text).isoformat()
        except ValueError:
            self._wrong(node, Text("'{text}' is no date", text=node.text[:40]), Text("write it as in 2026-03-01"))
            return ""

    def _changes(self, node: Node) -> Iterator[Change]:
        if node.items is None:
            self._wrong(node, Text("'Changes' has to be a list"))
            return
        for item in self._some(node, MOST_CHANGES):
            keys = self._keys(item, ("Kind", "Text", "Element", "Do", "Id"))
            if keys is None:
                continue
            kind, text = self._kind(keys.get("Kind"), item), self._text(keys.get("Text"), "Text", item)
            do = self._text(keys["Do"], "Do", item) if "Do" in keys else None
            element = self._line(keys.get("Element"))
            if element and not _ELEMENT.fullmatch(element):
                hint = Text("write it as in com.example.Database.port, or com.example.Database::backup")
                self._wrong(keys["Element"], Text("'{text}' names no element", text=element[:80]), hint)
            elif kind and text:
                yield Change(kind, text, element, do, self._line(keys.get("Id")))

    def _kind(self, node: Node | None, around: Node) -> str:
        written = "" if node is None else node.text
        if written in KINDS:
            return written
        close = suggest(written, KINDS) if written else None
        hint = Text("did you mean '{close}'?", close=close) if close else None
        self._wrong(node or around, Text("'Kind' has to be one of: {kinds}", kinds=", ".join(KINDS)), hint)
        return ""

    def _text(self, node: Node | None, key: str, around: Node) -> dict[str, str]:
        if node is not None and node.kind == "scalar" and not node.null and node.text.strip():
            return {"": self._line(node)}
        pairs = node.pairs if node is not None else None
        found = {name.text: self._line(value) for name, value in pairs or ()}
        if found and all(_LANGUAGE.fullmatch(name) and value for name, value in found.items()):
            return found
        hint = Text("write one text, or one for each language: {{en: ..., de: ...}}")
        self._wrong(node or around, Text("a change needs '{key}'", key=key), hint)
        return {}

    def _line(self, node: Node | None) -> str:
        if node is None or node.null:
            return ""
        if node.kind != "scalar" or len(node.text) > LONGEST or "\0" in node.text:
            self._wrong(node, Text("a text of at most {most} characters is expected here", most=LONGEST))
            return ""
        return node.text.strip()

    def _keys(self, node: Node, known: Sequence[str]) -> dict[str, Node] | None:
        if node.pairs is None:
            self._wrong(node, Text("a mapping with {keys} is expected here", keys=", ".join(known)))
            return None
        found = {}
        for name, value in node.pairs:
            if name.text in known:
                found[name.text] = value
            else:
                close = suggest(name.text, known)
                hint = Text("did you mean '{close}'?", close=close) if close else None
                self._wrong(name, Text("nobody reads '{key}'", key=name.text[:80]), hint, WARNING)
        return found

    def _some(self, node: Node, most: int) -> list[Node]:
        items = node.items or []
        if len(items) > most:
            self._wrong(items[most], Text("only {most} entries are read", most=most), None, WARNING)
        return items[:most]

    def _wrong(self, node: Node, text: str, hint: str | None = None, severity: Any = ERROR) -> None:
        self._problems.append(Diagnostic(_CODE, severity, text, hint, node.position))


# -- CHANGELOG.md ------------------------------------------------------------------------------------------------------


def _of_markdown(text: str, file: str, version: Version, problems: list[Diagnostic]) -> list[Release]:
    """What of a CHANGELOG.md follows Keep a Changelog; the rest is for people, and no mistake."""
    found: dict[Version, tuple[str, list[Change]]] = {}
    changes: list[Change] | None = None
    kind, lines = "", list[str]()

    def end() -> None:
        if changes is not None and kind and lines and len(changes) < MOST_CHANGES:
            changes.append(Change(kind, {"": " ".join(lines)[:LONGEST]}))
        lines.clear()

    for line in text.splitlines():
        heading, section = _HEADING.fullmatch(line), _SECTION.fullmatch(line)
        if line.startswith("## ") or section:
            end()
            kind = section[1].lower() if section and section[1].lower() in KINDS else ""
        if line.startswith("## "):
            changes = None
            known = _version_of(heading[1]) if heading else None
            if heading is None or known is None or known in found or len(found) >= MOST_RELEASES:
                continue
            if version_key(known) <= version_key(version):
                changes = []
                found[known] = (heading[2] or "", changes)
        elif line.startswith(("- ", "* ")):
            end()
            lines.append(line[2:].strip())
        elif line.startswith("  ") and lines:
            lines.append(line.strip())
        elif not line.strip():
            end()
    end()
    return [Release(known, when, tuple(told)) for known, (when, told) in found.items()]


def _version_of(text: str) -> Version | None:
    try:
        return parse_version(text)
    except DeclarationError:
        return None
