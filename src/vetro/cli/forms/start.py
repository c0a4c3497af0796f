"""`vetro form --start-from`: a form begins with what a model builder makes of its own arguments."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from vetro.cli.deploy_target import TargetError
from vetro.cli.forms.subject import Subject
from vetro.forms.sessions import ClassFormSession, FormSession, MethodFormSession, Work
from vetro.yaql.didyoumean import suggest

#: Fills in the form of the builder's arguments; a work that is ready.
Fill = Callable[[FormSession, Work], Work]


def started(form_session: FormSession, work: Work, subject: Subject, place: Any, builder: str, fill: Fill) -> Work:
    """The work with what the builder made. Raises `TargetError`, `FormFailed`, `BadBuilderResult`."""
    if not isinstance(form_session, ClassFormSession) or subject.class_name is None:
        raise TargetError("only a form made from a class starts from a model builder", hint="add '--form class'")
    package = subject.package
    version = f"=={package.version}" if package is not None else None
    home = package.name if package is not None else None
    schemas = place.catalog.schemas(subject.class_name, version, home) or {}
    known = [str(choice.value) for choice in form_session.builders(schemas)]
    if builder not in known:
        meant = suggest(builder, known)
        hint = f"did you mean '{meant}'?" if meant else f"there are: {', '.join(known) or '-'}"
        raise TargetError(f"{subject.class_name} has no model builder '{builder}'", hint=hint)
    schema = schemas[builder]
    asked = MethodFormSession(place.describer, schema, place.objects, new_id=lambda: uuid.uuid4().hex)
    args = asked.result(fill(asked, asked.begin()))

    def call(given: Mapping[str, Any]) -> Any:
        return place.build(subject.class_name, version, home, builder, given)

    return form_session.start_from(work, schema, args, call).work
