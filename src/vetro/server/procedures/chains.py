"""Chains: an upgrade as upgrades of one application after the other, what others use first, in one procedure.

What each part is about is kept with the procedure. Its draft is made when the part before has settled, by whoever goes
on with the procedure: a draft is of the state that it changes, and its migrations run behind walls, outside of
transactions. Nobody else can open a draft meanwhile, so one that a killed process left is known, and dropped.
"""

from __future__ import annotations

from collections.abc import Mapping

from vetro.diagnostics import Text
from vetro.engine.procedures.guarded_update import GuardedUpdate
from vetro.engine.watching.states import State as Health
from vetro.model.environment import applications_of
from vetro.model.header import id_of, label_of
from vetro.server.caller import Caller
from vetro.server.environments import queries, substitution, upgrades
from vetro.server.environments.models import Session
from vetro.server.environments.upgrades import Request
from vetro.server.errors import Unavailable
from vetro.server.procedures import service, store
from vetro.server.procedures.models import Procedure, of_task
from vetro.server.procedures.service import Chain, Guard
from vetro.server.procedures.store import NextPart
from vetro.server.procedures.way_back import way_back
from vetro.yaql.errors import VetroError


def begin(
    caller: Caller,
    environment_id: str,
    request: Request,
    guard: Guard,
    *,
    together: bool = False,
    before: Mapping[str, Health] | None = None,
) -> Procedure:
    """Begins to upgrade an environment's applications one by one; nothing is begun while something is open of any.

    Raises what `upgrades.draft` and `service.deploy` raise for the first of them.
    """
    report = upgrades.prepare(caller, environment_id, request).report
    if not report["ready"]:
        raise upgrades.incomplete(report)
    found = queries.get(caller, environment_id, model=True)
    names = {str(id_of(one)): label_of(one) for one in applications_of((found.model or {}).get("Objects"))}
    parts = upgrades.parts(report, request)
    chain = Chain(
        tuple({**part.as_json(), "names": [names.get(id, id) for id in part.objects]} for part in parts),
        together,
        bool(report["guard"]),
        tuple(report["not_restorable"]),
        report["target"],
    )
    session, _ = upgrades.draft(caller, environment_id, parts[0])
    try:
        task = service.deploy(caller, environment_id, session.id, guard, before, chain)
    except BaseException:
        Session.objects.filter(id=session.id).delete()
        raise
    return Procedure.objects.get(id=of_task(task.id))


def begin_next_part(row: Procedure) -> Procedure | None:
    """Makes the draft of the next part, and goes on: the procedure as it is then; None where it has ended.

    ``row.wake_at`` says until when it is ours. What was made later than that is thrown away: another one makes it then.
    """
    next_part = _next_part(row)
    ours = Procedure.objects.filter(id=row.id, wake_at=row.wake_at, finished=None)
    if next_part is not None and next_part.session_id and not ours.exists():
        Session.objects.filter(id=next_part.session_id).delete()
        return Procedure.objects.filter(id=row.id, finished=None).first()
    done = store.reconcile(row.id, next_part=next_part)
    if next_part is not None and next_part.session_id:
        used = done is not None and done.about["session_id"] == next_part.session_id
        if not used:  # somebody wanted something else meanwhile
            Session.objects.filter(id=next_part.session_id).delete()
    return done


def _next_part(row: Procedure) -> NextPart | None:
    """The next part; None where that has to be tried again."""
    record = GuardedUpdate.from_json(row.record)
    number, caller, id = record.part + 1, Caller(**row.about["caller"]), row.environment_id
    chain = row.about["chain"]
    try:
        found = queries.get(caller, id)
        left = Session.objects.filter(environment_id=id, state=Session.OPENED, upgrade__isnull=False)
        left.filter(version=found.version).delete()
        session, _ = upgrades.draft(caller, id, Request.from_json(chain["parts"][number]), row.id)
    except Unavailable:
        return None
    except VetroError as error:
        return NextPart(number, error.message)
    try:
        substitution.migrate(caller, id, session.id)
        way = way_back(caller, id, session.id)
    except VetroError as error:
        session.delete()
        return None if isinstance(error, Unavailable) else NextPart(number, error.message)
    why = Text("there would be no way back: {why}", why=way.why) if way.why is not None else ""
    unknown = [text for text in way.losses if text not in chain["losses"] and text not in row.about["losses"]]
    if not why and unknown and (way.required or chain["asked"]):
        why = Text("not all of it would come back: {what}", what="; ".join(unknown)[:1000])
    if why:
        session.delete()
        return NextPart(number, why)
    settle = 0.0 if chain["settle"] is not None else way.settle
    return NextPart(number, "", session.id, way.losses, way.ignored, way.still, settle)
