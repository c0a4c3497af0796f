"""What the comparison of two versions finds, and the version number that follows from it."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Sequence
from typing import Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.declarations.versions import Version
from vetro.yaql.values import thaw

#: Characters of a witness that are shown.
_SHOWN = 300


class Level(enum.IntEnum):
    """What a difference means for whoever uses the package; the greatest of all decides."""

    #: Nobody outside notices.
    PATCH = 0
    #: Whatever worked goes on working.
    MINOR = 1
    #: Neither a proof nor a witness was found; it asks for nothing.
    UNKNOWN = 2
    #: Something that worked fails.
    MAJOR = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference. ``element`` is what it is about, as ``Class.property`` or ``Class::method(argument)``.

    ``witness``: a value as JSON that one version takes and the other refuses; it was run on both. ``declared``: it is
    what the contract names, and was not only converted or ignored.
    """

    code: str
    level: Level
    element: str
    message: Text
    old: Position | None = None
    new: Position | None = None
    witness: str | None = None
    declared: bool = True

    def as_data(self) -> dict[str, Any]:
        """Plain data, whose message is still a `Text`."""
        return {
            "level": self.level.name.lower(),
            "code": self.code,
            "element": self.element,
            "message": self.message,
            "old": _place(self.old),
            "new": _place(self.new),
            "witness": self.witness,
            "declared": self.declared,
        }


def _place(position: Position | None) -> dict[str, Any] | None:
    return None if position is None else {"file": position.file, "line": position.line, "column": position.column}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two versions of a package: their differences, the weightiest first, and the least number for the newer one."""

    name: str
    old: Version
    new: Version
    findings: Sequence[Finding]
    level: Level
    required: Version

    @property
    def sufficient(self) -> bool:
        """Whether the newer version's number says enough."""
        return promises(self.new, self.required)

    def as_data(self) -> dict[str, Any]:
        """Plain data, whose messages are still `Text`. The same from every door."""
        return {
            "name": self.name,
            "old": str(self.old),
            "new": str(self.new),
            "level": self.level.name.lower(),
            "required": str(self.required),
            "sufficient": self.sufficient,
            "findings": [finding.as_data() for finding in self.findings],
        }


def compared(name: str, old: Version, new: Version, findings: Iterable[Finding], *, differ: bool) -> Comparison:
    """The outcome for these findings. ``differ``: the packages have other content at all."""
    told = sorted(findings, key=lambda one: (-one.level, one.element, one.code))
    level = max((one.level for one in told if one.level is not Level.UNKNOWN), default=Level.PATCH)
    return Comparison(name, old, new, told, level, required_version(old, level) if differ else old)


def promises(version: Version, required: Version) -> bool:
    """Whether a number is great enough; a pre-release is if what it announces is."""
    announced = Version(major=version.major, minor=version.minor, patch=version.patch)
    return bool(version >= required or (version.prerelease and announced >= required))


def required_version(old: Version, level: Level) -> Version:
    """The least version after ``old`` for changes of this level; before 1.0.0 a break needs the second number only.

    A pre-release may still become what it announces.
    """
    major, minor, patch = old.major, old.minor, old.patch
    if old.prerelease and (level is not Level.MAJOR or (minor == 0 and patch == 0)):
        return Version(major=major, minor=minor, patch=patch, prerelease=(*old.prerelease, "0"))
    if level is Level.MAJOR and major > 0:
        return Version(major=major + 1, minor=0, patch=0)
    if level is Level.MAJOR or (level is Level.MINOR and major > 0):
        return Version(major=major, minor=minor + 1, patch=0)
    return Version(major=major, minor=minor, patch=patch + 1)


def shown(value: Any) -> str:
    """A witness as JSON on one line, cut where it is long."""
    text = json.dumps(thaw(value), ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
