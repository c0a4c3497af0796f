"""Where forms were begun from, kept in the web session; of a form that nobody has answered its address says it."""

from __future__ import annotations

from dataclasses import asdict

from django.http import HttpRequest

from vetro.data_classes import dataclass
from vetro.server.caller import Caller
from vetro.server.forms import form_session

_KEY = "vetro_forms"
#: Forms that a web session remembers something of.
_MOST = 60


@dataclass(frozen=True, slots=True)
class About:
    """``again``: what would begin the same form. ``into``: form, page and field for which an object is made here."""

    again: str = ""
    into: tuple[str, int, str] | None = None


def about(request: HttpRequest, caller: Caller, form: str) -> About:
    """What is known of a form."""
    found = request.session.get(_KEY, {}).get(form)
    if found is None:
        return About(form_session.origin(caller, form))
    return About(found["again"], tuple(found["into"]) if found["into"] else None)


def remember(request: HttpRequest, form: str, told: About | None) -> None:
    """Keeps that; None forgets it."""
    kept = {id: item for id, item in request.session.get(_KEY, {}).items() if id != form}
    if told is not None:
        kept = {**dict(list(kept.items())[-_MOST:]), form: asdict(told)}
    request.session[_KEY] = kept


def begun_at(request: HttpRequest, again: str) -> list[str]:
    """Forms that were begun there, the last first."""
    return [form for form, item in reversed(request.session.get(_KEY, {}).items()) if item["again"] == again]
