"""Versions and version specs (SEMANTICS 3.1, 3.3, 3.4).

A spec is compiled once to tuple comparisons. Versions order by SemVer precedence: a pre-release comes before its
release, build metadata does not count (only a spec that names it compares it).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from vetro.diagnostics import Text
from vetro.muranopl.declarations.version import Key, Version
from vetro.muranopl.declarations.version_clauses import Clause, Range, Term, version_key
from vetro.muranopl.errors import DeclarationError

__all__ = [
    "ANY",
    "Key",
    "Term",
    "Version",
    "VersionSpec",
    "latest",
    "parse_spec",
    "parse_version",
    "substitute",
    "version_key",
]

#: Longer texts are refused: nobody writes such a version, and digits cost quadratic time.
MAX_LENGTH = 256

_COERCIBLE = re.compile(r"[0-9]+(?:[.+\-_0-9A-Za-z]*)", re.ASCII)
_SPEC_HINT = Text("write a version (1, 1.2, 1.2.3) or a list of conditions such as '>=1.2,<2,!=1.5'")


@lru_cache(maxsize=8192)
def _parse_text(text: str) -> Version:
    text = text.strip()
    if not text:
        return Version("0.0.0")
    if len(text) <= MAX_LENGTH and _COERCIBLE.fullmatch(text):
        try:
            return Version.coerce(text)
        except ValueError:
            pass
    raise DeclarationError(
        Text("'{text}' is no version", text=text[:60]),
        hint=Text("write it as major.minor.patch, for example 1.0.0 or 1.2.0-rc.1"),
    )


def parse_version(text: str | int | float | Version | None) -> Version:
    """The version that ``text`` denotes; missing parts are zero, null and '' are 0.0.0 (SEMANTICS 3.1).

    Raises `DeclarationError` when it is none.
    """
    if isinstance(text, Version):
        return text
    if isinstance(text, bool):
        raise DeclarationError(
            Text("'{text}' is no version", text=text), hint=Text("write it as text, for example '1.0.0'")
        )
    return _parse_text("" if text is None else str(text))


class VersionSpec:
    """A set of versions, as `parse_spec` gives it. Equal when the texts are (blanks aside); hashable.

    ``terms`` and ``excluded`` are the same for clients that send queries: a version is in the set when every term
    holds and no conjunction of ``excluded`` does.
    """

    __slots__ = (
        "_builds",
        "_excluded",
        "_high",
        "_high_open",
        "_low",
        "_low_open",
        "exact",
        "excluded",
        "terms",
        "text",
    )

    def __init__(self, text: str, included: Iterable[Range], excluded: Iterable[Range], exact: Version | None) -> None:
        self.text = text
        #: The one version that the text names in full, without any other condition; else None.
        self.exact = exact
        self._low: Key | None = None
        self._high: Key | None = None
        self._low_open = self._high_open = False
        builds: list[tuple[str, ...]] = []
        terms: list[Term] = []
        for part in included:
            self._narrow(part)
            terms += part.terms
            if part.build is not None:
                builds.append(part.build)
        self._builds = tuple(builds)
        self._excluded = tuple(excluded)
        self.terms = tuple(terms)
        self.excluded = tuple(part.terms for part in self._excluded)

    def _narrow(self, part: Range) -> None:
        if part.low is not None:
            if self._low is None or part.low > self._low:
                self._low, self._low_open = part.low, part.low_open
            elif part.low == self._low:
                self._low_open = self._low_open or part.low_open
        if part.high is not None:
            if self._high is None or part.high < self._high:
                self._high, self._high_open = part.high, part.high_open
            elif part.high == self._high:
                self._high_open = self._high_open or part.high_open

    def match_key(self, key: Key, build: tuple[str, ...] = ()) -> bool:
        """`match` for callers that keep the keys of many versions."""
        low, high = self._low, self._high
        if low is not None and (key < low or (self._low_open and key == low)):
            return False
        if high is not None and (key > high or (self._high_open and key == high)):
            return False
        if self._builds and any(wanted != build for wanted in self._builds):
            return False
        return not any(part.holds(key) and part.build in (None, build) for part in self._excluded)

    def match(self, version: Version) -> bool:
        """Whether the version is allowed."""
        return self.match_key(version_key(version), version.build)

    def select(self, versions: Iterable[Version]) -> Version | None:
        """The highest allowed one, or None. Versions that differ in build metadata only are ordered by it."""
        return max((v for v in versions if self.match(v)), key=_full_key, default=None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VersionSpec) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"VersionSpec({self.text!r})"


def _full_key(version: Version) -> tuple[Key, tuple[str, ...]]:
    return version_key(version), version.build


@lru_cache(maxsize=8192)
def _parse_spec_text(text: str) -> VersionSpec:
    text = "".join(text.split())
    clauses = []
    if len(text) > MAX_LENGTH:
        raise DeclarationError(Text("version spec '{text}…' is too long", text=text[:60]), hint=_SPEC_HINT)
    for part in (text or "0").split(","):
        try:
            clauses.append(Clause(part))
        except ValueError as problem:
            where = (
                Text("'{part}' in version spec '{text}'", part=part, text=text)
                if part != text
                else Text("version spec '{text}'", text=text)
            )
            raise DeclarationError(
                Text("{where} is malformed: {problem}", where=where, problem=problem), hint=_SPEC_HINT
            ) from None
    exact = None
    if len(clauses) == 1 and clauses[0].op == "==" and not clauses[0].series:
        exact = clauses[0].version
    ranges = [(c.op, c.range()) for c in clauses]
    return VersionSpec(
        text or "0",
        (r for op, r in ranges if r is not None and op != "!="),
        (r for op, r in ranges if r is not None and op == "!="),
        exact,
    )


def parse_spec(text: str | int | float | Version | VersionSpec | None) -> VersionSpec:
    """The set of versions that ``text`` describes (SEMANTICS 3.3); null and '' mean 0.x.y (3.4).

    A bare version is that version, a bare series (``1``, ``1.2``) all of it; conditions are joined by commas;
    ``*`` is everything. Raises `DeclarationError` when it cannot be read.
    """
    if isinstance(text, VersionSpec):
        return text
    if isinstance(text, bool):
        raise DeclarationError(Text("version spec '{text}' is malformed: it is no text", text=text), hint=_SPEC_HINT)
    return _parse_spec_text("" if text is None else str(text))


#: Every version.
ANY = parse_spec("*")


def allows(spec: str | None, version: str) -> bool:
    """Whether a version meets a spec as manifests write it; without spec every version does."""
    if spec in (None, ""):
        return True
    try:
        return parse_spec(spec).match(parse_version(version))
    except DeclarationError:
        return False


def latest(versions: Iterable[Version]) -> Version | None:
    """The highest release, or, when there is none, the highest pre-release (SEMANTICS 3.4); None of nothing."""
    return max(versions, key=lambda v: (not v.prerelease, _full_key(v)), default=None)


def substitute(requested: Version, available: Iterable[Version]) -> Version | None:
    """What an object gets whose header names ``requested`` (SEMANTICS 3.4).

    That version itself; else the latest with the same major and minor; else the latest with the same major; else
    None. "Latest" prefers releases to pre-releases.
    """
    versions = list(available)
    key = version_key(requested)
    same = [v for v in versions if version_key(v) == key]
    if same:
        return next((v for v in same if v == requested), None) or max(same, key=_full_key)
    major = [v for v in versions if v.major == requested.major]
    return latest(v for v in major if v.minor == requested.minor) or latest(major)
