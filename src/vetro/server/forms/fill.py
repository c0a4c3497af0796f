"""The form session that fills a form in: for a class, a definition or a method, at its place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from vetro.diagnostics import Text
from vetro.engine.query.query import AskFailed
from vetro.forms.catalog import DescribedClass
from vetro.forms.keywords import Schema
from vetro.forms.queries import EFFECT
from vetro.forms.sessions import (
    ClassFormSession,
    DefinitionFormSession,
    FormFailed,
    FormSession,
    MethodFormSession,
    Work,
)
from vetro.model.header import parse_type_text
from vetro.server.catalog.models import Package
from vetro.server.catalog.package_texts import texts_of_package
from vetro.server.errors import Invalid
from vetro.server.forms import given_files, missing_packages, process_cache
from vetro.server.forms.subjects import method_schema
from vetro.server.forms.target import FormTarget
from vetro.server.forms.views import Subject
from vetro.server.ids import new_id
from vetro.server.setup import config
from vetro.server.tasks.package_queries import ask


def form_session_of(
    place: FormTarget, subject: Subject, source: str, base: Mapping[str, Any] | None = None
) -> FormSession:
    """The form session. ``base``: the object that is edited. Raises `FormFailed`, `NotFound`."""
    limit = config()["forms.max_implementations"]
    if source == "method":
        schema = method_schema(place, subject)
        return MethodFormSession(
            place.describer,
            schema,
            place.objects,
            new_id=new_id,
            limit=limit,
            cloud=place.cloud_choices,
            lacks=partial(given_files.lacks, place),
        )
    if source == "class":
        return ClassFormSession(
            place.describer,
            described(place, subject),
            place.objects,
            new_id=new_id,
            check=place.errors_of,
            fixed=place.fixed,
            limit=limit,
            cloud=place.cloud_choices,
            around=place.found.name if place.found is not None else subject.environment,
        )
    kept, _ = place.kept_for(subject.object_id) if subject.object_id else (None, None)
    return DefinitionFormSession(
        _asked(place, subject),
        about(place, subject),
        check=place.problems_of,
        stored=base,
        left=None if kept is None else kept.answers,
        texts=texts_of_package(subject.package_id),
    )


def beginning(form_session: FormSession, base: Mapping[str, Any] | None, made: Mapping[str, Any] | None = None) -> Work:
    """A new beginning; ``made``: what the definition made of its answers, which the form of the class goes on with."""
    if isinstance(form_session, ClassFormSession):
        return form_session.begin(base, made) if base is None else form_session.begin(base)
    return form_session.begin()


def described(place: FormTarget, subject: Subject) -> DescribedClass:
    """The class of a form. Raises `Invalid` where the catalog has it no more."""
    found = place.describer.described(subject.type)
    if found is None:
        missing_packages.check_class(place.project_id, subject.type)
        raise Invalid(
            Text("The class {type} is not in the catalog any more.", type=subject.type),
            hint=Text("import its package again"),
        )
    return found


def about(place: FormTarget, subject: Subject) -> dict[str, Any]:
    """What a definition is told of its surroundings (`vetro.forms.queries`)."""
    region = place.root.get("region") if place.found is not None else None
    return {
        "package": {"fqn": subject.fqn, "name": subject.name, "version": subject.version},
        "quick": subject.quick or place.environment_id is None,
        "referred": subject.referred,
        "region": region if isinstance(region, str) else None,
        "encrypts": True,
    }


def schemas_of(place: FormTarget, subject: Subject) -> dict[str, Schema]:
    """The schemas of a class and its model builders."""
    written = parse_type_text(subject.type)
    return place.catalog.schemas(written.name, written.version, written.package) or {}


def build(place: FormTarget, subject: Subject, builder: str, args: Mapping[str, Any]) -> Any:
    """What a model builder returns. Raises `FormFailed`."""
    written = parse_type_text(subject.type)
    rows = place.catalog.packages_of(written.name, written.version, written.package)
    on_class = {"name": written.name, "version": None, "package": written.package}
    if written.version:
        on_class["version"] = f"=={written.version}"
    try:
        return ask(place.caller, "builder", packages=rows, on_class=on_class, method=builder, args=args)
    except AskFailed as error:
        raise FormFailed(
            Text("This could not be started from: {message}", message=error.message), dict(error.error)
        ) from None


def _asked(place: FormTarget, subject: Subject) -> Any:
    def asked(question: Mapping[str, Any]) -> Any:
        try:
            return process_cache.ask(
                place.caller,
                subject.ui,
                question,
                packages=_packages(place, subject),
                handlers={EFFECT: place.answer},
            )
        except AskFailed as error:
            text = Text("The form of this package did not answer. Please tell whoever maintains the package.")
            raise FormFailed(text, dict(error.error)) from None

    return asked


def _packages(place: FormTarget, subject: Subject) -> list[Package]:
    """Rows for static actions that the definition calls: those of its package."""
    try:
        return place.catalog.package_rows(subject.fqn, subject.version)
    except Invalid:
        return []
