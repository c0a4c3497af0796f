"""Runs one migration: a static method of a package, on the properties of one object. A function, and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping
from typing import Any

from vetro.clouds.interface import NotAvailable
from vetro.diagnostics import Text
from vetro.engine.failure import describe, message_of
from vetro.engine.upgrading.steps import UpgradeStep
from vetro.model.header import id_of, type_of
from vetro.model.tree import has_class_keys, walk
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.runtime.effects import plain
from vetro.muranopl.session import TOLD, Session
from vetro.packages.version_steps import Migration
from vetro.yaql.errors import Stop, VetroError


class MigrationFailed(VetroError):
    """A migration raised an error, or returned what cannot be an object's properties."""

    kind = "error"
    code = "ENG350"
    position: Any = None


class NoEffects:
    """What a migration has of the world: time stands at 0, what it reports is dropped, all else is refused."""

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        """See `vetro.muranopl.runtime.effects.Effects`."""
        if kind == "clock":
            return 0.0
        if kind in TOLD:
            return None
        raise NotAvailable(Text("a migration does nothing outside: effect '{kind}' is refused", kind=kind))


def migrate(session: Session, step: UpgradeStep, object_id: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The properties that the migration of a step makes of ``values``, as plain data. Raises `MigrationFailed`."""
    assert isinstance(step.what, Migration)
    name, kind = step.what.name, step.kind
    where = {"name": kind.name, "version": str(kind.package.version), "package": kind.package.name}
    try:
        with session.set_apart(f"migration:{object_id}:{kind.name}:{step.what.to}"):
            made = plain(session.call(name, (dict(values),), on_class=where, public_only=False))
    except Stop:
        raise
    except Exception as error:
        if not (isinstance(error, VetroError) or getattr(error, "murano_frames", None)):
            raise  # a defect of ours, not of a package
        raise _failed(step, object_id, message_of(error), error) from error
    if not isinstance(made, dict) or "?" in made:
        raise _failed(step, object_id, Text("it has to return a mapping of properties"))
    if has_class_keys(made):
        raise _failed(step, object_id, Text("it has to write definitions with a header: '?': {{type: ...}}"))
    return made


def with_ids(object_id: str, step: UpgradeStep, values: dict[str, Any], known: Container[str]) -> list[dict[str, Any]]:
    """Gives the definitions that a migration has made ids that follow from what, and where, they are; those
    definitions, owners first. ``known``: ids that were there before."""
    made = []
    for place in walk(values):
        own = id_of(place.object)
        if own is not None and own in known:
            continue
        if not type_of(place.object):
            raise _failed(step, object_id, Text("a definition at {path} names no class", path=place.path))
        if own is None:
            seed = f"{object_id}\0{step.kind.name}\0{step.what.to}\0{place.path}"
            own = hashlib.sha256(seed.encode()).hexdigest()[:32]
            while own in known:  # it was upgraded so before, and went back
                own = hashlib.sha256(own.encode()).hexdigest()[:32]
            place.object["?"] = {**place.object["?"], "id": own}
        made.append(place.object)
    return made


def _failed(step: UpgradeStep, object_id: str, why: str, error: Exception | None = None) -> MigrationFailed:
    text = Text(
        "migration {kind}::{name} to {to} fails for object '{id}': {why}",
        kind=step.kind.name,
        name=getattr(step.what, "name", ""),
        to=step.what.to,
        id=object_id,
        why=why,
    )
    failed = MigrationFailed(text)
    failed.hint = getattr(error, "hint", None)
    failed.position = step.what.decl.position
    if error is not None and (place := describe(error)["position"]):
        failed.position = Position(**place)
    return failed
