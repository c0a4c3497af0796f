"""The rules of environment templates (API.md 11).

Secrets of the applications stay within the project: those of a public template are dropped when it becomes public, and
whoever belongs to another project never gets one. Within the project they are marked as in environments (`redaction`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Length

from vetro.diagnostics import Text
from vetro.model import paths
from vetro.model.header import id_of
from vetro.model.secrets import without
from vetro.model.tree import copied
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.environments import definitions, limits, redaction, service, template_secrets
from vetro.server.environments.errors import NotYours, refusing
from vetro.server.environments.limits import known_id
from vetro.server.environments.models import Session, Template
from vetro.server.environments.template_secrets import services_of
from vetro.server.errors import Conflict, Invalid, NotFound
from vetro.server.ids import new_id, stamp
from vetro.server.quotas import enforcement

_NO_NAME = Text("Please, specify a name of the environment template.")
_WHAT = Text("Environment template")


def list_all(caller: Caller, *, is_public: bool | None = None) -> list[dict[str, Any]]:
    """Own and public templates by name, or only those that are (not) public."""
    rows = Template.objects.all()
    if is_public is None:
        rows = rows if caller.is_admin else rows.filter(Q(project_id=caller.project_id) | Q(is_public=True))
    elif is_public:
        rows = rows.filter(is_public=True)
    else:
        rows = rows.filter(is_public=False)
        rows = rows if caller.is_admin else rows.filter(project_id=caller.project_id)
    return [described(row) for row in rows.defer("model").order_by("name", "id")]


def create(caller: Caller, given: Any) -> dict[str, Any]:
    """Makes a template; what was given with its id and times. Raises `Invalid`, `Conflict`."""
    if not isinstance(given, Mapping):
        raise Invalid(_NO_NAME)
    name = limits.name_of(given.get("name"), _NO_NAME, _WHAT)
    listed = given.get("services")
    if listed is not None:
        if not isinstance(listed, list):
            raise Invalid(Text("'services' must be a list"))
        limits.check_services(listed)
    is_public = _flag(given.get("is_public", False))
    model = {key: value for key, value in given.items() if key not in ("id", "tenant_id", "created", "updated")}
    if listed is not None:
        limits.check_depth(listed, "the template")
        listed = definitions.of_template(caller.project_id, listed, stored=True)
        model["services"] = template_secrets.kept(caller.project_id, without(listed), is_public)
    with transaction.atomic():
        row = _insert(
            caller,
            name,
            model,
            version=_version(given.get("version", 0)),
            is_public=is_public,
            text=limits.text_of(given.get("description_text"), "description_text"),
        )
        record(caller, "template.create", row.id, name)
    return {**row.model, **described(row)}


def show(caller: Caller, template_id: str, *, marked: bool = False) -> dict[str, Any]:
    """A template that the project owns, or a public one, with its applications.

    ``marked``: secrets are, for everybody; and ``unset_secrets`` are those that whoever uses it has to enter.
    """
    row = _get(caller, template_id)
    shown = {**described(row), "services": template_secrets.shown(caller, row, marked=marked)}
    return {**shown, "unset_secrets": template_secrets.unset(caller, row)} if marked else shown


def update(caller: Caller, template_id: str, given: Any) -> dict[str, Any]:
    """Changes name, visibility or description of a template of the project."""
    if not isinstance(given, Mapping) or not given.get("name"):
        raise Invalid(_NO_NAME)
    name = limits.name_of(given["name"], _NO_NAME, _WHAT)
    try:
        with transaction.atomic():
            row = _get(caller, template_id, own=True, lock=True)
            row.name = name
            if "is_public" in given:
                row.is_public = _flag(given["is_public"])
            if row.is_public:
                row.model = {
                    **row.model,
                    "services": template_secrets.kept(row.project_id, services_of(row), True),
                }
            if "description_text" in given:
                row.description_text = limits.text_of(given["description_text"], "description_text")
            row.save(update_fields=["name", "is_public", "description_text", "model", "updated"])
            record(caller, "template.update", row.id, name)
    except IntegrityError:
        raise Conflict(Text("Env template with specified name already exists")) from None
    return described(row)


def delete(caller: Caller, template_id: str) -> None:
    """Removes a template of the project."""
    with transaction.atomic():
        row = _get(caller, template_id, own=True, lock=True)
        record(caller, "template.delete", row.id, row.name)
        row.delete()


def clone(caller: Caller, template_id: str, given: Any) -> dict[str, Any]:
    """A copy of a public template in the caller's project."""
    if not isinstance(given, Mapping):
        raise Invalid(_NO_NAME)
    name = limits.name_of(given.get("name"), _NO_NAME, _WHAT)
    source = _get(caller, template_id)
    if not source.is_public and source.project_id != caller.project_id and not caller.is_admin:
        raise NotYours(Text("User has no access to these resources."))
    is_public = _flag(given.get("is_public", False))
    listed = template_secrets.kept(source.project_id, template_secrets.given(caller, source), is_public)
    if source.project_id == caller.project_id:
        model = {**source.model, "name": name}
    else:  # what else its makers wrote is their own
        model = {"name": name}
    with transaction.atomic():
        row = _insert(
            caller,
            name,
            {**model, **({"services": listed} if "services" in source.model else {})},
            version=source.version,
            is_public=is_public,
            text=source.description_text,
        )
        record(caller, "template.clone", row.id, name, source=source.id)
    return {**described(row), **({"services": template_secrets.shown(caller, row)} if "services" in row.model else {})}


def create_environment(caller: Caller, template_id: str, given: Any) -> dict[str, str]:
    """An environment with an open session that has the template's applications: {environment_id, session_id}."""
    if not isinstance(given, Mapping):
        raise Invalid(_NO_NAME)
    name = limits.name_of(given.get("name"), _NO_NAME, Text("Environment"))
    row = _get(caller, template_id)
    wanted = {key: given[key] for key in ("region", "defaultNetworks", "description_text") if key in given}
    id = new_id()
    root = service.model_of(id, name, {**wanted, "name": name})
    draft = {**root, "applications": template_secrets.given(caller, row)}
    limits.check_ids(draft)
    size = limits.check_model(draft)
    with transaction.atomic():
        environment = service.insert(caller, id, name, wanted, {"Objects": root, "ObjectsCopy": None})
        enforcement.check_model(caller.project_id, draft, size)
        session = Session.objects.create(
            environment=environment, user_id=caller.user_id, version=0, draft={"Objects": draft}, revision=1
        )
        record(caller, "environment.create", id, name, template=row.id)
    return {"environment_id": id, "session_id": session.id}


def services(caller: Caller, template_id: str, path: Sequence[str]) -> Any:
    """The applications of a template, or a part of one. Raises `NotFound`."""
    with refusing():
        return paths.part(template_secrets.shown(caller, _get(caller, template_id)), path)


def add_services(caller: Caller, template_id: str, given: Any) -> Any:
    """Adds applications; what was given. Raises `Invalid`."""
    if not given:
        raise Invalid(Text("The server could not comply with the request: there is no application in the body."))
    listed = limits.check_services(given)
    with transaction.atomic():
        row = _get(caller, template_id, own=True, lock=True)
        _store(caller, row, [*services_of(row), *listed])
    return given


def put_services(caller: Caller, template_id: str, path: Sequence[str], given: Any) -> Any:
    """Replaces the application with an id, or a part of one; what was given. Raises `NotFound`, `Invalid`."""
    with transaction.atomic():
        row = _get(caller, template_id, own=True, lock=True)
        listed: list[Any] = copied(services_of(row))
        if not path:
            if not isinstance(given, list):
                raise Invalid(Text("the applications must be a list of objects"))
            listed = given
        elif len(path) == 1 and any(id_of(item) == path[0] for item in listed):
            listed = [given if id_of(item) == path[0] else item for item in listed]
        else:
            with refusing():
                paths.replace(listed, path, given)
        _store(caller, row, listed, stamped=True)
    return given


def remove_services(caller: Caller, template_id: str, path: Sequence[str]) -> dict[str, Any]:
    """Removes an application by id or index, or a part of one; the template. Raises `NotFound`."""
    with transaction.atomic():
        row = _get(caller, template_id, own=True, lock=True)
        listed = services_of(row)
        if path:
            with refusing():
                if len(path) == 1:
                    item = paths.part(listed, path)
                    listed = [other for other in listed if other is not item]
                else:
                    paths.remove(listed, path)
        else:
            listed = []
        _store(caller, row, listed)
    return {**row.model, "services": template_secrets.shown(caller, row), "id": row.id, "tenant_id": row.project_id}


def described(row: Template) -> dict[str, Any]:
    """The fields that every answer about a template has."""
    return {
        "id": row.id,
        "name": row.name,
        "tenant_id": row.project_id,
        "version": row.version,
        "is_public": row.is_public,
        "description_text": row.description_text,
        "created": stamp(row.created),
        "updated": stamp(row.updated),
    }


def _get(caller: Caller, template_id: str, *, own: bool = False, lock: bool = False) -> Template:
    rows = Template.objects.select_for_update() if lock else Template.objects
    row = rows.filter(id=template_id).first() if known_id(template_id) else None
    if row is None:
        raise NotFound(Text("EnvTemplate <TempId {template_id}> is not found", template_id=template_id))
    if not caller.sees(row.project_id) and (own or not row.is_public):
        raise NotYours(Text("User has no access to these resources."))
    return row


def _insert(
    caller: Caller, name: str, model: Mapping[str, Any], *, version: int, is_public: bool, text: str
) -> Template:
    enforcement.check_model(caller.project_id, model, limits.check_model(model, "the template"))
    limits.check_ids({"services": model.get("services") or []})
    try:
        with transaction.atomic():
            return Template.objects.create(
                project_id=caller.project_id,
                name=name,
                version=version,
                is_public=is_public,
                description_text=text,
                model=dict(model),
            )
    except IntegrityError:
        raise Conflict(Text("Env template with specified name already exists")) from None


def _store(caller: Caller, row: Template, listed: list[Any], *, stamped: bool = False) -> None:
    limits.check_services(listed)
    limits.check_depth(listed, "the template")
    listed = definitions.of_template(row.project_id, listed, stored=True)
    listed = template_secrets.kept(row.project_id, redaction.restore(listed, services_of(row)), row.is_public)
    limits.check_ids({"services": listed})
    model = {**row.model, "services": listed}
    if stamped:
        model["updated"] = stamp(datetime.now(UTC))
    size = limits.check_model(model, "the template")
    enforcement.check_model(row.project_id, model, size, lambda: _stored(row))
    row.model = model
    row.save(update_fields=["model", "updated"])
    record(caller, "template.change", row.id, row.name)


def _stored(row: Template) -> int:
    """Bytes of the template as it is."""
    return int(Template.objects.values_list(Length("model"), flat=True).get(id=row.id))


def _version(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= limits.LARGEST_NUMBER:
        raise Invalid(Text("'version' must be a whole number that is not negative"))
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Invalid(Text("'is_public' must be true or false"))
    return value
