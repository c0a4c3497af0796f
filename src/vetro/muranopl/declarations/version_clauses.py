"""One condition of a version spec: read, and turned into an interval of versions (SEMANTICS 3.3); keys of versions."""

from __future__ import annotations

import re
from typing import NamedTuple

from vetro.diagnostics import Text
from vetro.muranopl.declarations.version import Key, Version


def version_key(version: Version) -> Key:
    """The tuple by which ``version`` is ordered (SemVer precedence; build metadata is not part of it)."""
    return version.key


_CLAUSE = re.compile(
    r"""(?P<op>~=|<=|>=|==|!=|<|>|=|\^|~)?
        (?P<major>\*|0|[1-9][0-9]*)
        (?:\.(?P<minor>\*|0|[1-9][0-9]*))?
        (?:\.(?P<patch>\*|0|[1-9][0-9]*))?
        (?P<pre>-(?:[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?)?
        (?P<build>\+(?:[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?)?""",
    re.ASCII | re.VERBOSE,
)


class Term(NamedTuple):
    """One comparison with a full version by SemVer precedence; ``op`` is one of ``== != < <= > >=``."""

    op: str
    version: Version

    def __str__(self) -> str:
        return f"{self.op}{self.version}"


class Range(NamedTuple):
    """An interval of keys. ``build`` is compared too when the text named one."""

    low: Key | None
    low_open: bool
    high: Key | None
    high_open: bool
    build: tuple[str, ...] | None
    terms: tuple[Term, ...]

    def holds(self, key: Key) -> bool:
        low, high = self.low, self.high
        if low is not None and (key < low or (self.low_open and key == low)):
            return False
        return high is None or not (key > high or (self.high_open and key == high))


def _bound(major: int, minor: int, patch: int, *, lowest: bool) -> Version:
    return Version(major=major, minor=minor, patch=patch, prerelease=("0",) if lowest else ())


def _range(low: Term | None, high: Term | None, build: tuple[str, ...] | None = None) -> Range:
    return Range(
        version_key(low.version) if low else None,
        low is not None and low.op == ">",
        version_key(high.version) if high else None,
        high is not None and high.op == "<",
        build,
        tuple(t for t in (low, high) if t is not None),
    )


def _exactly(version: Version, build: tuple[str, ...] | None) -> Range:
    key = version_key(version)
    return Range(key, False, key, False, build, (Term("==", version),))


class Clause:
    """One condition of a spec, split into the version's parts. `ranges` says what it includes and excludes."""

    def __init__(self, text: str) -> None:
        found = _CLAUSE.fullmatch(text)
        if found is None:
            raise ValueError(Text("it cannot be read"))
        self.op = {None: "==", "=": "=="}.get(found["op"], found["op"])
        self.parts = [int(p) for p in (found["major"], found["minor"], found["patch"]) if p not in (None, "*")]
        wild = [p == "*" for p in (found["major"], found["minor"], found["patch"]) if p is not None]
        if wild != sorted(wild):
            raise ValueError(Text("a number follows '*'"))
        self.pre: str | None = found["pre"]
        self.build = None if found["build"] is None else tuple(p for p in found["build"][1:].split(".") if p)
        full = len(self.parts) == 3
        if not full and (self.pre is not None or self.build is not None):
            raise ValueError(Text("suffixes need all three numbers"))
        if self.build is not None and self.op not in ("==", "!="):
            raise ValueError(Text("build metadata has no order, compare it with == or != only"))
        if not self.parts and self.op not in ("==", ">="):
            raise ValueError(Text("nothing can satisfy it"))
        identifiers = tuple(p for p in (self.pre or "")[1:].split(".") if p)
        if any(i.isdigit() and i[0] == "0" and i != "0" for i in identifiers):
            raise ValueError(Text("numbers may not begin with 0"))
        self.series = not full
        major, minor, patch = (*self.parts, 0, 0, 0)[:3]
        self.version = Version(major=major, minor=minor, patch=patch, prerelease=identifiers, build=self.build or ())

    def _next(self, kept: int) -> Version:
        """The lowest version above all that share the first ``kept`` numbers."""
        numbers = [*self.parts[:kept]]
        numbers[-1] += 1
        major, minor, patch = (*numbers, 0, 0)[:3]
        return _bound(major, minor, patch, lowest=True)

    def _start(self) -> Version:
        """Where what ``<`` excludes begins: pre-releases of a release belong to it (SEMANTICS 3.3)."""
        if self.pre is not None:
            return self.version
        v = self.version
        return _bound(v.major, v.minor, v.patch, lowest=True)

    def _above(self) -> Term:
        return Term(">=", self._next(len(self.parts))) if self.series else Term(">", self.version)

    def range(self) -> Range | None:
        """What it describes; for ``!=`` what it excludes; None is everything."""
        op, version = self.op, self.version
        if not self.parts:
            return None
        at_least = Term(">=", version)
        if op == "==":
            if not self.series:
                return _exactly(version, self.build)
            return _range(at_least, Term("<", self._next(len(self.parts))))
        if op == "!=":
            if self.build is not None or (self.pre is not None and not self.series):
                return _exactly(version, self.build)
            above = self._above()
            end = Term("<=" if above.op == ">" else "<", above.version)
            return _range(Term(">=", self._start()), end)
        if op == ">=":
            return _range(at_least, None)
        if op == ">":
            return _range(self._above(), None)
        if op == "<":
            return _range(None, Term("<", self._start()))
        if op == "<=":
            above = self._above()
            return _range(None, Term("<=" if above.op == ">" else "<", above.version))
        return _range(at_least, Term("<", self._next(self._kept())))

    def _kept(self) -> int:
        """How many leading numbers ``^``, ``~`` and ``~=`` hold fixed."""
        count = len(self.parts)
        if self.op == "~":
            return min(count, 2)
        if self.op == "~=":
            return max(count - 1, 1)
        return next((i + 1 for i, part in enumerate(self.parts) if part), count)
