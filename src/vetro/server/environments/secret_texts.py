"""The secrets of an environment by value, for texts in which nobody knows where they stand: logs of servers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from vetro.model.environment import deployed_objects
from vetro.model.header import header_of, type_of
from vetro.model.secrets import SecretNames, sounds_secret
from vetro.model.tree import find, objects
from vetro.server.caller import Caller
from vetro.server.catalog.secret_names import secret_arguments, secrets_of
from vetro.server.config.table import SETTINGS
from vetro.server.environments import drafts, queries, redaction
from vetro.server.environments.models import Session, State
from vetro.server.setup import config
from vetro.server.tasks.models import Task
from vetro.yaql.redact import Secrets

#: Earlier states and drafts whose secrets are known: logs may still hold them.
_STATES: Final = 50
_PASSWORD = re.compile(r"://[^/@\s:]*:([^/@\s]+)@")


def of_environment(caller: Caller, environment_id: str) -> Secrets:
    """What secret properties hold: of what is deployed, and of what a task deploys now. Raises `NotFound`, and
    `Unavailable` while packages cannot be read: nobody knows then what is secret.
    """
    found = queries.get(caller, environment_id, model=True)
    session = Session.objects.filter(id=found.session_id).first() if found.session_id else None
    roots = [drafts.root_of(session, found), deployed_objects(found.model or {})]
    secrets = Secrets()
    _add(secrets, roots, redaction.of_roots(caller, found, *roots))
    return secrets


def of_everything(caller: Caller, environment_id: str, tasks: Iterable[Task]) -> Secrets:
    """The same of earlier states, of drafts, and of what these tasks began with and were given; what is called like a
    secret; and secrets of the service itself: its settings and variables. Raises the same.
    """
    found = queries.get(caller, environment_id, model=True)
    states = State.objects.filter(environment_id=environment_id).order_by("-number").values_list("model", flat=True)
    models: list[Any] = [found.model, *states[:_STATES]]
    sessions = Session.objects.filter(environment_id=environment_id).order_by("-created")[:_STATES]
    roots = [drafts.root_of(session, found) for session in sessions]
    for model in models:
        roots += [(model or {}).get(name) for name in ("Objects", "ObjectsCopy")]
    secrets = Secrets()
    _add(secrets, roots, redaction.of_roots(caller, found, *roots), named=True)
    for task in tasks:
        spec: Mapping[str, Any] = task.spec or {}
        digests = [used["digest"] for used in spec.get("packages") or ()]
        model = spec.get("model") or {}
        _add(secrets, [model.get("Objects"), model.get("ObjectsCopy")], secrets_of(digests), named=True)
        action: Mapping[str, Any] = task.action or {}
        type_text = type_of(find(model.get("Objects"), str(action.get("object_id") or "")))
        names = secret_arguments(type_text, str(action.get("method") or ""), digests)
        for name, value in (action.get("args") or {}).items():
            if name in names or sounds_secret(name):
                secrets.add(value)
    for value in _of_process():
        secrets.add(value)
    return secrets


def _add(secrets: Secrets, roots: Iterable[Any], names: SecretNames, *, named: bool = False) -> None:
    """Adds the values of secret properties; with ``named`` also those, at any depth, whose names sound so."""
    for root in roots:
        for obj in objects(root):
            for name in names(type_of(obj)):
                secrets.add(obj.get(name))
            if named:
                for value in _named(obj):
                    secrets.add(value)


def _named(value: Any) -> Iterator[Any]:
    """Values in an object, or in plain data, whose names sound secret. Other objects are left to others."""
    work = [value]
    while work:
        item = work.pop()
        if isinstance(item, Mapping):
            for key, held in item.items():
                if sounds_secret(str(key)):
                    yield held
                elif not (isinstance(held, Mapping) and header_of(held) is not None):
                    work.append(held)
        elif isinstance(item, (list, tuple)):
            work.extend(part for part in item if not (isinstance(part, Mapping) and header_of(part) is not None))
        elif isinstance(item, str) and "://" in item:
            for password in _PASSWORD.findall(item):
                yield from (password, unquote(password))


def _of_process() -> Iterator[Any]:
    """What settings and variables of this service hold that is secret."""
    for item in SETTINGS:
        value = config()[item.name]
        if item.secret and isinstance(value, str):
            yield value
        yield from _named(value)
    for name, value in os.environ.items():
        if sounds_secret(name):
            yield value
        yield from _named(value)
