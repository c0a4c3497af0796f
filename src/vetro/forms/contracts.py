"""What the real contracts say of answers -> problems at the fields.

The caller puts the merged object into the model and asks a task process (kind ``check_model``). Its errors name an
object and a path in it; here they find their place in the answers. Contracts speak last: what they refuse is refused,
whatever the schema thought.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from vetro.diagnostics import Diagnostic, Text, sentence, unplaced
from vetro.forms.model import flaw
from vetro.model.header import header_of, id_of
from vetro.model.paths import ABSENT, at, child, is_list, pointer
from vetro.model.tree import walk

#: One place in front of a contract's message, which the form shows anyway: ``[t.Shop.byName['a'][0]]``.
_PLACE: Final = re.compile(r"\[[\w.:]+(?:[(]\w*)?(?:\[[^\]]*\])*[)]?\]\s+")
_NO_VALUE: Final = re.compile(r"(?:expected|a value is required)[\w ]*, got null$")


def problems_of(
    errors: Iterable[Mapping[str, Any]], answers: Mapping[str, Any], id: str | None = None
) -> list[Diagnostic]:
    """Problems at their places in ``answers``, whose root is the object ``id`` where it has no header.

    ``errors`` are those of ``vetro.engine.models.check_model``: ``objectId``, ``property``, ``path``, ``message``,
    ``code``. Errors of objects that the form does not show are problems of the form as a whole: they name the object.
    """
    places = {own: place.path for place in walk(answers) if (own := id_of(place.object)) is not None}
    if id is not None:
        places.setdefault(id, "")
    return [_problem(error, answers, places) for error in errors]


def problems_of_whole(errors: Iterable[Mapping[str, Any]]) -> list[Diagnostic]:
    """The same, as problems of a form that shows no objects: each names its place."""
    problems = []
    for error in errors:
        steps = (error.get("property"), *(error.get("path") or ()))
        where = ".".join(str(step) for step in steps if step is not None)
        text = told(error.get("message") or str(error.get("kind") or "") or Text("It does not fit."))
        text = Text("{where}: {message}", where=where, message=text) if where else text
        problems.append(flaw("", text, "contract", error.get("objectId")))
    return problems


def _problem(error: Mapping[str, Any], answers: Mapping[str, Any], places: Mapping[str, str]) -> Diagnostic:
    object_id = error.get("objectId")
    code = "required" if _NO_VALUE.search(str(error.get("message", ""))) else "contract"
    text = told(error.get("message") or str(error.get("kind") or "") or Text("This does not fit."))
    name = error.get("property")
    place = places.get(str(object_id)) if object_id is not None else None
    if place is None:
        for part in (name, object_id):
            text = Text("{place}: {message}", place=part, message=text) if part else text
        return flaw("", text, code, object_id)
    if name is None:
        return flaw(place, text, code, object_id)
    steps = [str(name), *map(str, error.get("path") or ())]
    return flaw(place + _reachable(answers, place, steps), text, code, object_id)


def _reachable(answers: Any, place: str, steps: Sequence[str]) -> str:
    """The steps as far as the answers go, one more where the last is missing: that is where it must be entered."""
    value = answers
    value = at(value, place)
    path = ""
    for i, step in enumerate(steps):
        if value is ABSENT or (i and not isinstance(value, Mapping) and not is_list(value)):
            break
        path += pointer(step)
        value = child(value, step)
        if header_of(value) is not None:
            break  # the error is told for that object, too
    return path


def told(message: str) -> str:
    """A contract's message for people: without its place, as a sentence."""
    text = bare(message)
    if _NO_VALUE.fullmatch(text):
        return Text("Enter a value.")
    return sentence(text)


def bare(message: str) -> str:
    """A contract's message without its place: as its author wrote it, where it is one of an author."""
    text = unplaced(message)
    while (place := _PLACE.match(text)) is not None and place.end() < len(text):
        text = text[place.end() :]
    return text
