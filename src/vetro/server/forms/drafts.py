"""Forms in work, in the database: found by their owner, changed by one hand at a time, removed when nobody wants them.

What two windows do at once is told apart by the revision: `save` refuses what was made from an older one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q

from vetro.data_classes import dataclass
from vetro.diagnostics import TEXTS, Text, decode_messages, encode_messages
from vetro.muranopl.runtime.stacks import deep_calls
from vetro.server.caller import Caller
from vetro.server.environments.limits import known_id
from vetro.server.errors import Conflict, NotFound
from vetro.server.forms import DAYS
from vetro.server.forms.models import FormDraft
from vetro.server.forms.views import Subject

#: Forms that one person may have begun, and may try out at a time; the oldest make room.
MOST = 100
MOST_TRIED = 10
#: Finished forms of one person whose ids are kept.
MOST_ENDED = 200
#: How long a form that is tried out stays after the last answer.
TRIED_FOR = timedelta(hours=1)
#: How long one stays that nobody has answered anything in: somebody may still have its page open.
BLANK_FOR = timedelta(days=1)


class FormChanged(Conflict):
    """The form was changed meanwhile, in another window."""

    code = "SRV560"
    hint = Text("load the form again")


@dataclass(frozen=True, slots=True)
class Content:
    """`FormDraft.content`, plain data."""

    subject: Subject
    #: The source that is shown, others that may be, and why the definition is not among them.
    source: str
    sources: tuple[str, ...] = ()
    reason: str = ""
    #: The object that is edited, as it was when the form was begun.
    base: Mapping[str, Any] | None = None
    #: Work of the form sessions by source.
    works: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Of a form that is tried out: the other applications that were made for it.
    beside: tuple[Mapping[str, Any], ...] = ()

    @property
    def work(self) -> dict[str, Any]:
        """That of the source that is shown."""
        return dict(self.works[self.source])

    def with_work(self, source: str, work: Mapping[str, Any]) -> Content:
        """The same with another work, whose source is shown."""
        return replace(self, source=source, works={**self.works, source: work})

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            **{name: getattr(self, name) for name in self.__slots__},
            **encode_messages({"reason": self.reason}),
            "subject": asdict(self.subject),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Content:
        """What `as_json` gave, after a stay in the database."""
        reason = decode_messages({name: data[name] for name in ("reason", TEXTS) if name in data})
        kept = {name: value for name, value in data.items() if name != TEXTS}
        whole = {"sources": tuple(data["sources"]), "beside": tuple(data.get("beside", ()))}
        return cls(**{**kept, **reason, **whole, "subject": Subject(**data["subject"])})


def get(caller: Caller, id: str) -> FormDraft:
    """A form of the caller's own. Raises `NotFound`."""
    row = stored(caller, id)
    if row is None:
        raise NotFound(
            Text("There is no form '{id}'.", id=id[:80]),
            hint=Text("it may have been finished, or thrown away; begin anew"),
        )
    return row


def listed(caller: Caller, environment_id: str | None = None, *, blank: bool = True) -> list[dict[str, Any]]:
    """The caller's forms, newest first: {id, purpose, title, environment_id, session_id, created, updated}. Those that
    are tried out are none to come back to. ``blank``: also those that nobody has answered anything in.
    """
    rows = _mine(caller).exclude(purpose=FormDraft.TRY).order_by("-updated", "-id")
    if not blank:
        rows = rows.exclude(revision=0)
    if environment_id is not None:
        rows = rows.filter(environment_id=environment_id)
    return list(rows.values("id", "purpose", "title", "environment_id", "session_id", "created", "updated"))


def stored(caller: Caller, id: str) -> FormDraft | None:
    """A form of the caller's own, if it has a row."""
    row: FormDraft | None = _mine(caller).exclude(_forgotten()).filter(id=id).first() if known_id(id) else None
    return row


def ended(id: str) -> bool:
    """Whether a form was finished not long ago."""
    return FormDraft.objects.filter(id=id, purpose=FormDraft.ENDED).exists()


def add(row: FormDraft, content: Content, *, answered: bool = False) -> None:
    """Stores a new form; forms that nobody touched for `DAYS` go, and the oldest of a person who has too many.

    ``answered``: with its first answers. Raises `FormChanged` where another window has stored, or finished it.
    """
    make_room(row, row.purpose)
    row.revision = int(answered)
    with deep_calls():
        row.content = content.as_json()
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError:
            if not FormDraft.objects.filter(id=row.id).exists():
                raise
            raise FormChanged(Text("The form was changed meanwhile, in another window.")) from None


def make_room(owner: Caller | FormDraft, purpose: str) -> None:
    """Drops forms that nobody touched for `DAYS`, and the oldest of a person who has as many of this kind as may be."""
    now = datetime.now(UTC)
    blank = Q(revision=0, updated__lt=now - BLANK_FOR)
    FormDraft.objects.filter(Q(updated__lt=now - timedelta(days=DAYS)) | blank | _forgotten()).delete()
    tried, most = (True, MOST_TRIED) if purpose == FormDraft.TRY else (False, MOST)
    same = _mine(owner).filter(Q(purpose=FormDraft.TRY) if tried else ~Q(purpose=FormDraft.TRY))
    oldest = same.order_by("-updated", "-id").values_list("id", flat=True)[most - 1 :]
    FormDraft.objects.filter(id__in=list(oldest)).delete()


def begun(caller: Caller) -> Any:
    """Rows of the caller's forms that wait for her to go on: something was answered in them, and they are not only
    tried out. Newest first.
    """
    rows = _mine(caller).exclude(purpose=FormDraft.TRY).exclude(_forgotten()).exclude(revision=0)
    return rows.order_by("-updated", "-id")


def save(row: FormDraft, content: Content) -> None:
    """Keeps the content, if nobody else changed it since ``row`` was read. Raises `FormChanged`."""
    now = datetime.now(UTC)
    with deep_calls():
        changed = FormDraft.objects.filter(id=row.id, revision=row.revision).update(
            content=content.as_json(),
            purpose=row.purpose,
            environment_id=row.environment_id,
            session_id=row.session_id,
            revision=row.revision + 1,
            updated=now,
        )
    if not changed:
        raise FormChanged(Text("The form was changed meanwhile, in another window."))
    row.revision += 1
    row.updated = now


def note(row: FormDraft, content: Content) -> None:
    """Keeps content whose answers are those of the row, so it stays the same revision. Nothing where somebody changed
    or finished the form meanwhile.
    """
    with deep_calls():
        FormDraft.objects.filter(id=row.id, revision=row.revision).update(content=content.as_json())


def remove(row: FormDraft) -> None:
    """Removes a finished form but for its id; inside the transaction that finishes it. Raises `FormChanged`."""
    gone = FormDraft.objects.filter(id=row.id, revision=row.revision).update(
        purpose=FormDraft.ENDED,
        title="",
        content={},
        environment_id=None,
        session_id=None,
        revision=row.revision + 1,
        updated=datetime.now(UTC),
    )
    if not gone:
        raise FormChanged(Text("The form was changed meanwhile, in another window."))
    of_person = FormDraft.objects.filter(project_id=row.project_id, user_id=row.user_id, purpose=FormDraft.ENDED)
    oldest = of_person.order_by("-updated", "-id").values_list("id", flat=True)[MOST_ENDED:]
    FormDraft.objects.filter(id__in=list(oldest)).delete()


def discard(caller: Caller, id: str) -> None:
    """Throws a form away. Raises `NotFound`."""
    get(caller, id).delete()


def _forgotten() -> Q:
    return Q(purpose=FormDraft.TRY, updated__lt=datetime.now(UTC) - TRIED_FOR)


def _mine(owner: Caller | FormDraft) -> Any:
    own = FormDraft.objects.filter(project_id=owner.project_id, user_id=owner.user_id)
    return own.exclude(purpose=FormDraft.ENDED)
