"""UI definitions in a task process: `answerer` answers questions about one definition (kind ``questions``).

Expressions of packages are evaluated here and nowhere else. The process keeps the definition that ``load`` read; all
else comes with each question and goes with its answer, plain JSON both. What the definition wants to know of the
outside is asked back as effects of kind `EFFECT`; `vetro.forms.sessions.definition` is the other side.

A question is a mapping: ``do`` and ``about`` ({package: {fqn, name, version}, quick, referred, region, encrypts}) and

=============  ===============================================  ====================================================
``load``       ``text``, ``origin``                             {}
``start``      ``reopen``: state that another wizard left       {state, form}
``show``       ``state, page, typed, aside``                    {form}
``validate``   ``state, page, raw``                             {problems: [{path, message}]}
``submit``     ``state, page, raw, partial, stored, aside``     {outcome, state, page, form}, when done {model, stays}
``pages``      ``state``                                        {pages}: all of them, with the answers
``makes``                                                       {class}: of `Application`, None if it is computed
``check``      ``text, origin``                                 {problems}: what an author should know
=============  ===============================================  ====================================================

``aside``: what was typed into fields of the page at any time: those that answers hide and reveal come back with it.
A definition that cannot be used is the answer ``{failed: {code, kind, message, civil, hint, position}}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from vetro.diagnostics import Text, encode_messages
from vetro.engine.task.perform import Performance
from vetro.engine.task.sessions import packages_of, session_for
from vetro.forms.dynamic import (
    Catalog,
    Cloud,
    Definition,
    DynamicFormError,
    Package,
    StaticCall,
    Surroundings,
    Wizard,
    WizardStateError,
    check,
    load,
)
from vetro.forms.dynamic.parameters import own_class
from vetro.forms.external_queries import EFFECT, Outside
from vetro.forms.model import Field, Page
from vetro.model.paths import pointer
from vetro.muranopl.objects.results import plain_result

Question = Mapping[str, Any]


def answerer(performance: Performance) -> Callable[[Question], Any]:
    """What answers the questions of one task process."""
    return _Answerer(performance).answer


class _Answerer:
    def __init__(self, performance: Performance) -> None:
        self._performance = performance
        self._outside = Outside(performance)
        self._definition: Definition | None = None
        self._packages: list[Any] | None = None

    def answer(self, question: Question) -> Any:
        """See the module."""
        try:
            return getattr(self, f"do_{question['do']}")(question)
        except DynamicFormError as error:
            return {"failed": _told(error)}

    def do_load(self, question: Question) -> Any:
        self._definition = load(question["text"], question["origin"])
        return {}

    def do_makes(self, question: Question) -> Any:
        return {"class": None if self._definition is None else own_class(self._definition)}

    def do_check(self, question: Question) -> Any:
        media = question.get("media")
        exists = None if media is None else frozenset(media).__contains__
        found = check(question["text"], question["origin"], media_exists=exists)
        return {
            "problems": [
                encode_messages({k: getattr(p, k) for k in ("severity", "code", "message", "hint")})
                | {"position": _place(p.place)}
                for p in found
            ]
        }

    def do_start(self, question: Question) -> Any:
        wizard = self._wizard(question)
        left = question.get("reopen")
        state = wizard.start() if left is None else _reopened(wizard, left)
        return {"state": state, "form": encode_messages(wizard.form(state).as_json())}

    def do_show(self, question: Question) -> Any:
        wizard, state = self._wizard(question), question["state"]
        page, typed = question.get("page"), question.get("typed")
        form = wizard.form({**state, "step": page} if page is not None else state)
        due = state["step"] if page is None else page
        if typed is not None:
            shown = wizard.page(state, due, tentative=_complete(wizard, due, state, typed, question.get("aside") or {}))
            pages = [shown if number == due else other for number, other in enumerate(form.pages)]
            form = replace(form, pages=pages)
        return {"form": encode_messages(form.as_json())}

    def do_pages(self, question: Question) -> Any:
        wizard, state = self._wizard(question), question["state"]
        pages = [wizard.page(state, number) for number in range(len(wizard.steps))]
        form = replace(wizard.form(state), pages=pages)
        return {"form": encode_messages(form.as_json())}

    def do_validate(self, question: Question) -> Any:
        wizard, state = self._wizard(question), question["state"]
        page = _page_of(question)
        errors, whole = wizard.validate(state, self._raw(wizard, question), page)
        problems = [{"path": pointer(name), "message": text} for name, texts in errors.items() for text in texts]
        return encode_messages({"problems": [*problems, *({"path": "", "message": text} for text in whole)]})

    def do_submit(self, question: Question) -> Any:
        wizard, state = self._wizard(question), question["state"]
        outcome = wizard.submit(state, self._raw(wizard, question), _page_of(question))
        found: dict[str, Any] = {"outcome": outcome.kind, "state": outcome.state, "page": outcome.step}
        if outcome.kind == "done":
            found["model"] = wizard.model(outcome.state, question.get("stored"))
            found["stays"] = wizard.stays(outcome.state)
        found["form"] = encode_messages(wizard.form(outcome.state).as_json())
        return found

    # -- what a wizard stands in ---------------------------------------------------------------------------------------

    def _wizard(self, question: Question) -> Wizard:
        about = question["about"]
        if self._definition is None:
            raise WizardStateError(Text("no definition was read"))
        cloud: Cloud = self._outside
        catalog: Catalog = self._outside
        around = Surroundings(
            Package(**about["package"]),
            cloud,
            catalog,
            quick=bool(about.get("quick")),
            referred=bool(about.get("referred")),
            region=about.get("region") or "RegionOne",
            call_static=self._call,
            encrypt=self._outside.encrypt if about.get("encrypts") else None,
        )
        return Wizard(self._definition, around)

    def _call(self, call: StaticCall) -> Any:
        task, effects = self._performance.task, self._performance.effects
        if self._packages is None:
            self._packages = packages_of(task)
        session = session_for(task, self._packages, effects, self._performance.installation)
        on_class = {"name": call.class_name, "version": f"=={call.class_version}", "package": call.package_name}
        value = session.call(call.method_name, (), {}, on_class=on_class)
        return session.run(lambda: plain_result(session, value))

    def _raw(self, wizard: Wizard, question: Question) -> dict[str, Any]:
        """What was sent, with what controls that nobody sees hold; ``partial``: with what all others hold."""
        raw, state = dict(question["raw"]), question["state"]
        page = _page_of(question)
        step = state["step"] if page is None else page
        partial = bool(question.get("partial"))
        known = set(wizard.steps[step].fields) if 0 <= step < len(wizard.steps) else set()
        if known <= raw.keys():
            return raw
        page_now = wizard.page(state, step, reveal=True)
        aside = question.get("aside") or {}
        if any(wizard.steps[step].fields[name].revealed for name in known - raw.keys()):
            # These answers say what is hidden, not those before.
            page_now = wizard.page(state, step, tentative=_complete(wizard, step, state, raw, aside), reveal=True)
        for field in page_now.fields():
            if field.name in raw or not (partial or not field.visible or field.read_only):
                continue
            if field.confirms and field.confirms in raw:
                raw[field.name] = raw[field.confirms]
                continue
            value = held(field)
            if value is not None:
                raw[field.name] = value
        return raw


def _reopened(wizard: Wizard, left: Mapping[str, Any]) -> dict[str, Any]:
    """A new beginning with earlier answers, taken as far as they are still good: those pages can be gone to at once."""
    state = wizard.reopen(dict(left))
    for step in range(len(wizard.steps)):
        raw = state["steps"][step]["raw"]
        if raw is None:
            break
        outcome = wizard.submit(state, raw, step)
        state = outcome.state
        if outcome.kind == "invalid":
            break
    return wizard.back(state, 0)


def _complete(
    wizard: Wizard, step: int, state: Mapping[str, Any], typed: Mapping[str, Any], aside: Mapping[str, Any]
) -> dict[str, Any]:
    """What was typed so far, with boxes that are not ticked and inputs that were emptied since they were sent."""
    kept = state["steps"][step]["raw"] or {}
    found = dict(typed)
    for name, definition in wizard.steps[step].fields.items():
        if name not in found:
            if definition.revealed:
                if name in aside:
                    found[name] = aside[name]
            elif definition.type.kind == "boolean":
                found[name] = False
            elif name in kept and not definition.type.secret and not definition.static.get("hidden"):
                found[name] = ""
    return found


def held(field: Field) -> Any:
    """What the control of a field holds at first; None where it sends nothing."""
    value = field.value if field.answered else field.initial
    if field.widget == "error-text":
        return None
    if field.kind == "boolean":
        return bool(value) or None
    if field.kind in ("choice", "reference") or field.choices:
        chosen = next((c for c in field.choices if c.value == value or c.value == str(value)), None)
        chosen = chosen or next((c for c in field.choices if not c.disabled), None)
        return None if chosen is None else chosen.value
    if value is None or isinstance(value, (list, Mapping)):
        return value
    return str(value)


def _page_of(question: Question) -> int | None:
    page: int | None = question.get("page")
    return page


def _told(error: DynamicFormError) -> dict[str, Any]:
    told: dict[str, Any] = encode_messages({"message": error.message, "civil": error.civil, "hint": error.hint})
    return {"code": error.code, "kind": error.kind, **told, "position": _place(error.position)}


def _place(position: Any) -> Any:
    return None if position is None else asdict(position)


__all__ = ["EFFECT", "Outside", "Page", "answerer", "held"]
