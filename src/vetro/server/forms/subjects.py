"""What somebody wants a form for: an object of a package or class, one that is there, an action, a static action.

Each function looks at the catalog and the draft, and says what the form is about and which forms there are.
They raise `NotFound`, `Invalid`, `Forbidden`, and `FormFailed` for classes that cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.forms import form_source
from vetro.forms.keywords import Schema
from vetro.model.environment import applications_of
from vetro.model.header import parse_type_text, type_of
from vetro.model.tree import copied
from vetro.server.catalog.models import Package
from vetro.server.environments import components, offered_actions
from vetro.server.errors import Forbidden, Invalid, NotFound
from vetro.server.forms import missing_packages
from vetro.server.forms.models import FormDraft
from vetro.server.forms.target import FormTarget
from vetro.server.forms.views import Subject


@dataclass(frozen=True, slots=True)
class NewForm:
    """A form that may be begun. ``first``: the source to show, unless somebody wants one of ``others``."""

    purpose: str
    title: str
    subject: Subject
    first: str
    others: tuple[str, ...] = ()
    reason: str = ""
    base: Mapping[str, Any] | None = None


def adding_package(place: FormTarget, package_id: str, *, referred: bool = False) -> NewForm:
    """A new object of a package of the catalog: its definition, or the class that is named like it."""
    row = Package.objects.filter(id=package_id).first() if "\0" not in package_id else None
    if row is None or not (row.is_public or row.project_id == place.project_id):
        raise NotFound(Text("Package id '{package_id}' not found", package_id=package_id[:80]))
    check_addable(row)
    return _adding(row, row.name, f"{row.fqn}/{row.version}@{row.fqn}" if row.fqn in row.class_names else "", referred)


def check_addable(row: Package) -> None:
    """Raises `Invalid` for a package that no form can be begun for."""
    missing_packages.check_usable(row)
    if row.fqn not in row.class_names and not row.ui:
        raise Invalid(
            Text("The package {fqn} has no form: neither a definition, nor a class of its own name.", fqn=row.fqn),
            hint=Text("begin the form of one of its classes"),
            details={"classes": list(row.class_names)},
        )


def adding_class(place: FormTarget, class_name: str, version: str | None, *, referred: bool = False) -> NewForm:
    """A new object of a class; for the one that is named like its package as `adding_package`."""
    written = parse_type_text(class_name)
    name, spec, package = written.name, _spec(written.version) or version or None, written.package
    rows = _rows(place, class_name, name, spec, package)
    row = rows[0] if rows and name in rows[0].class_names else None
    if row is not None and row.ui and name == row.fqn:
        return _adding(row, row.name, f"{row.fqn}/{row.version}@{row.fqn}", referred)
    described = place.describer.of(name, spec, package)
    if described is None:
        missing_packages.check_class(place.project_id, class_name)
        raise NotFound(Text("There is no class '{class_name}' in the catalog.", class_name=class_name[:255]))
    return _adding(row, described.title, described.type, referred, definition=False)


def _adding(row: Package | None, title: str, written: str, referred: bool, *, definition: bool = True) -> NewForm:
    about = {**_package(row), "ui": row.ui if row is not None and definition else ""}
    offer = form_source.for_adding(has_definition=bool(about["ui"]), has_class=bool(written))
    subject = Subject(**about, type=written, referred=referred)
    return NewForm(FormDraft.ADD, title, subject, offer.first, offer.others)


def editing(place: FormTarget, object_id: str) -> NewForm:
    """An object of the draft: the form of its class; beside it the definition with its answers, where that applies."""
    stored = components.find(applications_of(place.root), object_id)
    written = type_of(stored)
    described = place.describer.described(written) if written else None
    if described is None:
        missing_packages.check_class(place.project_id, written or "")
        raise Invalid(
            Text("The class {written} is not in the catalog any more.", written=written or "of the object"),
            hint=Text("import its package again"),
        )
    row = place.row_of(described)
    kept, maker = place.kept_for(object_id)
    if maker is not None:
        row = maker
    definition = row.ui if row is not None and row.ui else None
    offer = form_source.for_editing(stored, kept, place.describer, definition=definition)
    subject = Subject(**_package(row), ui=definition or "", type=described.type, object_id=object_id)
    title = place.objects.label(object_id)
    return NewForm(FormDraft.EDIT, title, subject, offer.first, offer.others, offer.reason, copied(stored))


def action(place: FormTarget, action_id: str) -> NewForm:
    """The arguments of an action of a deployed object."""
    assert place.environment_id is not None, "actions are called in environments"
    known = next((a for a in offered_actions.actions(place.caller, place.environment_id) if a["id"] == action_id), None)
    if known is None:
        raise NotFound(
            Text("There is no action '{action_id}'.", action_id=action_id[:255]),
            hint=Text("deploy first what offers it"),
        )
    if not known["enabled"]:
        raise Forbidden(Text("The action '{action_id}' is disabled.", action_id=action_id))
    header = f"{known['class']}/{known['version'] or ''}".rstrip("/")
    written = f"{header}@{known['package']}" if known["package"] else header
    subject = Subject(type=written, object_id=known["object_id"], action_id=action_id, method=known["name"])
    method_schema(place, subject)
    return NewForm(FormDraft.ACTION, known["title"], subject, "method")


def static(place: FormTarget, class_name: str, method: str, version: str | None) -> NewForm:
    """The arguments of a static action."""
    written = parse_type_text(class_name)
    spec = _spec(written.version) or version or None
    rows = _rows(place, class_name, written.name, spec, written.package)
    row = rows[0] if rows and written.name in rows[0].class_names else None
    exact = f"{written.name}/{row.version}@{row.fqn}" if row is not None else class_name
    subject = Subject(**_package(row), type=exact, method=method)
    about = method_schema(place, subject)
    if not (about.get("muranoMethod") or {}).get("static"):
        raise NotFound(Text("{class_name} has no static action '{method}'.", class_name=class_name, method=method))
    return NewForm(FormDraft.STATIC, str(about.get("title") or method), subject, "method")


def method_schema(place: FormTarget, subject: Subject) -> Schema:
    """The schema of the method that a subject names. Raises `NotFound`."""
    written = parse_type_text(subject.type)
    found = place.catalog.schemas(written.name, _spec(written.version), written.package, (subject.method,))
    schema = None if found is None else found.get(subject.method)
    about = {} if schema is None else schema.get("muranoMethod") or {}
    if schema is None or not about or about.get("builder"):
        raise NotFound(Text("{name} has no action '{method}'.", name=written.name, method=subject.method))
    return schema


def _rows(place: FormTarget, given: str, name: str, spec: str | None, package: str | None) -> list[Package]:
    try:
        return place.catalog.packages_of(name, spec, package)
    except Invalid:
        missing_packages.check_class(place.project_id, given)
        raise


def _package(row: Package | None) -> dict[str, Any]:
    if row is None:
        return {}
    return {"package_id": row.id, "fqn": row.fqn, "name": row.name, "version": row.version}


def _spec(version: Any) -> str | None:
    return None if version is None else str(version)
