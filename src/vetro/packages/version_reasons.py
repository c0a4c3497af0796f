"""Why an environment has a version of a package, and what keeps another one out: read from its lock and its model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.model.header import id_of, label_of, parse_type_text, type_of
from vetro.model.tree import objects
from vetro.muranopl.declarations.versions import parse_spec, parse_version
from vetro.packages.lock import ChosenVersion, LockedPackage

#: Objects that are named of those that ask for one class.
NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Asker:
    """An object of the model."""

    id: str
    name: str
    class_name: str


@dataclass(frozen=True, slots=True)
class Reason:
    """One way from objects to a version: what they ask for, then what each package requires, the version last."""

    choices: tuple[ChosenVersion, ...]
    #: The objects that ask for the first, `NAMED` at most.
    objects: tuple[Asker, ...]
    #: How many there are.
    count: int


@dataclass(frozen=True, slots=True)
class Explained:
    """A version that an environment has: one reason for each object class or package that asked for it."""

    package: LockedPackage
    reasons: tuple[Reason, ...]


def explain(
    packages: Iterable[LockedPackage],
    resolution: Sequence[ChosenVersion],
    model: Any,
    name: str | None = None,
    version: str | None = None,
) -> list[Explained]:
    """Why there are these packages; only those of a name and a version, where they are given.

    ``model``: the root of the object model that was deployed with them.
    """
    paths = _shortest(resolution)
    askers = _askers(model)
    found = []
    for package in sorted(packages):
        if name not in (None, package.name) or version not in (None, package.version):
            continue
        asked = sorted(choice for choice in set(resolution) if choice.chosen == str(package) and choice.who in paths)
        found.append(Explained(package, tuple(_reason((*paths[choice.who], choice), askers) for choice in asked)))
    return found


def excluding(resolution: Iterable[ChosenVersion], name: str, version: str) -> ChosenVersion | None:
    """The first requirement that a version of a package does not meet."""
    wanted = parse_version(version)
    asked = sorted(choice for choice in set(resolution) if choice.who and choice.name == name)
    return next((choice for choice in asked if not parse_spec(choice.spec).match(wanted)), None)


def holding(resolution: Iterable[ChosenVersion], model: Any, name: str, version: str) -> tuple[Asker, str] | None:
    """The first object that was deployed in another version of a package, and that version."""
    askers = _askers(model)
    for choice in sorted(set(resolution)):
        package, _, found = choice.chosen.rpartition("/")
        if not choice.who and package == name and found != version and choice.spec:
            there = askers.get((choice.name, choice.chosen)) or askers.get((choice.name, ""))
            if there:
                return there[0], found
    return None


def _shortest(resolution: Iterable[ChosenVersion]) -> dict[str, tuple[ChosenVersion, ...]]:
    """Package -> the shortest way to it from the model, which is ''."""
    edges: dict[str, list[ChosenVersion]] = {}
    for choice in sorted(set(resolution)):
        edges.setdefault(choice.who, []).append(choice)
    paths: dict[str, tuple[ChosenVersion, ...]] = {"": ()}
    level = [""]
    while level:
        news = []
        for who in level:
            for choice in edges.get(who, ()):
                if choice.chosen not in paths:
                    paths[choice.chosen] = (*paths[who], choice)
                    news.append(choice.chosen)
        level = news
    return paths


def _askers(model: Any) -> dict[tuple[str, str], list[Asker]]:
    """The objects by their class, and the NAME/VERSION that their headers say; '' where they say none."""
    found: dict[tuple[str, str], list[Asker]] = {}
    for item in objects(model):
        class_name, version, package = parse_type_text(type_of(item))
        chosen = f"{package}/{version}" if version and package else ""
        asker = Asker(id_of(item) or "", label_of(item), class_name)
        found.setdefault((class_name, chosen), []).append(asker)
    return found


def _reason(choices: tuple[ChosenVersion, ...], askers: Mapping[tuple[str, str], list[Asker]]) -> Reason:
    first = choices[0]
    there = askers.get((first.name, first.chosen)) or askers.get((first.name, "")) or []
    return Reason(choices, tuple(there[:NAMED]), len(there))
