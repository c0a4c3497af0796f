"""What `vetro env why` says: why an environment has these versions of packages, and what keeps another one out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.muranopl.declarations.versions import parse_version
from vetro.muranopl.errors import DeclarationError
from vetro.packages.lock import ChosenVersion, Lock
from vetro.packages.paths import MANIFEST
from vetro.packages.version_reasons import Explained, excluding, explain, holding
from vetro.server.caller import Caller
from vetro.server.catalog.inspection.client import facts_of
from vetro.server.catalog.models import Package
from vetro.server.catalog.resolver import seen_by
from vetro.server.environments import packages, queries
from vetro.server.environments.models import State
from vetro.server.errors import Invalid, NotFound
from vetro.yaql.errors import VetroError

#: Versions that are told where the wanted one is none of them.
_TOLD: Final = 20


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The first thing that keeps a version out."""

    #: absent, disabled, unusable, requirement, dependency, object, lock; none: the next upgrade takes it.
    kind: str
    text: str
    #: The package whose manifest says so (NAME/VERSION), what it says, and where.
    who: str = ""
    spec: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Explanation:
    """Of one environment."""

    #: The state that is explained, and its lock.
    number: int
    lock: Lock
    found: list[Explained]
    #: Of the version that was asked for; None where the environment has it, or none was.
    obstacle: Obstacle | None = None


def lock_of(caller: Caller, environment_id: str, number: int | None = None) -> tuple[int, Lock]:
    """The number and the lock of a state, the newest without ``number``. Raises `NotFound`."""
    found = queries.get(caller, environment_id)
    state = found.version if number is None else number
    lock = packages.lock_of(found.id, number)
    if lock is None:
        raise NotFound(
            Text("There is no lock of state {number}.", number=state),
            hint=Text("a deployment leaves one; states of earlier versions have none"),
        )
    return state, lock


def why(caller: Caller, environment_id: str, package: str = "", version: str = "") -> Explanation:
    """Why there are its packages, or those versions of one; with ``version`` only that one, or why it is not there.

    Raises `NotFound` for an environment without lock and for a package that is neither in it nor in the catalog,
    `Invalid` for what is no version.
    """
    number, lock = lock_of(caller, environment_id)
    found = queries.get(caller, environment_id, model=True)
    model = State.objects.filter(environment_id=environment_id).order_by("-number")[0].model
    resolution: Sequence[ChosenVersion] = lock.resolution
    if not resolution:  # a lock of an earlier version: what would be chosen now
        resolution = packages.resolved(caller, found, model).resolution
    root = model.get("Objects")
    if version:
        try:
            version = str(parse_version(version))
        except DeclarationError as error:
            raise Invalid(error.message, hint=error.hint) from None
    there = explain(lock.packages, resolution, root, package or None)
    exact = [item for item in there if item.package.version == version]
    if not version or exact:
        if not there:
            raise NotFound(Text("The environment does not use package '{package}'.", package=package))
        return Explanation(number, lock, exact or there)
    obstacle = _obstacle(caller, found, model, lock, resolution, package, version)
    return Explanation(number, lock, there, obstacle)


def _obstacle(
    caller: Caller,
    found: queries.ListedEnvironment,
    model: dict[str, Any],
    lock: Lock,
    resolution: Sequence[ChosenVersion],
    name: str,
    version: str,
) -> Obstacle:
    """Looked for in this order: the catalog, requirements, what the version requires itself, objects, the lock."""
    refused = _not_offered(found.project_id, name, version, lock)
    if refused is not None:
        return refused
    choice = excluding(resolution, name, version)
    if choice is not None:
        return _required(found.project_id, lock, choice)
    try:
        chosen = packages.resolved(caller, found, model, wanted={name: version})
    except Invalid as error:
        return Obstacle("dependency", error.message)
    held = holding(resolution, model.get("Objects"), name, version)
    if held is not None:
        asker, has = held
        text = Text(
            "object '{object}' ({class_name}) was deployed in version {version}, and stays in it until it is upgraded",
            object=asker.name,
            class_name=asker.class_name,
            version=has,
        )
        return Obstacle("object", text)
    if any((row.fqn, row.version) == (name, version) for row in chosen.rows):
        text = Text("every requirement allows it; the lock keeps what is in use until it is upgraded")
        return Obstacle("lock", text)
    return Obstacle("none", Text("nothing of the environment asks for it"))


def _not_offered(project_id: str, name: str, version: str, lock: Lock) -> Obstacle | None:
    rows = Package.objects.filter(seen_by(project_id), fqn=name).order_by("-version_key")
    listed = list(rows.values_list("version", "enabled", "usable"))
    mine = [(enabled, usable) for found, enabled, usable in listed if found == version]
    there = [found for found, _, _ in listed] or lock.versions().get(name, [])
    if not there:
        raise NotFound(Text("The environment does not use package '{package}'.", package=name))
    if not mine:
        versions = ", ".join(there[:_TOLD])
        text = Text("the catalog does not have it; there is {versions}", versions=versions)
        return Obstacle("absent", text)
    if not any(enabled for enabled, _ in mine):
        return Obstacle("disabled", Text("it is disabled in the catalog"))
    if not any(enabled and usable for enabled, usable in mine):
        text = Text("it was imported although something that it requires was missing, or its classes cannot be read")
        return Obstacle("unusable", text)
    return None


def _required(project_id: str, lock: Lock, choice: ChosenVersion) -> Obstacle:
    text = Text("{who} requires {name} {spec}", who=choice.who, name=choice.name, spec=choice.spec)
    line = 0
    for package in lock.packages:
        if str(package) == choice.who:
            try:
                lines = facts_of(project_id, package.digest)[0].get("required_lines") or {}
            except VetroError:  # the archive is gone: what it says is known all the same
                continue
            line = int(lines.get(choice.name) or 0)
    return Obstacle("requirement", text, choice.who, choice.spec, MANIFEST if line else "", line)


def as_json(told: Explanation) -> dict[str, Any]:
    """As clients get it."""
    return {
        "number": told.number,
        "lock": told.lock.digest(),
        "packages": [
            {
                "name": item.package.name,
                "version": item.package.version,
                "digest": item.package.digest,
                "reasons": [
                    {
                        "objects": [asdict(asker) for asker in reason.objects],
                        "count": reason.count,
                        "choices": [asdict(choice) for choice in reason.choices],
                    }
                    for reason in item.reasons
                ],
            }
            for item in told.found
        ],
        "obstacle": None if told.obstacle is None else asdict(told.obstacle),
    }
