"""A page of a form: showing it, taking its answers, keeping what is typed, adding and moving items, searching choices.

What is wrong is kept with the form, so that each answer to a post leads to an address that shows it: going back and
loading again do what people expect. The script of the page posts the whole page with ``do`` and ``have`` (the marks of
the controls that it shows, see `controls`) and gets the controls that look different now; without it the same buttons
post and the page comes anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import get_template
from django.utils.translation import gettext as _

from vetro.forms.sessions import FormFailed
from vetro.server.caller import Caller
from vetro.server.config.file_folders import most_of
from vetro.server.errors import Invalid
from vetro.server.forms import form_session, media
from vetro.server.forms.views import FormView
from vetro.server.setup import config
from vetro.server.web.page import go, is_htmx, page, render
from vetro.server.web.views.wizard import begin, ended_forms, last_step, origins, presets
from vetro.server.web.views.wizard import submit as ending
from vetro.server.web.views.wizard.control import Control, Group, every, told_problems, top
from vetro.server.web.views.wizard.controls import groups_of
from vetro.server.web.views.wizard.input import Read, changed, read
from vetro.server.web.views.wizard.names import element_id
from vetro.server.web.views.wizard.words import around, script_texts, step_title

#: What buttons at items of lists and maps do.
MOVES = ("add", "remove", "up", "down")


@page(rule="use_forms")
@ended_forms.of_form
def due(request: HttpRequest, caller: Caller, form: str) -> HttpResponse:
    """Leads to the page that is due, or to what was answered when all pages are."""
    try:
        shown = form_session.describe(caller, form)
    except FormFailed as error:
        return begin.failed(request, error, form=form)
    return go(request, _after(shown))


@page("GET", "POST", rule="use_forms")
@ended_forms.of_form
def step(request: HttpRequest, caller: Caller, form: str, number: int) -> HttpResponse:
    """One page of a form, by its number from 1."""
    if request.method == "POST":
        return _posted(request, caller, form, number - 1)
    try:
        shown = form_session.describe(caller, form, number - 1)
    except (FormFailed, Invalid):  # nobody got there yet: what is due says more
        return go(request, f"/app/forms/{form}/")
    if shown.page and shown.page == last_step.of(shown):
        return go(request, f"/app/forms/{form}/{number - 1}")
    return _render(request, caller, shown)


@page("POST", rule="use_forms")
@ended_forms.of_form
def switch(request: HttpRequest, caller: Caller, form: str) -> HttpResponse:
    """Shows the other form of the same thing."""
    try:
        form_session.switch(caller, form, request.POST.get("source", ""))
    except FormFailed as error:
        return begin.failed(request, error, form=form)
    return go(request, f"/app/forms/{form}/")


@page(rule="use_forms")
@ended_forms.of_form
def choices(request: HttpRequest, caller: Caller, form: str, number: int) -> HttpResponse:
    """What can be chosen for a field, by search, as JSON for the script: {items: [{value, label, group}], more}."""
    builder = request.GET.get("builder", "")
    given: dict[str, Any] = {"search": request.GET.get("q", "").strip()[:255], "builder": builder}
    if not builder:
        given["page"] = number - 1
    made: list[dict[str, Any]] = []
    more = False
    heads = {"existing": (_("In this environment"), "="), "types": (_("Create"), "+")}
    for what in (request.GET.get("what") or "choices").split()[:2]:
        found = form_session.choices(caller, form, request.GET.get("path", ""), what=what, **given)
        more = more or found.next is not None
        head, sign = heads.get(what, (None, ""))
        for item in found.items:
            value = f"{sign}{item.value}" if sign else json.dumps(item.value, ensure_ascii=False)
            if what == "choices" and request.GET.get("plain"):
                value = str(item.value)
            label = _("New: %s") % item.label if what == "types" else item.label
            made.append({"value": value, "label": label, "group": head or item.group, "disabled": item.disabled})
    return JsonResponse({"items": made, "more": more})


@page("POST", rule="use_forms")
@ended_forms.of_form
def password(request: HttpRequest, caller: Caller, form: str, number: int) -> HttpResponse:
    """A new password for a secret field, as JSON for the script: {password}. Nothing on this side remembers it."""
    builder = request.GET.get("builder", "")
    where = None if builder else number - 1
    text = form_session.password(caller, form, request.POST.get("path", ""), page=where, builder=builder)
    return JsonResponse({"password": text}, headers={"Cache-Control": "no-store"})


def _posted(request: HttpRequest, caller: Caller, form: str, at: int) -> HttpResponse:
    do, place, more = wanted(request.POST.get("do", "next"))
    here = f"/app/forms/{form}/{at + 1}"
    told = read(request.POST, final=do == "next")
    answers = changed(told, do, place, more.get("blank")) if do in MOVES else told.answers
    last, own = last_step.taken(request.POST, told)
    try:
        if do == "next" and not told.problems and not told.picked:
            shown = form_session.submit(caller, form, answers, page=at)
            if last is not None and shown.outcome == "next" and shown.page == last:
                shown = form_session.submit(caller, form, own, page=last)
            if shown.outcome == "ready" and shown.purpose in ("action", "static"):
                return ending.end(request, caller, shown)
            return go(request, _after(shown))
        preset = str(more.get("name", "")) if do == "preset" else ""
        others = {} if last is None else {last: own}
        if do == "leave" and form_session.blank(caller, form, answers, page=at, others=others):
            return _left(request, caller, form, form_session.describe(caller, form))
        shown = form_session.evaluate(caller, form, answers, page=at, preset=preset, others=others)
    except FormFailed as error:
        return begin.failed(request, error, form=form)
    if do == "next" and told.problems:
        raise Invalid(told.problems[0].message, hint=_("Both are kept; one of them has another name now."))
    if do == "back":
        return go(request, f"/app/forms/{form}/{max(at, 1)}")
    if do == "leave":
        if shown.purpose == "try":
            return _left(request, caller, form, shown)
        return go(request, begin.way_out(shown, origins.about(request, caller, form)))
    if do == "create":
        return begin.nested(request, caller, shown, str(more.get("package", "")), place)
    if is_htmx(request):
        if preset:  # it changes what somebody has typed, too
            return JsonResponse({"parts": {}, "reload": True})
        moved = moved_in(do, place)
        bar = {"presets": presets.bar(shown)} if shown.form.presets else {}
        return parts(request, _groups(shown), told, moved, bar)
    return go(request, f"{here}#{element_id('/' + place)}" if place else here)


def _left(request: HttpRequest, caller: Caller, form: str, shown: FormView) -> HttpResponse:
    """Leaves a form of which nothing is to be kept."""
    target = begin.way_out(shown, origins.about(request, caller, form))
    form_session.discard(caller, form)
    ended_forms.remember(request, form, ended_forms.THROWN_AWAY)
    return go(request, target)


def moved_in(do: str, place: str) -> str:
    """Where items have changed places: they look alike, but what was typed into them goes with them."""
    return place if do == "add" else place.rpartition("/")[0] if do in MOVES else ""


def wanted(text: str) -> tuple[str, str, Mapping[str, Any]]:
    """What a button says: a word, or JSON {do, at, …}."""
    if not text.startswith("{"):
        return text, "", {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("do") not in (*MOVES, "create", "preset"):
        raise Invalid(_("This button does not say what it does."), hint=_("Load the page again."))
    return str(found["do"]), str(found.get("at", "")), found


def _after(shown: FormView) -> str:
    ready = shown.outcome == "ready" and shown.purpose not in ("action", "static")
    number = shown.page if shown.page == last_step.of(shown) else shown.page + 1
    return f"/app/forms/{shown.id}/{'review' if ready else number}"


def _groups(shown: FormView) -> list[Group]:
    uploads = ("", 0)
    if shown.purpose == "action":  # anywhere else there is no environment whose servers could have them
        uploads = (f"/v2/environments/{shown.environment_id}/files", most_of(config()))
    return groups_of(shown.form.pages[shown.page], plain=shown.source == "definition", uploads=uploads)


def _render(request: HttpRequest, caller: Caller, shown: FormView) -> HttpResponse:
    groups = _groups(shown)
    told = origins.about(request, caller, shown.id)
    last = last_step.of(shown)
    tail = last_step.below(caller, shown)
    pages = [
        {
            "number": i + 1,
            "title": step_title(page, i, shown.source),
            "now": i == shown.page,
            "done": i in shown.pages_done or i == shown.page,
        }
        for i, page in enumerate(shown.form.pages)
        if i != last
    ]
    controls = [control for control in every(top([*groups, *tail.groups])) if control.shown]
    known = {control.path: control for control in every(top([*groups, *tail.groups]))}
    scripts, styles = _media(top(groups))
    context = {
        "shown": shown,
        "told": told,
        "page": shown.form.pages[shown.page],
        "pages": pages,
        **presets.around(shown, groups),
        "needs": any(control.field.required for control in controls),
        "empty": not controls,
        "problems": told_problems([*shown.problems, *tail.problems], known),
        "tail": tail,
        **around(caller, shown),
        "out": begin.way_out(shown, told),
        "depends": json.dumps(sorted({path for control in top(groups) for path in control.field.depends_on})),
        "texts": json.dumps(script_texts(tried=shown.purpose == "try")),
        "plain": shown.source == "definition",
        "scripts": scripts,
        "styles": styles,
    }
    return render(request, "wizard/step.html", context)


def _media(controls: Any) -> tuple[list[str], list[str]]:
    """Addresses of scripts and style sheets that the definition's author names, those that there are."""
    scripts: dict[str, None] = {}
    styles: dict[str, None] = {}
    for control in controls:
        scripts |= dict.fromkeys(control.field.media.get("js", ()))
        for names in control.field.media.get("css", {}).values():
            styles |= dict.fromkeys(names)
    found = [[url for url in map(media.url, names) if url] for names in (scripts, styles)]
    return found[0], found[1]


def parts(
    request: HttpRequest, groups: Sequence[Group], told: Read, moved: str, bar: Mapping[str, str] | None = None
) -> HttpResponse:
    """The controls that look different from those that the browser has: {parts: {id: HTML}, reload}. ``moved``: place
    of the list or map whose items have changed places. ``bar``: what else may look different, by id."""
    try:
        have = json.loads(request.POST.get("have", "{}"))
    except (ValueError, RecursionError):
        have = {}
    if not isinstance(have, dict):
        have = {}
    made: dict[str, Control] = {}
    reload = False
    for control in top(groups):
        known = _compare(control, have, made)
        reload = reload or not known
        if control.id not in made and _differs(control, told.answers):
            made[control.id] = control
    made |= {control.id: control for control in every(top(groups)) if moved and control.place == moved}
    template = get_template("web/fields/field.html")
    texts = {id: template.render({"f": control}) for id, control in made.items()}
    return JsonResponse({"parts": {**texts, **(bar or {})}, "reload": reload})


def _compare(control: Control, have: Mapping[str, Any], made: dict[str, Control]) -> bool:
    """Puts what differs into ``made``; False when the browser does not know the control at all."""
    mark = have.get(control.id)
    if mark is None:
        return False
    if mark != control.mark:
        made[control.id] = control
        return True
    inner: dict[str, Control] = {}
    below: Sequence[Control] = [*control.items, *top(control.groups)]
    if all(_compare(part, have, inner) for part in below):
        made.update(inner)
    else:
        made[control.id] = control
    return True


def _differs(control: Control, answers: Mapping[str, Any]) -> bool:
    """Whether something else is chosen than what the browser sent: the choices have changed."""
    sent, item = answers.get(control.field.name), control.field
    if control.template not in ("select", "checkbox", "reference") or not control.single or isinstance(sent, dict):
        return False
    value = item.value if item.answered else item.initial
    return str(sent or "") != str(value or "")
