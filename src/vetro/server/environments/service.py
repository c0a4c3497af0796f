"""The rules of environments: create, list, show, rename (API.md 5). Deleting is in `deploy`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import IntegrityError, transaction

from vetro.diagnostics import Text
from vetro.model.environment import ENVIRONMENT
from vetro.server.accounts.policy import enforce
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.environments import definitions, limits, networks, queries, search
from vetro.server.environments.models import Environment, State
from vetro.server.errors import Conflict, Invalid, NotFound
from vetro.server.ids import new_id, stamp
from vetro.server.queries import NOW
from vetro.server.queries import insert as insert_row
from vetro.server.quotas import enforcement
from vetro.server.secrets.encryption import CompressedJSON, unpacked_size
from vetro.server.setup import config

_NO_NAME = Text("Please, specify a name of the environment to create")
#: Keys of a request to create that are the service's own business.
_ASSIGNED = ("id", "version")
#: Keys that are told, but are no part of the model.
_IGNORED = ("tenant_id", "description", "created", "updated", "status", "?")


def create(caller: Caller, given: Any, cloud: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Makes an environment; what was given with its id, version and times. ``cloud``: see `Environment.cloud`.

    Keys that are unknown are stored in the model. Raises `Invalid`, `Conflict` for a name that the project has.
    """
    if not isinstance(given, Mapping):
        raise Invalid(_NO_NAME)
    name = limits.name_of(given.get("name"), _NO_NAME, Text("Environment"))
    for key in _ASSIGNED:
        if key in given:
            raise Invalid(Text("'{key}' is given by the service", key=key), hint=Text("leave '{key}' out", key=key))
    id = new_id()
    model = definitions.in_project(caller.project_id, model_of(id, name, given), stored=True)
    limits.check_objects(model)
    with transaction.atomic():
        row = insert(caller, id, name, given, {"Objects": model, "ObjectsCopy": None}, cloud)
        record(caller, "environment.create", row.id, name)
    kept = {key: value for key, value in given.items() if key not in _IGNORED}
    return {**kept, **described(row)}


def model_of(id: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The root object of a new environment. Raises `Invalid`."""
    region = given.get("region")
    limits.text_of(region, "region", limits.LONGEST_NAME)
    if "applications" in given:
        raise Invalid(Text("'applications' cannot be given"), hint=Text("give them as 'services'"))
    model: dict[str, Any] = {"?": {"id": id, "type": ENVIRONMENT, "metadata": {}}, "name": name}
    for key, value in given.items():
        if key not in _IGNORED and key not in ("name", "services"):
            model[key] = value
    if "services" in given:
        services = given["services"]
        if not isinstance(services, list):
            raise Invalid(Text("'services' must be a list"))
        model["applications"] = limits.check_services(services)
    wanted = given.get("defaultNetworks")
    if wanted is None:
        model["defaultNetworks"] = networks.default_networks(config(), name)
    elif not isinstance(wanted, Mapping):
        raise Invalid(Text("'defaultNetworks' must be an object with the keys 'environment' and 'flat'"))
    limits.check_ids(model)
    limits.check_model(model)
    return model


def insert(
    caller: Caller,
    id: str,
    name: str,
    given: Mapping[str, Any],
    model: Any,
    cloud: Mapping[str, Any] | None = None,
) -> Environment:
    """Stores a new environment with its first state, a mapping or `CompressedJSON`; inside a transaction.

    Raises `Conflict`, `Invalid`, `QuotaExceeded`.
    """
    text = limits.text_of(given.get("description_text"), "description_text")
    enforcement.check(caller.project_id, "environments")
    enforcement.check_model(caller.project_id, model, _characters(model))
    try:
        with transaction.atomic():
            row = Environment.objects.create(
                id=id,
                project_id=caller.project_id,
                name=name,
                description_text=text,
                region=given.get("region") or "",
                cloud=dict(cloud or {}),
            )
    except IntegrityError:
        raise Conflict(Text("Environment with specified name already exists")) from None
    State.objects.create(environment=row, number=0, model=model)
    announce(row.project_id, row.id, "created")
    return row


def _characters(model: Any) -> int:
    """Of a new model as JSON. Raises `Invalid` for one that is too large or too deep; a compressed one was checked."""
    if isinstance(model, CompressedJSON):
        return unpacked_size(model, 4 * limits.LARGEST_MODEL)
    return limits.check_model(model)


def list_all(caller: Caller, *, tenant: str | None = None, all_tenants: bool = False) -> Iterator[list[search.Listed]]:
    """The project's environments with their status, some at a time; of other projects by rule
    ``list_environments_all_tenants``."""
    if all_tenants or tenant is not None:
        enforce(caller, "list_environments_all_tenants")
    project = tenant if tenant is not None else None if all_tenants else caller.project_id
    return search.whole(project)


def rename(caller: Caller, environment_id: str, given: Any) -> dict[str, Any]:
    """Gives an environment another name; the name in its model stays. Raises `Invalid`, `Conflict`, `NotFound`."""
    found = queries.get(caller, environment_id)
    if not isinstance(given, Mapping):
        raise Invalid(Text("The server could not comply with the request: the body must be an object with a 'name'."))
    if "name" not in given:
        raise NotFound(Text("'name' is missing"), hint=Text('send {{"name": "…"}}'))
    blank = Text("Environment name must contain at least one non-white space symbol")
    name = limits.name_of(given["name"], blank, Text("Environment"))
    try:
        with transaction.atomic():
            row = Environment.objects.select_for_update().get(id=found.id)
            before, row.name = row.name, name
            row.save(update_fields=["name", "updated"])
            record(caller, "environment.rename", row.id, name, before=before)
            announce(row.project_id, row.id, "renamed")
    except IntegrityError:
        raise Conflict(Text("Environment with specified name already exists")) from None
    except Environment.DoesNotExist:
        raise NotFound(Text("Environment with id {environment_id} not found", environment_id=environment_id)) from None
    return described(row)


def described(row: Environment | queries.ListedEnvironment) -> dict[str, Any]:
    """The fields that every answer about an environment has."""
    return {
        "id": row.id,
        "name": row.name,
        "tenant_id": row.project_id,
        "version": row.version,
        "description_text": row.description_text,
        "created": stamp(row.created),
        "updated": stamp(row.updated),
    }


def announce(project_id: str, environment_id: str, what: str, *, kind: str = "environment", **data: Any) -> None:
    """Tells those who watch; inside the transaction of the change."""
    insert_row(
        "dispatch_event",
        {
            "at": NOW,
            "project_id": project_id,
            "environment_id": environment_id,
            "task_id": "",
            "kind": kind,
            "data": {"change": what, **data},
        },
    )
