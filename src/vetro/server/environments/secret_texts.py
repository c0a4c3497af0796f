"""The secrets of an environment by value, for texts in which nobody knows where they stand: what servers say."""

from __future__ import annotations

from vetro.model.environment import deployed_objects
from vetro.model.header import type_of
from vetro.model.tree import objects
from vetro.server.caller import Caller
from vetro.server.environments import drafts, queries, redaction
from vetro.server.environments.models import Session
from vetro.yaql.redact import Secrets


def of_environment(caller: Caller, environment_id: str) -> Secrets:
    """What secret properties hold: of what is deployed, and of what a task deploys now. Raises `NotFound`, and
    `Unavailable` while packages cannot be read: nobody knows then what is secret.
    """
    found = queries.get(caller, environment_id, model=True)
    session = Session.objects.filter(id=found.session_id).first() if found.session_id else None
    roots = [drafts.root_of(session, found), deployed_objects(found.model or {})]
    names = redaction.of_roots(caller, found, *roots)
    secrets = Secrets()
    for root in roots:
        for obj in objects(root):
            for name in names(type_of(obj)):
                secrets.add(obj.get(name))
    return secrets
