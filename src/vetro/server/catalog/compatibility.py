"""Versions of packages compared: what a new one breaks, and whether its number says so.

Conditions of strangers are evaluated for it, so that happens inside of the walls (`inspection/compare.py`). What comes
back is only taken as what it has to be.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from django.db.models import Q

from vetro.data_classes import dataclass
from vetro.diagnostics import TEXTS, Text, decode_messages, encode_messages
from vetro.muranopl.declarations.versions import parse_version
from vetro.packages.compat.findings import Level, promises, required_version
from vetro.server.accounts.policy import enforce
from vetro.server.caller import Caller
from vetro.server.catalog import blobs
from vetro.server.catalog.blobs import BlobMissing
from vetro.server.catalog.dependencies import required_archives
from vetro.server.catalog.drafts import Draft
from vetro.server.catalog.inspection.client import archive_limits
from vetro.server.catalog.inspection.pool import pool, reason_of
from vetro.server.catalog.models import Package
from vetro.server.catalog.storage import storable
from vetro.server.errors import Invalid, ServiceError
from vetro.server.setup import config

#: Seconds for two versions of a package: of comparing them, and of all that it takes to answer.
SECONDS: Final = 20.0
_COMPARING: Final = 14.0
#: Seconds for all packages of one import, which holds a thread of the server.
TOGETHER: Final = 60.0
#: Findings that are kept, the weightiest first; characters of one of their texts, and of all of one finding.
MOST: Final = 200
_LONGEST, _LARGEST = 2_000, 12_000
_LEVELS: Final = frozenset(level.name.lower() for level in Level)


class NumberTooLow(Invalid):
    """The number of a version promises more than the version keeps; ``details`` has findings and the number to
    write."""

    kind = "bad-package"
    code = "SRV523"


class NotCompared(Invalid):
    """Two versions cannot be compared: the message says why."""

    kind = "bad-package"
    code = "SRV524"


@dataclass(frozen=True)
class Version:
    """One version of a package, of the catalog or not: its archive, and what it requires."""

    data: bytes | memoryview
    row: Package

    @staticmethod
    def stored(row: Package) -> Version:
        """One of the catalog. Raises `NotCompared` when its archive is gone."""
        try:
            return Version(blobs.get(row.digest), row)
        except BlobMissing:
            raise NotCompared(Text("the archive of version {version} is gone", version=row.version)) from None


def compare(caller: Caller, old: Version, new: Version, mates: Sequence[Draft] = ()) -> dict[str, Any]:
    """What `vetro.packages.compat.findings.Comparison.as_data` gives, with ``more``: how many findings are left out.

    ``mates``: what is imported together with the new version. Raises `NotCompared`, and `Unavailable` and `TooMany`
    when there is no time for it now.
    """
    besides = {mate.row.fqn for mate in mates}
    others = required_archives(caller, [old.row, new.row], besides if not _needs(old.row, besides) else ())
    head = {"op": "compare", "others": others, "limits": archive_limits(), "seconds": _COMPARING}
    archives = [old.data, new.data, *(mate.data for mate in mates)]
    try:
        answer, _ = pool().ask(caller.project_id, head, archives, SECONDS, others)
    except Invalid as error:  # it took too long, or too much memory
        raise NotCompared(reason_of(error.message)) from None
    if "failed" in answer:
        raise NotCompared(decode_messages(answer)["failed"])
    try:
        return _typed(answer["compared"], new.row)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise NotCompared(Text("the answer of its process means nothing")) from None


def _needs(row: Package, names: Collection[str]) -> bool:
    """Whether a package of the catalog requires others of these names, perhaps in versions that are there."""
    return any(name in names for name in row.required)


def _typed(told: Mapping[str, Any], row: Package) -> dict[str, Any]:
    """An answer as it is kept: of these keys and types, and of bounded size. Raises ValueError and its like."""
    findings = told["findings"]
    if not isinstance(findings, list) or told["name"] != row.fqn or told["new"] != row.version:
        raise ValueError
    kept = [_finding(one) for one in findings[:MOST]]
    return {
        "old": str(parse_version(_text(told["old"]))),
        "new": row.version,
        "level": _level(told["level"]),
        "required": str(parse_version(_text(told["required"]))),
        "sufficient": told["sufficient"] is True,
        "findings": kept,
        "more": max(len(findings) - MOST, 0),
    }


def _finding(told: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "level": _level(told["level"]),
        "code": _text(told["code"]),
        "element": _text(told["element"]),
        "message": _text(told["message"]),
        "old": _place(told["old"]),
        "new": _place(told["new"]),
        "witness": None if told["witness"] is None else _text(told["witness"]),
        "declared": told["declared"] is True,
    }
    if TEXTS in told and len(json.dumps(told[TEXTS])) < _LARGEST:
        found[TEXTS] = {"message": told[TEXTS]["message"]}
    checked: dict[str, Any] = encode_messages(decode_messages(storable(found)))
    return checked


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value[:_LONGEST]


def _level(value: Any) -> str:
    if value not in _LEVELS:
        raise ValueError
    return str(value)


def _place(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    return {"file": _text(value["file"]), "line": int(value["line"]), "column": int(value["column"])}


# -- what is kept with a package ---------------------------------------------------------------------------------------


def predecessor(package: Package) -> Package | None:
    """What a version is compared with: the newest lower release that the project sees, of its own before public ones;
    a pre-release where there is no release. For a public package only public ones count, since all see it.
    """
    scope = Q(is_public=True) if package.is_public else Q(is_public=True) | Q(project_id=package.project_id)
    rows = Package.objects.filter(scope, fqn=package.fqn, version_key__lt=package.version_key, readable=True)
    newest = rows.exclude(id=package.id).order_by("prerelease", "-version_key").values_list("version_key", flat=True)
    key = newest.first()
    found = rows.filter(version_key=key) if key is not None else ()
    return min(found, key=lambda one: one.project_id != package.project_id, default=None)


def judge(caller: Caller, drafts: Sequence[Draft], *, beside: Sequence[Draft] = (), anyway: bool = False) -> None:
    """Compares each package with its predecessor, and notes in its row what was found. ``beside``: what is imported
    with them, and may be a predecessor, too.

    Whether that refuses the import the settings say: raises `NumberTooLow`. ``anyway``: versions whose number is too
    low are taken all the same; raises `Forbidden` without rule ``force_version``.
    """
    together = [*drafts, *(one for one in beside if not any(one is draft for draft in drafts))]
    until = time.monotonic() + TOGETHER
    for draft in drafts:
        policy = policy_for(draft.row)
        draft.row.compat = {}
        if policy == "off":
            continue
        before = _before(draft, together)
        if before is None:
            continue
        mates = [mate for mate in together if mate.row.fqn != draft.row.fqn]
        draft.row.compat = _verdict(caller, before, Version(draft.data, draft.row), mates, until)
        hold_to(caller, draft.row, policy, anyway=anyway)


def judge_published(caller: Caller, package: Package, *, anyway: bool = False) -> dict[str, Any]:
    """What is to be kept with a package that becomes public. Raises as `judge`."""
    row = Package(**{field.attname: getattr(package, field.attname) for field in Package._meta.concrete_fields})
    row.is_public, row.compat = True, {}
    policy = policy_for(row)
    before = None if policy == "off" else predecessor(row)
    if before is not None:
        until = time.monotonic() + TOGETHER
        row.compat = _verdict(caller, before, row, (), until)
        hold_to(caller, row, policy, anyway=anyway)
    kept: dict[str, Any] = row.compat
    return kept


def compare_again(caller: Caller, package: Package) -> None:
    """Compares a package that could not be compared when it came, since something that it requires was missing. It is
    there already, so no policy refuses it."""
    if package.compat.get("reason") is None or policy_for(package) == "off":
        return
    before = predecessor(package)
    package.compat = {} if before is None else _verdict(caller, before, package, (), time.monotonic() + TOGETHER)


def policy_for(package: Package) -> str:
    """``off``, ``warn`` or ``refuse``."""
    return str(config()["packages.versioning_public" if package.is_public else "packages.versioning"])


def hold_to(caller: Caller, row: Package, policy: str, *, anyway: bool) -> None:
    """Raises `NumberTooLow` where the policy refuses what was found, and `Forbidden`."""
    if policy != "refuse" or row.compat["sufficient"]:
        return
    if not anyway:
        raise too_low(row)
    enforce(caller, "force_version")
    row.compat["forced"] = True


def too_low(row: Package) -> NumberTooLow:
    """The refusal of a version by what was found of it."""
    told = decode_messages(row.compat)
    values = {"name": row.fqn, "version": row.version, "old": told["against"]["version"], "required": told["required"]}
    if told["reason"] is not None:
        text = Text("{name} {version} was not compared with {old}: {reason}", **values, reason=told["reason"])
    else:
        text = Text("{name} {version} breaks more than its number says: it needs {required} after {old}", **values)
        first = told["findings"][0] if told["findings"] else None
        if first is not None:
            text = Text("{text}; {element} {message}", text=text, element=first["element"], message=first["message"])
    hint = Text("write Version: {required} in the manifest, or mend what is found", required=told["required"])
    return NumberTooLow(text, hint=hint, details={"compatibility": told})


def _before(draft: Draft, drafts: Sequence[Draft]) -> Package | Draft | None:
    """The predecessor of a draft, which may be one of those that come with it."""
    row = draft.row
    lower: list[Draft | Package] = [
        one for one in drafts
        if one.row.fqn == row.fqn and one.row.version_key < row.version_key and one.row.readable
    ]  # fmt: skip
    if (stored := predecessor(row)) is not None:
        lower.append(stored)
    return max(lower, key=lambda one: (not _row(one).prerelease, _row(one).version_key), default=None)


def _row(version: Package | Draft) -> Package:
    return version if isinstance(version, Package) else version.row


def _version(given: Package | Draft | Version) -> Version:
    if isinstance(given, Version):
        return given
    return Version.stored(given) if isinstance(given, Package) else Version(given.data, given.row)


def _verdict(
    caller: Caller, old: Package | Draft, new: Package | Version, mates: Sequence[Draft], until: float
) -> dict[str, Any]:
    """What is kept with a package: the comparison with its predecessor ``against``, or the ``reason`` why there is
    none; ``sufficient`` and ``required`` by the settings."""
    before, row = _row(old), new if isinstance(new, Package) else new.row
    kept: dict[str, Any] = {"against": {"id": before.id, "version": before.version}, "reason": None, "forced": False}
    try:
        if not row.readable:
            raise NotCompared(Text("its classes cannot be read"))
        if time.monotonic() > until:
            raise NotCompared(Text("comparing the packages that came with it took all of the time"))
        kept |= compare(caller, _version(old), _version(new), mates)
    except ServiceError as error:
        nothing = {"old": before.version, "new": row.version, "level": "unknown", "findings": [], "more": 0}
        kept |= {**nothing, "required": row.version, "sufficient": True, "reason": error.message}
    unknown = kept["reason"] is not None or any(one["level"] == "unknown" for one in kept["findings"])
    if unknown and config()["packages.unknown"] == "refuse":
        required = required_version(parse_version(before.version), Level.MAJOR)
        kept |= {"required": str(required), "sufficient": promises(parse_version(row.version), required)}
    return encode_messages(kept)  # type: ignore[no-any-return]


# -- by request --------------------------------------------------------------------------------------------------------


def between(caller: Caller, old: Version | None, new: Version) -> dict[str, Any]:
    """Two versions compared by somebody who asks, ``old`` None: with the newest lower one that the project sees.

    Raises as `compare`, and `NotCompared` where there is none.
    """
    if old is None:
        row = Package(**{f.attname: getattr(new.row, f.attname) for f in Package._meta.concrete_fields})
        row.project_id, row.is_public = caller.project_id, False
        found = predecessor(row)
        if found is None:
            text = Text("there is no version before {name} {version}", name=new.row.fqn, version=new.row.version)
            raise NotCompared(text, hint=Text("name the one to compare it with"))
        old = Version.stored(found)
    if old.row.fqn != new.row.fqn:
        text = Text("{old} and {new} are two packages, not two versions of one", old=old.row.fqn, new=new.row.fqn)
        raise NotCompared(text)
    return {"name": new.row.fqn, **decode_messages(compare(caller, old, new))}
