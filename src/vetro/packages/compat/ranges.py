"""Ranges of versions that a package requires: what one took and another one does not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vetro.muranopl.declarations.versions import Version, parse_spec, parse_version

_NUMBERS = re.compile(r"\d+(?:\.\d+){0,2}(?:-[0-9A-Za-z.-]+)?", re.ASCII)
_FAR = Version("1000000.0.0")


def lost_version(old: str, new: str) -> str | None:
    """A version that ``old`` takes and ``new`` does not, releases first; None where there is none."""
    before, after = parse_spec(old), parse_spec(new)
    found = [one for one in _borders(f"{old} {new}") if before.match(one) and not after.match(one)]
    return str(min(found, key=lambda one: (bool(one.prerelease), one))) if found else None


def _borders(text: str) -> Iterator[Version]:
    """Versions at, before and after each one that is named: ranges end nowhere else."""
    yield from (Version("0.0.0"), Version("0.0.1"), Version("1.0.0"), _FAR)
    for written in _NUMBERS.findall(text):
        named = parse_version(written)
        yield named
        major, minor, patch = named.major, named.minor, named.patch
        around = [(major, minor, patch), (major, minor, patch + 1), (major, minor + 1, 0), (major + 1, 0, 0)]
        around += [(major, minor, patch - 1)] if patch else []
        around += [(major, minor - 1, 1000)] if minor else []
        around += [(major - 1, 1000, 0)] if major else []
        for numbers in around:
            release = "{}.{}.{}".format(*numbers)
            yield from (Version(release), Version(f"{release}-0"))
