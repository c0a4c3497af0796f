"""`Version`: a version number by SemVer, as packages bear it, and the order of versions (SEMANTICS 3.1).

Our own class, because each process makes hundreds of these when it starts, and importing `semantic_version` takes
longer than all of them. Format plug-ins of others are given that one's (`vetro.packages.formats`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from vetro.diagnostics import Text

#: What versions are compared by: major, minor, patch, 1 for releases, pre-release identifiers.
Key: TypeAlias = tuple[int, int, int, int, tuple[tuple[int, int, str], ...]]

_NUMBER = r"(0|[1-9][0-9]*)"
_WHOLE = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)
#: A version of which parts are missing, or that has more than it may have: up to three numbers, and whatever follows.
_LOOSE = re.compile(r"([0-9]+)(?:\.([0-9]+)(?:\.([0-9]+))?)?(.*)", re.DOTALL)
_FOREIGN = re.compile(r"[^0-9A-Za-z+.-]")


class Version:
    """``Version("1.2.3-rc.1+build")``, or the parts by name; not to be changed. Raises `ValueError` for what is none.

    Two are equal when all parts are; the order is that of SemVer, for which build metadata does not count.
    """

    __slots__ = ("_text", "build", "key", "major", "minor", "patch", "prerelease")

    def __init__(
        self,
        text: str | None = None,
        *,
        major: int = 0,
        minor: int = 0,
        patch: int = 0,
        prerelease: Iterable[str] = (),
        build: Iterable[str] = (),
    ) -> None:
        if text is not None:
            found = _WHOLE.fullmatch(text)
            if found is None:
                raise ValueError(Text("'{text}' is no version", text=text[:60]))
            numbers = found.group(1, 2, 3)
            major, minor, patch = map(int, numbers)
            prerelease = found[4].split(".") if found[4] is not None else ()
            build = found[5].split(".") if found[5] is not None else ()
        #: Each class that is linked has its version written out in several names.
        self._text = text
        self.major = major
        self.minor = minor
        self.patch = patch
        self.prerelease: tuple[str, ...] = tuple(prerelease)
        self.build: tuple[str, ...] = tuple(build)
        #: What it is compared by: an interval of versions is one of keys.
        self.key: Key = (major, minor, patch, 0 if self.prerelease else 1, tuple(map(_identifier, self.prerelease)))

    @classmethod
    def coerce(cls, text: str) -> Version:
        """The version that is meant: missing numbers are 0, a fourth one is build metadata, as is what follows ``+``.

        Raises `ValueError` for what does not begin with a number, and for empty identifiers.
        """
        found = _LOOSE.fullmatch(text)
        if found is None:
            raise ValueError(Text("'{text}' is no version", text=text[:60]))
        numbers = ".".join(str(int(number or 0)) for number in found.group(1, 2, 3))
        rest = _FOREIGN.sub("-", found[4])
        build = ""
        if rest.startswith("."):
            rest, build = "", rest[1:]
        else:
            rest, _, build = rest.partition("+")
        build = build.replace("+", ".")
        rest = rest.removeprefix("-")
        return cls(f"{numbers}{'-' if rest else ''}{rest}{'+' if build else ''}{build}")

    def __str__(self) -> str:
        if self._text is None:
            prerelease = "-" + ".".join(self.prerelease) if self.prerelease else ""
            build = "+" + ".".join(self.build) if self.build else ""
            self._text = f"{self.major}.{self.minor}.{self.patch}{prerelease}{build}"
        return self._text

    def __repr__(self) -> str:
        return f"Version({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return self.key == other.key and self.build == other.build if isinstance(other, Version) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.key, self.build))

    def __lt__(self, other: Version) -> bool:
        return self.key < other.key if isinstance(other, Version) else NotImplemented

    def __le__(self, other: Version) -> bool:
        return self.key <= other.key if isinstance(other, Version) else NotImplemented

    def __gt__(self, other: Version) -> bool:
        return self.key > other.key if isinstance(other, Version) else NotImplemented

    def __ge__(self, other: Version) -> bool:
        return self.key >= other.key if isinstance(other, Version) else NotImplemented


def _identifier(text: str) -> tuple[int, int, str]:
    """Numbers come before words. Raises `ValueError` for a number that begins with 0."""
    if not text.isdigit():
        return 1, 0, text
    if text[0] == "0" and text != "0":
        raise ValueError(Text("numbers may not begin with 0"))
    return 0, int(text), ""
