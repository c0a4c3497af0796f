"""Newer versions for what an environment runs, and the drafts that move it there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from vetro.engine.watching.states import State as Health
from vetro.server.api.answers.procedures import procedure_json
from vetro.server.api.answers.sessions import session_json
from vetro.server.caller import Caller
from vetro.server.environments import limits, lookup, newer_versions, queries, upgrades
from vetro.server.environments.upgrades import Request
from vetro.server.procedures import chains
from vetro.server.procedures.service import Guard

#: Objects, packages or answers of one request.
_MOST = 1000


def list_upgrades(caller: Caller, environment_id: str) -> dict[str, Any]:
    """The packages of an environment's objects of which there is a newer release."""
    found = newer_versions.offers(caller, lookup.environment(caller, environment_id))
    return {"items": [{**asdict(offer), "bump": offer.bump, "security": offer.security} for offer in found]}


def upgrade_environment(
    caller: Caller,
    environment_id: str,
    *,
    to: Mapping[str, str] | None = None,
    objects: Sequence[str] = (),
    answers: Mapping[str, Mapping[str, Any]] | None = None,
    drops: Sequence[str] = (),
    draft: bool = True,
    beside: Sequence[Any] = (),
) -> dict[str, Any]:
    """Moves objects to newer versions: the session that does it when it is deployed, and what becomes of what.

    ``drops``: OBJECT.PROPERTY. Without ``draft`` the report alone is told.
    """
    lookup.environment(caller, environment_id)
    request = _request(to, objects, answers, drops, beside)
    if not draft:
        return {"session": None, "report": upgrades.prepare(caller, environment_id, request).report}
    session, report = upgrades.draft(caller, environment_id, request)
    found = queries.get(caller, environment_id)
    return {"session": session_json(caller, session, found, True), "report": report}


def upgrade_one_by_one(
    caller: Caller,
    environment_id: str,
    *,
    to: Mapping[str, str] | None = None,
    objects: Sequence[str] = (),
    answers: Mapping[str, Mapping[str, Any]] | None = None,
    drops: Sequence[str] = (),
    settle: float | None = None,
    hold: float = 0.0,
    confirmed: bool | Collection[str] = False,
    together: bool = False,
    beside: Sequence[Any] = (),
    before: Mapping[str, Health] | None = None,
) -> dict[str, Any]:
    """Begins to move applications to newer versions, one after the other: the procedure that does it. ``before``: how
    the components are, where somebody looked."""
    lookup.environment(caller, environment_id)
    request = _request(to, objects, answers, drops, beside)
    guard = Guard.from_request(True, settle, hold, confirmed)
    row = chains.begin(caller, environment_id, request, guard, together=together, before=before)
    return procedure_json(row)


def _request(
    to: Mapping[str, str] | None,
    objects: Sequence[str],
    answers: Mapping[str, Mapping[str, Any]] | None,
    drops: Sequence[str],
    beside: Sequence[Any],
) -> Request:
    limits.check_depth(answers or {}, "the answers")
    return Request(
        to=dict(to or {}),
        objects=list(objects)[:_MOST],
        answers=dict(answers or {}),
        drops=[_split(text) for text in list(drops)[:_MOST]],
        beside=list(beside),
    )


def _split(text: str) -> tuple[str, str]:
    own, _, name = text.rpartition(".")
    return own, name
