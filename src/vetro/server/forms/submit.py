"""What becomes of a form that is answered: an object in a draft, a new environment, a task."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any

from django.db import transaction

from vetro.diagnostics import Text
from vetro.forms.form_source import fingerprint
from vetro.forms.sessions import DefinitionFormSession, FormSession
from vetro.model.edit import overwrite
from vetro.model.environment import applications_of
from vetro.model.header import id_of, parse_type_text
from vetro.model.tree import copied
from vetro.server.accounts.policy import enforce
from vetro.server.caller import Caller
from vetro.server.environments import components, deploy, drafts, queries, service, sessions, templates
from vetro.server.environments.limits import check_model
from vetro.server.environments.models import Session
from vetro.server.errors import Conflict, Invalid, NotFound
from vetro.server.forms import drafts as store
from vetro.server.forms.merge import merged, refilled
from vetro.server.forms.models import FormDraft
from vetro.server.forms.target import FormTarget, answers_of
from vetro.server.forms.views import FormResult, Subject
from vetro.server.tasks import class_names, queue

#: Before everything that nobody waits for.
_PRIORITY = 100
#: Attempts to find a name for a new environment while others do so, too.
_NAMES = 5
#: Objects that stand beside a form that is tried out.
_MOST_BESIDE = 20
#: Characters of such a name, before its number.
_LONGEST = 240


def finish(
    caller: Caller,
    row: FormDraft,
    kept: store.Content,
    place: FormTarget,
    form_session: FormSession,
    revision: int | None,
) -> FormResult:
    """Does what the form was for, and removes it; all or nothing. Raises `Forbidden` for whom the policy refuses it,
    `Invalid` for a form that is tried out, unless another one wants what it makes.
    """
    work = kept.work
    if row.purpose == FormDraft.TRY:
        return _tried(caller, row, kept, form_session)
    _allow(caller, row, kept.subject.template_id)
    with transaction.atomic():
        store.remove(row)
        planned = (work.get("plan") or {}).get("task")
        if planned:
            with suppress(NotFound):  # nobody waits for it any more
                queue.cancel(caller, planned, "its form was sent")
        if row.purpose == FormDraft.ACTION:
            assert row.environment_id is not None
            task = deploy.call_action(caller, row.environment_id, kept.subject.action_id, form_session.result(work))
            return FormResult(row.purpose, row.environment_id, None, kept.subject.object_id, task)
        if row.purpose == FormDraft.STATIC:
            return FormResult(row.purpose, task_id=_call(caller, kept, form_session.result(work)))
        return _place(caller, row, kept, place, form_session, revision)


def _tried(caller: Caller, row: FormDraft, kept: store.Content, form_session: FormSession) -> FormResult:
    """Gives what was made to the form that is tried out, and for one of whose fields it is; to no environment."""
    if not kept.subject.into:
        raise Invalid(
            Text("This form is only tried out: nothing is made of it."),
            hint=Text("begin it in the catalog, or take it over, to deploy the application"),
        )
    made = form_session.result(kept.work)
    with transaction.atomic():
        store.remove(row)
        above = store.get(caller, kept.subject.into)
        content = store.Content.from_json(above.content)
        there = {id_of(one) for one in content.beside}
        beside = (*content.beside, *(one for one in (*kept.beside, made) if id_of(one) not in there))
        if len(beside) > _MOST_BESIDE:
            raise Invalid(Text("{most} objects at most stand beside a form that is tried out.", most=_MOST_BESIDE))
        check_model(list(beside), Text("what stands beside the form"))
        store.save(above, replace(content, beside=beside))
    return FormResult(row.purpose, object_id=str(id_of(made)), stay=False)


def put_beside(caller: Caller, environment_id: str, session_id: str, kept: store.Content) -> None:
    """Puts the other applications of a form that was tried out before into a draft."""
    if kept.beside:
        drafts.change(caller, environment_id, session_id, lambda root: _add(root, kept.beside), what="added")


def _add(root: dict[str, Any], made: Iterable[Mapping[str, Any]]) -> None:
    there = {id_of(one) for one in applications_of(root)}
    root["applications"] = [*applications_of(root), *(copied(one) for one in made if id_of(one) not in there)]


def _allow(caller: Caller, row: FormDraft, template: str) -> None:
    if row.purpose in (FormDraft.ACTION, FormDraft.STATIC):
        enforce(caller, "execute_action")
        return
    if template:
        enforce(caller, "update_service_env_template")
        return
    if row.environment_id is None:
        enforce(caller, "create_environment")
    enforce(caller, "update_environment")


def _call(caller: Caller, kept: store.Content, args: Mapping[str, Any]) -> str:
    written = parse_type_text(kept.subject.type)
    version = f"=={written.version}" if written.version else None
    meant = class_names.find(caller, written.name, version, written.package)
    task = queue.enqueue(
        caller,
        "static",
        packages=meant.packages,
        on_class=meant.on_class,
        method=kept.subject.method,
        args=args,
        priority=_PRIORITY,
    )
    return task.id


def _place(
    caller: Caller,
    row: FormDraft,
    kept: store.Content,
    place: FormTarget,
    form_session: FormSession,
    revision: int | None,
) -> FormResult:
    """Puts the object into the draft: the one that was given, the person's newest, or a new one."""
    work, made = kept.work, form_session.result(kept.work)
    if kept.subject.template_id:
        return _into_template(caller, row, kept, made)
    environment_id = place.environment_id or new_environment(caller, kept.subject)
    session_id = place.session_id or sessions.open_session(caller, environment_id).id
    own = str(id_of(made))
    edit = edit_of(row, kept, place, form_session)
    what = "added" if row.purpose == FormDraft.ADD else "changed"
    session, _ = drafts.change(caller, environment_id, session_id, edit, what=what, revision=revision)
    if isinstance(form_session, DefinitionFormSession):
        _keep(session, own, kept, form_session.result(work), work["state"])
    stays = bool(work.get("stays"))
    return FormResult(row.purpose, environment_id, session.id, own, stay=stays)


def edit_of(
    row: FormDraft, kept: store.Content, place: FormTarget, form_session: FormSession
) -> Callable[[dict[str, Any]], None]:
    """What puts the object of a form that is ready into the root object of a draft: a new one, or in its place."""

    def edit(root: dict[str, Any]) -> None:
        made = form_session.result(kept.work)
        if row.purpose in (FormDraft.ADD, FormDraft.TRY):
            _add(root, kept.beside)
            root["applications"] = [*applications_of(root), made]
            return
        there = components.find(applications_of(root), kept.subject.object_id)
        if isinstance(form_session, DefinitionFormSession):
            answered, _ = place.kept_for(kept.subject.object_id)
            made = refilled(made, kept.base or {}, answered.fingerprint if answered is not None else None)
        new = merged(kept.base, made, copied(there))
        overwrite(there, new)

    return edit


def _into_template(caller: Caller, row: FormDraft, kept: store.Content, made: Any) -> FormResult:
    """Puts the object into the template, where the answers of definitions are not kept."""
    template, own = kept.subject.template_id, str(id_of(made))
    if row.purpose == FormDraft.ADD:
        templates.add_services(caller, template, made)
    else:
        there = components.find(templates.services(caller, template, []), kept.subject.object_id)
        templates.put_services(caller, template, [own], merged(kept.base, made, there))
    return FormResult(row.purpose, object_id=own, template_id=template)


def _keep(session: Session, object_id: str, kept: store.Content, made: Any, state: Any) -> None:
    """Keeps the answers beside the object that they made, so that the definition can be opened again."""
    salt = secrets.token_hex(8)
    row = {
        "package": kept.subject.fqn,
        "definition": kept.subject.ui,
        "answers": state,
        "fingerprint": fingerprint(made, salt),
        "salt": salt,
    }
    before = session.answers if session.answers is not None else answers_of(session.environment_id)
    session.answers = {**before, object_id: row}
    session.save(update_fields=["answers"])


def new_environment(caller: Caller, subject: Subject) -> str:
    """The environment of a quick deployment: called as somebody wanted it, else like the application."""
    for attempt in range(_NAMES):
        name = free_name(subject.environment or subject.name, queries.names_of(caller.project_id))
        try:
            return str(service.create(caller, {"name": name})["id"])
        except Conflict:
            if attempt == _NAMES - 1:
                raise
    raise AssertionError  # the last attempt has raised


def free_name(wanted: str, taken: Collection[str]) -> str:
    """That name, or the first of the names with a number behind it, from 2 on, that is not taken."""
    wanted = wanted.strip()[:_LONGEST] or "environment"
    known = set(taken)
    return next(name for number in count(1) if (name := wanted if number == 1 else f"{wanted} {number}") not in known)
