"""Takes the objects of a tree to the versions that they are to have, owners before what they own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from typing import Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.engine.upgrading.migration import MigrationFailed, migrate, with_ids
from vetro.engine.upgrading.steps import UpgradeStep, former_classes, steps, successor
from vetro.model.differences import same
from vetro.model.header import class_name, header_of, id_of, label_of, parse_type_text, type_of
from vetro.model.secrets import Secret, masked
from vetro.model.tree import SCALARS, by_id, copied, objects
from vetro.muranopl.declarations.tree import NO_DEFAULT, Literal
from vetro.muranopl.declarations.versions import Version, parse_spec, version_key
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.objects.serializer import serialized_properties
from vetro.muranopl.secrecy import is_secret_property
from vetro.muranopl.session import Session
from vetro.packages.version_steps import Rename
from vetro.yaql.redact import MASK
from vetro.yaql.values import thaw


class ClassIsGone(MuranoError):
    """The newer version of a package has no class for an object."""

    kind = "not-found"
    code = "ENG351"


@dataclass
class Moved:
    """What became of one object."""

    id: str
    name: str
    #: Class before and after, with version and package.
    old_type: str
    new_type: str
    #: Versions of its package.
    old: str
    new: str
    #: Whether a migration made it: nothing of it was stored.
    added: bool = False
    steps: list[dict[str, Any]] = field(default_factory=list)
    #: Values that the new class has no place for: {name, value (masked), lost}; ``lost``: it is more than a default.
    dropped: list[dict[str, Any]] = field(default_factory=list)
    #: Properties with another value, besides those that only have another name.
    changed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Stored:
    """An object as it was stored. ``type``: its class then, where that can still be read."""

    name: str
    package: str
    version: Version
    versions: Mapping[str, Version]
    type: Any


class Objects:
    """``old`` and ``new`` know the packages before and after. ``target``: package -> version that its objects get;
    ``chosen``: ids of the objects that move, with what they own; None: all. ``keep``: values that the new class has no
    place for stay.
    """

    def __init__(
        self,
        old: Session,
        new: Session,
        target: Mapping[str, Version],
        chosen: Collection[str] | None,
        *,
        keep: bool = False,
    ) -> None:
        self._keep = keep
        self._old, self._new = old, new
        self._target, self._chosen = target, chosen
        self._steps: dict[Any, list[UpgradeStep]] = {}
        #: Id of an object that a migration made -> the release that it was made for, and the version of its package;
        #: None: it is as its class is now.
        self._fresh: dict[str, tuple[Version, Version] | None] = {}
        self.moved: list[Moved] = []
        #: Id -> the class that the object has now.
        self.types: dict[str, Any] = {}
        #: Id -> what its class and bases were called -> what they are called.
        self.former: dict[str, dict[str, str]] = {}
        self.problems: list[dict[str, Any]] = []

    def tree(self, root: Any) -> Any:
        """A copy of ``root`` whose objects have moved. Raises `MigrationFailed`."""
        made = copied(root)
        known = set(by_id(made))
        self._hide(made)
        work = [(obj, self._chosen is None) for obj in _owned([made])]
        while work:
            obj, moves = work.pop()
            moves = moves or (self._chosen is not None and id_of(obj) in self._chosen)
            self._object(obj, moves, known)
            work += [(part, moves) for part in reversed(list(_owned(_values(obj).values())))]
        counted = Counter(id for obj in objects(made) if (id := id_of(obj)) is not None)
        twice = sorted(id for id, count in counted.items() if count > 1)
        if twice:
            raise MigrationFailed(Text("migrations made of one object several: {ids}", ids=", ".join(twice[:5])))
        return made

    def _hide(self, root: Any) -> None:
        """What was secret is not told by errors of migrations: an owner's sees the secrets of what it owns."""
        names: dict[str, frozenset[str]] = {}
        for obj in objects(root):
            written = type_of(obj)
            if written not in names:
                try:
                    kind = self._old.type_for(*parse_type_text(written))
                    names[written] = frozenset(n for n in kind.declared_names() if is_secret_property(kind, n))
                except MuranoError:  # its own error
                    names[written] = frozenset()
            for name in names[written] & obj.keys():
                self._new.redaction.add(obj[name])

    # -- one object ----------------------------------------------------------------------------------------------------

    def _object(self, obj: dict[str, Any], moves: bool, known: set[str]) -> None:
        try:
            stored = self._stored(obj)
            kind = self._kind(obj, stored, moves)
        except MuranoError as error:
            self._problem(obj, error.message)
            return
        own = id_of(obj) or ""
        self.types[own] = kind
        versions = stored.versions or {base.package.name: base.package.version for base in kind.ancestors}
        if not stored.versions:
            versions = {**versions, stored.package: stored.version}
        self.former[own] = former_classes(kind, versions) | {stored.name: kind.name}
        due = self._due(kind, versions)
        moved = kind.package.version != stored.version or kind.name != stored.name
        if not due and not moved and own not in self._fresh:
            return
        told = Moved(
            own,
            label_of(obj),
            type_of(obj),
            kind.qualified,
            str(stored.version),
            str(kind.package.version),
            added=own in self._fresh,
        )
        before = _values(obj)
        values = self._walked(own, due, before, known, told)
        self._drop(values, before, kind, stored, told)
        header = {key: value for key, value in obj["?"].items() if key not in ("classVersion", "package")}
        obj.clear()
        obj.update({"?": {**header, "type": kind.qualified}, **values})
        renamed = {step["from"]: step["name"] for step in told.steps if "from" in step}
        told.changed = _changed(before, values, renamed)
        self.moved.append(told)

    def _walked(
        self, own: str, due: list[UpgradeStep], values: dict[str, Any], known: set[str], told: Moved
    ) -> dict[str, Any]:
        """The properties after all steps."""
        for step in due:
            if isinstance(step.what, Rename):
                before, after = step.what.before, step.what.after
                if before in values and after not in values:
                    values = {after if name == before else name: value for name, value in values.items()}
                    told.steps.append({"to": str(step.what.to), "name": after, "from": before})
                continue
            values = migrate(self._new, step, own, values)
            for made in with_ids(own, step, values, known):
                self._adopt(made, step)
                known.add(str(id_of(made)))
            told.steps.append({"to": str(step.what.to), "name": step.what.name, "class": step.kind.name})
        return values

    def _adopt(self, made: dict[str, Any], step: UpgradeStep) -> None:
        """Remembers for which release a migration made an object; its own package's are those of that release."""
        name, version, package = parse_type_text(type_of(made))
        mine, to = step.kind.package, step.what.to
        own = version is None and package in (None, mine.name) and self._knows(mine, name, to)
        self._fresh[str(id_of(made))] = (to, mine.version) if own else None
        if own:
            made["?"] = {**made["?"], "type": f"{name}@{mine.name}"}

    def _knows(self, package: Any, name: str, stored: Version) -> bool:
        return name in package.classes or self._successor(package, name, stored) is not None

    def _successor(self, package: Any, name: str, stored: Version) -> Any:
        return successor(package, lambda one: self._new.types.in_package(package, one), name, stored)

    def _stored(self, obj: Mapping[str, Any]) -> _Stored:
        name, version, package = parse_type_text(type_of(obj))
        own = id_of(obj)
        if own is not None and own in self._fresh:
            made_for = self._fresh[own]
            if made_for is not None and package is not None:
                return _Stored(name, package, made_for[0], {}, None)
            kind = self._new.type_for(name, version, package)
            return _Stored(kind.name, kind.package.name, kind.package.version, _versions(kind), kind)
        exact = parse_spec(version).exact if version else None
        try:
            kind = self._old.type_for(name, version, package)
        except MuranoError:
            if exact is None or package is None:
                raise
            return _Stored(name, package, exact, {}, None)
        versions = _versions(kind)
        if exact is not None:  # a version that is gone is replaced by another one, and was stored nevertheless
            versions[kind.package.name] = exact
        return _Stored(kind.name, kind.package.name, versions[kind.package.name], versions, kind)

    def _kind(self, obj: Mapping[str, Any], stored: _Stored, moves: bool) -> Any:
        """The class that an object is to have."""
        made_for = self._fresh.get(str(id_of(obj)))
        wanted = made_for[1] if made_for is not None else self._target.get(stored.package) if moves else None
        if wanted is not None and version_key(wanted) >= version_key(stored.version):
            package = self._new.resolver.find_package(stored.package, str(wanted))
            if stored.name in package.classes:
                return self._new.types.in_package(package, stored.name)
            found = self._successor(package, stored.name, stored.version)
            if found is None:
                told = {"package": package.name, "version": wanted, "name": stored.name}
                raise ClassIsGone(Text("{package} {version} has no class '{name}'", **told))
            return found
        return self._new.type_for(stored.name, str(stored.version), stored.package)

    def _due(self, kind: Any, versions: Mapping[str, Version]) -> list[UpgradeStep]:
        key = (kind.key, str(kind.package.version), *sorted((name, str(version)) for name, version in versions.items()))
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = steps(kind, versions)
        return found

    def _drop(self, values: dict[str, Any], before: Mapping[str, Any], kind: Any, stored: _Stored, told: Moved) -> None:
        """Takes out what the new class has no place for, and the old one had."""
        kept = {name for name, _ in serialized_properties(kind)}
        for name in [name for name in values if name not in kept]:
            if name in before and stored.type is not None and name not in stored.type.declared_names():
                continue  # nobody ever read it
            value = values[name] if self._keep else values.pop(name)
            shown = masked(name, value, class_name(told.old_type), _secret(stored.type))
            if stored.type is None or (name not in stored.type.declared_names() and _has_secret(before, stored.type)):
                shown = MASK  # nobody can say what it is: a migration may have put a secret there
            told.dropped.append({"name": name, "value": shown, "lost": not _is_nothing(value, stored.type, name)})

    def _problem(self, obj: Mapping[str, Any], message: str) -> None:
        self.problems.append({"object": id_of(obj), "name": label_of(obj), "message": message})


def _secret(kind: Any) -> Secret:
    return lambda _, name: kind is not None and name in kind.declared_names() and is_secret_property(kind, name)


def _has_secret(values: Mapping[str, Any], kind: Any) -> bool:
    return any(value not in (None, "") and _secret(kind)("", name) for name, value in values.items())


def _versions(kind: Any) -> dict[str, Version]:
    return {base.package.name: base.package.version for base in reversed(kind.ancestors)}


def _values(obj: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in obj.items() if name != "?"}


def _owned(values: Any) -> Iterator[dict[str, Any]]:
    """The objects that stand in values, not those in objects."""
    stack = list(reversed(list(values)))
    while stack:
        item = stack.pop()
        if item.__class__ in SCALARS:
            continue
        if isinstance(item, dict):
            if header_of(item) is not None:
                yield item
                continue
            item = list(item.values())
        stack += reversed(item)


def _is_nothing(value: Any, kind: Any, name: str) -> bool:
    """Whether losing a value loses nothing: it is empty, or what the old class said by itself."""
    if value in (None, [], {}):
        return True
    default = kind.properties[name].decl.default if kind is not None and name in kind.declared_names() else NO_DEFAULT
    return isinstance(default, Literal) and same(thaw(default.value), value)


def _changed(before: Mapping[str, Any], after: Mapping[str, Any], renamed: Mapping[str, str]) -> list[str]:
    old = dict(before)
    for first, last in renamed.items():
        if first in old and last not in old:
            old[last] = old.pop(first)
    return [name for name, value in after.items() if name not in old or not same(old[name], value)]
