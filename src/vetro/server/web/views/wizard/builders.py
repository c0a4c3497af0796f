"""Model builders: a form can start from what one of them makes of its own few arguments."""

from __future__ import annotations

import json

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.forms.placement import problems_in, with_problems
from vetro.forms.sessions import FormFailed
from vetro.server.caller import Caller
from vetro.server.forms import form_session
from vetro.server.web.page import go, is_htmx, page, render
from vetro.server.web.views.wizard import begin, ended_forms
from vetro.server.web.views.wizard.control import every, told_problems, top
from vetro.server.web.views.wizard.controls import builder_groups
from vetro.server.web.views.wizard.input import changed, read
from vetro.server.web.views.wizard.steps import MOVES, moved_in, parts, wanted
from vetro.server.web.views.wizard.words import around, script_texts


@page("GET", "POST", rule="use_forms")
@ended_forms.of_form
def start(request: HttpRequest, caller: Caller, form: str, builder: str) -> HttpResponse:
    """The arguments of a model builder; what it makes of them stands in the form then."""
    shown = form_session.describe(caller, form)
    told = read(request.POST, final=request.POST.get("do") == "next")
    answers = told.answers
    do, place, more = wanted(request.POST.get("do", "next"))
    if do in MOVES:
        answers = changed(told, do, place, more.get("blank"))
    asked = form_session.builder_form(caller, form, builder, answers)
    status = 200
    if request.method == "POST" and do == "next" and not told.picked:
        try:
            turn = form_session.start_from(caller, form, builder, answers)
        except FormFailed as error:
            return begin.failed(request, error, form=form)
        if turn.outcome != "invalid":
            messages.success(request, _("The form is filled in. Look through it before you go on."))
            return go(request, f"/app/forms/{form}/")
        asked, status = with_problems(asked, turn.problems), 422
    groups = builder_groups(asked.pages[0])
    if do != "next" and is_htmx(request):
        return parts(request, groups, told, moved_in(do, place))
    known = {control.path: control for control in every(top(groups))}
    context = {
        "shown": shown,
        "builder": next((choice for choice in shown.builders if choice.value == builder), None),
        "asked": asked,
        "groups": groups,
        "problems": told_problems(problems_in(asked.pages[0]), known),
        **around(caller, shown),
        "texts": json.dumps(script_texts()),
    }
    return render(request, "wizard/builder.html", context, status)
