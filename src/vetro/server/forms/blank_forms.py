"""A form that nobody has answered yet is no row: its id says how it begins, signed, and its first answers make the row.

So an address can be read as often as somebody likes, and nothing is left of it. What such an id names is found anew
each time. Of an object that is edited it must be what was there when the form was shown: answers that nobody gave would
take back what others have changed since.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import timedelta
from hashlib import sha256
from typing import Any, Final

from django.core import signing
from django.utils.crypto import salted_hmac

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.forms.sessions import DefinitionFormSession, FormFailed, FormSession, Work
from vetro.model.tree import copied, find
from vetro.muranopl.runtime.stacks import deep_calls
from vetro.server.caller import Caller
from vetro.server.environments.models import State
from vetro.server.errors import Invalid
from vetro.server.forms import DAYS, drafts, fill, subjects
from vetro.server.forms.drafts import Content, FormChanged
from vetro.server.forms.models import FormDraft
from vetro.server.forms.target import FormTarget
from vetro.server.ids import new_id

#: Ids of rows are shorter, those that say how a form begins are longer.
_ROW: Final = 64
_SALT: Final = "vetro.server.forms.blank_forms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What a form is begun with, as `form_session.begin` takes it."""

    environment_id: str | None = None
    session_id: str | None = None
    package: str | None = None
    class_name: str | None = None
    version: str | None = None
    object_id: str | None = None
    action: str | None = None
    method: str | None = None
    source: str = "auto"
    into: str | None = None
    template: str | None = None
    environment_name: str = ""
    tried: bool = False
    #: Where it was begun, for whoever shows it.
    origin: str = ""
    #: Of an object that is edited: the version of the environment, and what the object was (`_mark`).
    seen: tuple[int, str] | None = None


@dataclass(slots=True)
class BlankForm:
    """A form without a row in the database, and all that is needed to go on with it."""

    row: FormDraft
    content: Content
    place: FormTarget
    form_session: FormSession
    beginning: Beginning


def signed(caller: Caller, form: BlankForm) -> str:
    """The id that says how the form begins; only for this caller."""
    base, found = form.content.base, form.place.found
    seen = None if base is None else (0 if found is None else found.version, _mark(base))
    whole = replace(form.beginning, source=form.content.source, seen=seen)
    given = {name: value for name, value in asdict(whole).items() if value}
    return signing.dumps([new_id()[:8], given], salt=_salt(caller), compress=True)


def read(caller: Caller, id: str) -> Beginning | None:
    """How the form with that id begins; None for an id of a row, for others' ids and those that are too old."""
    if len(id) <= _ROW:
        return None
    with suppress(signing.BadSignature):
        _, given = signing.loads(id, salt=_salt(caller), max_age=timedelta(days=DAYS))
        seen = given.pop("seen", None)
        return Beginning(**given, seen=None if seen is None else (seen[0], seen[1]))
    return None


def row_id(id: str) -> str:
    """The id of the row that a form has, or will have after its first answers."""
    return id if len(id) <= _ROW else sha256(id.encode("utf-8", "replace")).hexdigest()[:32]


def begun(caller: Caller, given: Beginning, id: str = "") -> BlankForm:
    """The form, which is not stored. ``id``: of its row. Raises what `form_session.begin` raises, and `FormChanged`
    where the object is not what it was.
    """
    beside: tuple[Mapping[str, Any], ...] = ()
    tried = given.tried
    if given.into is not None:
        above = drafts.get(caller, given.into)
        if above.purpose == FormDraft.TRY:
            tried, beside = True, Content.from_json(above.content).beside
    wanted_draft = given.action is None and given.method is None
    new = given.environment_id is None and given.template is None and given.object_id is None
    if tried and not (new and wanted_draft):
        raise Invalid(Text("Only the form of a new application is tried out, and in no environment."))
    if given.template is not None and (given.environment_id is not None or not wanted_draft):
        raise Invalid(Text("A form is for an environment or for a template, and actions are for environments."))
    if given.session_id is not None and given.environment_id is None:
        raise Invalid(Text("A session is one of an environment: name that, too."))
    place = FormTarget(
        caller,
        given.environment_id,
        given.session_id,
        draft=wanted_draft,
        template_id=given.template or "",
        beside=beside,
    )
    wanted = _with_class(place, _subject(place, given, tried))
    if given.seen is not None and wanted.base is not None:
        wanted = replace(wanted, base=_as_seen(place, wanted, given.source, given.seen))
    chosen = _chosen(wanted, given.source)
    form_session = fill.form_session_of(place, wanted.subject, chosen, wanted.base)
    work = _with_way_out(wanted, chosen, lambda: fill.beginning(form_session, wanted.base))
    others = tuple(name for name in (wanted.first, *wanted.others) if name != chosen)
    content = Content(wanted.subject, chosen, others, wanted.reason, wanted.base, {chosen: work}, beside)
    row = FormDraft(
        id=id or new_id(),
        project_id=caller.project_id,
        user_id=caller.user_id,
        purpose=wanted.purpose,
        title=wanted.title[:255],
        environment_id=given.environment_id,
        session_id=place.session_id if wanted_draft else None,
    )
    return BlankForm(row, content, place, form_session, given)


def _subject(place: FormTarget, given: Beginning, tried: bool) -> subjects.NewForm:
    referred = given.into is not None
    if given.action is not None:
        _only(given.environment_id, "environment_id", "an action")
        wanted = subjects.action(place, given.action)
    elif given.object_id is not None:
        _only(given.environment_id or given.template, "environment_id", "an object that is edited")
        wanted = subjects.editing(place, given.object_id)
    elif given.method is not None:
        class_name = _only(given.class_name, "class", "a static action")
        wanted = subjects.static(place, class_name, given.method, given.version)
    elif given.class_name is not None:
        wanted = subjects.adding_class(place, given.class_name, given.version, referred=referred)
    else:
        package = _only(given.package, "package", "a new object", "package or class")
        wanted = subjects.adding_package(place, package, referred=referred)
    nowhere = given.environment_id is None and given.template is None
    quick = wanted.purpose == FormDraft.ADD and nowhere and not tried
    name = given.environment_name if quick else ""
    subject = replace(wanted.subject, template_id=given.template or "", quick=quick, environment=name)
    if tried:
        return replace(wanted, purpose=FormDraft.TRY, subject=replace(subject, into=given.into or ""))
    return replace(wanted, subject=subject)


def _with_class(place: FormTarget, wanted: subjects.NewForm) -> subjects.NewForm:
    """With the form of the class that the definition makes, where no class is named like the package."""
    if wanted.subject.type or wanted.first != "definition":
        return wanted
    form_session = fill.form_session_of(place, wanted.subject, "definition")
    assert isinstance(form_session, DefinitionFormSession)
    with suppress(FormFailed):  # it is told when the form begins
        described = place.describer.described(form_session.makes() or "")
        if described is not None:
            subject = replace(wanted.subject, type=described.type)
            return replace(wanted, subject=subject, others=("class",))
    return wanted


def _chosen(wanted: subjects.NewForm, source: str) -> str:
    there = (wanted.first, *wanted.others)
    if source == "auto" or source in there:
        return wanted.first if source == "auto" else source
    raise Invalid(
        Text("There is no form of source '{source}'; there is: {there}.", source=source[:80], there=", ".join(there)),
        hint=wanted.reason or None,
    )


def _with_way_out(wanted: subjects.NewForm, chosen: str, start: Callable[[], Work]) -> Work:
    """What ``start`` gives; the error of a definition that cannot be used says what can be instead."""
    try:
        return start()
    except FormFailed as error:
        others = [name for name in (wanted.first, *wanted.others) if name != chosen]
        if others:
            error.hint = Text("the advanced form, with everything that the class has, can be used instead")
            error.details = {**(error.details or {}), "sources": others}
        raise


def _only(value: str | None, name: str, what: str, wanted: str = "") -> str:
    if not value:
        raise Invalid(Text("The form of {what} needs {wanted}.", what=what, wanted=wanted or name))
    return value


def _as_seen(place: FormTarget, wanted: subjects.NewForm, source: str, seen: tuple[int, str]) -> Mapping[str, Any]:
    """The object as it was when the form was shown."""
    version, mark = seen
    if wanted.base is not None and _mark(wanted.base) == mark:
        return wanted.base
    # What a definition was answered with is not known of earlier states.
    if place.environment_id is not None and source == "class":
        row = State.objects.filter(environment_id=place.environment_id, number=version).first()
        found = None if row is None else find(row.model.get("Objects"), wanted.subject.object_id)
        if found is not None and _mark(found) == mark:
            return dict(copied(found))
    raise FormChanged(
        Text("{title} was changed after this form was opened.", title=wanted.title),
        hint=Text("open its form again and repeat the change"),
    )


def _mark(base: Mapping[str, Any]) -> str:
    """Differs where objects do, and tells nothing of them: they may have secrets."""
    with deep_calls():
        text = json.dumps(base, sort_keys=True, ensure_ascii=False, default=str)
    return salted_hmac(_SALT, text, algorithm="sha256").hexdigest()[:32]


def _salt(caller: Caller) -> str:
    return f"{_SALT}.{caller.project_id}.{caller.user_id}"
