"""`upgraded`: an object model and the versions that its packages are to have -> a draft, and what became of what.

Deterministic: the same model, packages, versions and answers give the same draft. The model is not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Text, encode_messages
from vetro.engine.upgrading.objects import Objects
from vetro.engine.upgrading.questions import answer, questions
from vetro.model.environment import deployed_objects
from vetro.model.header import label_of, type_of
from vetro.model.tree import by_id
from vetro.muranopl.declarations.tree import PropertyUsage
from vetro.muranopl.declarations.versions import parse_version
from vetro.muranopl.session import Session
from vetro.packages.version_steps import lifecycle, text_in

#: Package -> the versions of it that an environment uses.
Table = Mapping[str, Sequence[str]]
#: A session over exactly the packages of a table.
Open = Callable[[Table], Session]


@dataclass(frozen=True)
class UpgradeRequest:
    """What is to be upgraded, and what was said about it."""

    #: The versions before, and those that the environment is to use: also the old ones that something still needs.
    before: Table
    after: Table
    #: Package -> the version that its objects get.
    target: Mapping[str, str]
    #: Ids of the objects that move, with all that they own; None: every object.
    objects: Sequence[str] | None = None
    #: Id -> property -> value.
    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: [id, property] whose values may be lost.
    drops: Sequence[Sequence[str]] = ()
    #: Values that a new class has no place for stay where they are.
    keep: bool = False


def upgraded(model: Mapping[str, Any], wanted: UpgradeRequest, open_session: Open) -> dict[str, Any]:
    """{objects, base, attributes, packages, report}, plain data.

    ``objects`` is the root of the draft, ``base`` what is deployed as it would be in the new versions: what of it the
    draft does not repeat was changed. ``attributes`` and ``packages`` are ``Attributes`` and ``SystemData.Packages`` of
    the draft. The report is {objects, asked, removed, problems, not_restorable, guard, ready}; the draft may be
    deployed when it is ``ready``.

    Raises `MigrationFailed`, and what linking the classes of packages raises.
    """
    target = {name: parse_version(version) for name, version in wanted.target.items()}
    old, new = open_session(wanted.before), open_session(wanted.after)
    there = deployed_objects(model)
    moving = Objects(old, new, target, wanted.objects, keep=wanted.keep)
    root = moving.tree(model.get("Objects"))
    deployed = Objects(old, new, target, wanted.objects, keep=wanted.keep)
    base = None if there is None else deployed.tree(there)
    used = (model.get("SystemData") or {}).get("Packages") or {}
    packages = {**used, **{name: list(versions) for name, versions in wanted.after.items()}}
    fixed = _fixed(base, wanted.answers, moving.types)
    if fixed:  # what the new class refuses has to be given anew; whatever else is fixed stays so
        refused, _ = questions(
            open_session(wanted.after), {"Objects": root, "SystemData": {"Packages": packages}}, moving.types
        )
        fixed -= {(one["object"], one["property"]) for one in refused}
    unknown = answer(root, wanted.answers, moving.types)
    own = {
        id: {name: value for name, value in values.items() if (id, name) not in fixed}
        for id, values in wanted.answers.items()
    }
    answer(base, own, moving.types)
    former = {**deployed.former, **moving.former}
    rows = _rows(model.get("Attributes") or (), former)
    draft = {"Objects": root, "Attributes": rows, "SystemData": {"Packages": packages}}
    asked, problems = questions(open_session(wanted.after), draft, moving.types)
    problems = [*moving.problems, *(one for one in problems if one not in moving.problems)]
    problems += [{"object": own, "name": None, "message": _no_property(own, name)} for own, name in unknown]
    confirmed = {(str(own), str(name)) for own, name in wanted.drops}
    for item in moving.moved:
        for value in item.dropped:
            value["confirmed"] = (item.id, value["name"]) in confirmed
    lost = any(value["lost"] and not value["confirmed"] for item in moving.moved for value in item.dropped)
    report = {
        "objects": [asdict(item) for item in moving.moved],
        "asked": asked,
        "removed": _removed(model.get("Objects"), root),
        "problems": problems,
        **_declared(moving),
        "ready": not (asked or problems or lost) and bool(moving.moved),
    }
    return {
        "objects": root,
        "base": base,
        "attributes": rows,
        "packages": packages,
        "report": encode_messages(report),
    }


def _rows(rows: Sequence[Any], former: Mapping[str, Mapping[str, str]]) -> list[Any]:
    """Rows of ``Attributes``, [id, class, name, value], and those of renamed classes also under the name of now.

    What is destroyed after all, or taken back, still has the old code, which looks under the old name.
    """
    renamed = {}
    for row in rows:
        if isinstance(row, (list, tuple)) and len(row) == 4 and all(isinstance(part, str) for part in row[:3]):
            own, owner, name, value = row
            now = former.get(own, {}).get(owner, owner)
            if now != owner:
                renamed[own, now, name] = value
    kept = [row for row in rows if not (isinstance(row, (list, tuple)) and _key(row) in renamed)]
    return [*kept, *([*key, value] for key, value in renamed.items())]


def _key(row: Sequence[Any]) -> Any:
    return tuple(row[:3]) if all(isinstance(part, str) for part in row[:3]) else None


def _fixed(base: Any, answers: Mapping[str, Mapping[str, Any]], types: Mapping[str, Any]) -> set[tuple[str, str]]:
    """The answers, (id, property), to what cannot be changed any more: ``Const`` properties that have a value."""
    known = by_id(base)
    return {
        (own, name)
        for own, values in answers.items()
        if own in known and own in types
        for name in values
        if known[own].get(name) is not None
        and (prop := types[own].properties.get(name)) is not None
        and prop.usage is PropertyUsage.CONST
    }


def _removed(before: Any, after: Any) -> list[dict[str, str]]:
    kept = by_id(after)
    return [
        {"id": own, "type": type_of(obj), "name": label_of(obj)}
        for own, obj in by_id(before).items()
        if own not in kept
    ]


def _declared(moving: Objects) -> dict[str, Any]:
    """What the authors of the new classes say of updates."""
    bases = {base.key: base for item in moving.moved for base in moving.types[item.id].ancestors}
    lost: dict[str, None] = {}
    guard = False
    for base in bases.values():
        for decl in lifecycle(base, base.decl.meta, "NotRestorable"):
            lost.setdefault(text_in(decl, "what") or base.name)
        guard = guard or any(text_in(d, "guard") == "required" for d in lifecycle(base, base.decl.meta, "Update"))
    return {"not_restorable": list(lost), "guard": guard}


def _no_property(own: str, name: str) -> Text:
    return Text("object '{id}' has no property '{name}' that can be given", id=own, name=name)
