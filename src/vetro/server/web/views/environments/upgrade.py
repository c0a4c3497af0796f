"""Upgrades: the newer versions and what they change, the new questions, what is lost; then a draft like any other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from vetro.diagnostics import decode_messages
from vetro.forms.placement import problems_in
from vetro.model.header import label_of_type
from vetro.model.paths import pointer
from vetro.muranopl.declarations.versions import parse_version, version_key
from vetro.server.accounts.policy import allows, enforce
from vetro.server.caller import Caller
from vetro.server.catalog.models import Package
from vetro.server.catalog.resolver import scope_of
from vetro.server.catalog.verdicts import verdict_of
from vetro.server.environments import plan as planning
from vetro.server.environments import upgrades
from vetro.server.environments.errors import UpgradeIncomplete
from vetro.server.environments.models import Environment
from vetro.server.environments.newer_versions import NewerVersion
from vetro.server.environments.upgrades import Request
from vetro.server.errors import Conflict, Invalid, ServiceError
from vetro.server.forms.queries import check_answers
from vetro.server.forms.upgrade_questions import Problems, Questions, Typed
from vetro.server.language import translated
from vetro.server.procedures import chains
from vetro.server.procedures import service as procedures
from vetro.server.procedures.errors import LossesUnconfirmed
from vetro.server.procedures.way_back import offered
from vetro.server.web.environment_page import EnvironmentPage, open_page
from vetro.server.web.model_texts import text_of
from vetro.server.web.page import go, is_htmx, page, render
from vetro.server.web.views.environments.tasks import begun, known_losses
from vetro.server.web.views.packages.impact import known
from vetro.server.web.views.packages.package import releases_of
from vetro.server.web.views.wizard.control import Group, every, told_problems, top
from vetro.server.web.views.wizard.controls import groups_of
from vetro.server.web.views.wizard.input import changed, read
from vetro.server.web.views.wizard.steps import MOVES, moved_in, parts, wanted
from vetro.server.web.views.wizard.words import script_texts

#: Packages and ticks that a request may name, releases that are shown of a package, characters of a lost value.
_MOST, _RELEASES, _LONGEST = 1000, 20, 400


@page("GET", "POST", rule="update_environment")
def upgrade(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """What an upgrade would do and asks; posted: its draft."""
    env_page = open_page(caller, environment)
    shown = _Page(request, env_page)
    if request.method == "POST":
        return shown.posted()
    return shown.answer({})


class _Page:
    """One request for the page."""

    def __init__(self, request: HttpRequest, env_page: EnvironmentPage) -> None:
        self.request, self.env_page = request, env_page
        self.given = request.POST if request.method == "POST" else request.GET
        self.wanted = Request(to=_versions(self.given, env_page.offers), drops=_drops(self.given))
        self.questions: Questions | None = None
        self.problem: ServiceError | None = None
        #: What would not come back, besides what the report says.
        self.losses: list[str] = []

    def posted(self) -> HttpResponse:
        """The draft, and the page about it or its plan; the page again while something is open."""
        caller, here = self.env_page.caller, f"/app/environments/{self.env_page.id}"
        if self.env_page.changes and not self.env_page.found.busy:
            messages.info(self.request, _("There is a draft already. Deploy it or discard it first."))
            return go(self.request, f"{here}/changes")
        plans, deploys = (self.request.GET.get("then") == word for word in ("plan", "deploy"))
        if plans:
            enforce(caller, "plan_environment")
        do, place, more = wanted(self.given.get("do", "next"))
        told = read(self.given, final=do == "next")
        typed = changed(told, do, place, more.get("blank")) if do in MOVES else told.answers
        check_answers(typed)
        if do != "next" or told.picked:
            if is_htmx(self.request) and self._work_out() is not None:
                return parts(self.request, self._groups(typed, {}), told, moved_in(do, place))
            return self.answer(typed)
        if self.given.get("version") != str(self.env_page.found.version):
            self.problem = Conflict(
                _("The environment was deployed meanwhile."), hint=_("This is the upgrade as it would be now.")
            )
            return self.answer(typed)
        questions = self._work_out()
        if questions is None:
            return self.answer(typed)
        problems = questions.problems(typed)
        if told.problems:
            problems.setdefault("", []).extend(told.problems)
        if problems:
            return self.answer(typed, problems)
        how = self.given.get("how", "")
        try:
            asked = replace(self.wanted, answers=questions.answers(typed))
            if deploys and how in ("each", "together"):
                said, together = self._guard(questions.report), how == "together"
                row = chains.begin(caller, self.env_page.id, asked, said, together=together)
                return go(self.request, f"{here}/updates/{row.id}")
            session, report = upgrades.draft(caller, self.env_page.id, asked)
        except UpgradeIncomplete as error:
            return self.answer(typed, self._open(error, questions, typed))
        except LossesUnconfirmed as error:  # those of before, and what came to them, are asked now
            self.problem, self.losses = error, [*known_losses(self.given), *error.details["losses"]]
            return self.answer(typed)
        except (Conflict, Invalid) as error:
            self.problem = error
            return self.answer(typed)
        if plans:
            task = planning.plan(caller, self.env_page.id, session.id)
            return go(self.request, f"{here}/plans/{task.id}")
        if deploys:
            try:
                task = procedures.deploy(caller, self.env_page.id, session.id, self._guard(report))
                return begun(self.request, self.env_page.id, task)
            except Conflict as error:  # what is in the way is told with the draft
                messages.warning(self.request, translated(error.message))
                return go(self.request, f"{here}/changes")
        messages.success(self.request, _("The upgrade is a draft now. Nothing changes until you deploy it."))
        return go(self.request, f"{here}/changes")

    def _guard(self, report: Mapping[str, Any]) -> procedures.Guard:
        """What was shown may go; where an author wants a word for that, if it was ticked."""
        said = not report["guard"] or self.given.get("confirmed") == "1"
        return procedures.Guard(True, accepted=known_losses(self.given) if said else None)

    def answer(self, typed: Typed, problems: Problems | None = None) -> HttpResponse:
        """The page. ``problems``: of the answers; None: nobody looked at them yet."""
        questions = None if self.env_page.changes or self.env_page.found.busy else self._work_out()
        context: dict[str, Any] = {"problem": self.problem, "report": None, "forms": []}
        status = 200 if self.problem is None else self.problem.status
        if questions is not None:
            if problems is None:
                asked = [one for one in questions.report["asked"] if not one["missing"]]
                found = questions.refused(asked, {}) if not typed else {}
            else:
                found, status = problems, 422
            context |= self._shown(questions, typed, found)
        shell = self.env_page.shell(
            "components",
            versions=self._versions(questions),
            given_versions=[f"{name}={version}" for name, version in sorted(self.wanted.to.items())],
            given_how=self.given.get("how", ""),
            guard_offered=offered(Environment.objects.get(id=self.env_page.id)),
            may_plan=allows(self.env_page.caller, "plan_environment"),
            texts=json.dumps(script_texts()),
            **context,
        )
        return render(self.request, "environments/upgrade.html", shell, status)

    def _work_out(self) -> Questions | None:
        """What is asked; None where the upgrade cannot be worked out: `problem` says why."""
        if self.questions is None and self.wanted.to:
            try:
                made = upgrades.prepare(self.env_page.caller, self.env_page.id, self.wanted)
                self.questions = Questions(self.env_page.caller, self.env_page.found, made)
            except (Conflict, Invalid) as error:
                self.problem = error
        return self.questions

    def _open(self, error: UpgradeIncomplete, questions: Questions, typed: Typed) -> Problems:
        """What a refused draft says, at the questions."""
        report = decode_messages((error.details or {})["report"])
        found = questions.refused(report["asked"], typed)
        if not report["asked"]:
            self.problem = error
        return found

    def _groups(self, typed: Typed, problems: Problems) -> list[Group]:
        assert self.questions is not None
        return [group for one in self.questions.forms(typed, problems) for group in _controls(one.page, one.id)]

    def _shown(self, questions: Questions, typed: Typed, problems: Problems) -> dict[str, Any]:
        report = questions.report
        forms: list[dict[str, Any]] = [
            {
                "id": one.id,
                "place": pointer(one.id)[1:],
                "name": one.name,
                "class_name": label_of_type(one.type),
                "page": one.page,
            }
            for one in questions.forms(typed, problems)
        ]
        listed = told_problems(problems.get("", ()), {})
        for one in forms:
            one["groups"] = _controls(one["page"], one["id"])
            known = {control.path: control for control in every(top(one["groups"]))}
            found = [replace(problem, place=pointer(one["id"]) + problem.place) for problem in problems_in(one["page"])]
            listed += told_problems(found, known)
        _focus(forms)
        lost = [
            {"object": item["name"], "id": item["id"], **value, "text": _short(value["value"])}
            for item in report["objects"]
            for value in item["dropped"]
            if value["lost"]
        ]
        moved = [{**item, "class_name": label_of_type(item["new_type"])} for item in report["objects"]]
        return {
            "report": report,
            "forms": forms,
            "problems": listed,
            "lost": lost,
            "moved": moved,
            "removed": [{**item, "class_name": label_of_type(item["type"])} for item in report["removed"]],
            "possible": bool(report["objects"]) and not report["problems"],
            "losses": list(dict.fromkeys([*report["not_restorable"], *self.losses])),
        }

    def _versions(self, questions: Questions | None) -> list[dict[str, Any]]:
        """The packages of which there are newer versions, with what is known of those that are wanted."""
        target = dict(self.wanted.to) if questions is None else questions.report["target"]
        offers = self.env_page.offers
        rows: dict[tuple[str, str], Package] = {}
        for row in Package.objects.filter(scope_of(self.env_page.found.project_id), fqn__in=list(offers)):
            if (row.fqn, row.version) not in rows or row.project_id == self.env_page.found.project_id:
                rows[row.fqn, row.version] = row
        return [
            {
                "offer": offer,
                "chosen": target.get(offer.package, ""),
                "choices": _choices(offer, target.get(offer.package, "")),
                "pulled": offer.package in target and offer.package not in self.wanted.to,
                "releases": _releases(offer, target.get(offer.package, ""), rows),
                "package": (chosen := rows.get((offer.package, target.get(offer.package, "")))),
                "impact": None if chosen is None else known(self.env_page.caller, chosen),
            }
            for offer in offers.values()
        ]


def _versions(given: QueryDict, offers: Mapping[str, NewerVersion]) -> dict[str, str]:
    """Package -> version, as ``to=PACKAGE=VERSION`` says; the newest of all where nothing was said."""
    if "to" not in given:
        return {offer.package: offer.to for offer in offers.values()}
    pairs = [text.rpartition("=") for text in given.getlist("to")[:_MOST] if text]
    return {name: version for name, _sign, version in pairs}


def _drops(given: QueryDict) -> list[tuple[str, str]]:
    """The ticks: OBJECT.PROPERTY whose values may be lost."""
    pairs = [text.rpartition(".") for text in given.getlist("drop")[:_MOST]]
    return [(own, name) for own, _dot, name in pairs]


def _controls(page: Any, own: str) -> list[Group]:
    groups = groups_of(page, plain=False, below=pointer(own))
    for control in every(top(groups)):
        control.search = ""  # the form is not kept, so there is nothing to search in: lists are whole
    return groups


def _focus(forms: list[dict[str, Any]]) -> None:
    """Whoever comes to answer one question can type at once."""
    first = next((control for one in forms for control in top(one["groups"])), None)
    if first is not None and first.single:
        first.attributes = SafeString(f"{first.attributes} autofocus")


def _choices(offer: NewerVersion, chosen: str) -> list[str]:
    return list(offer.versions) if chosen in ("", *offer.versions) else [chosen, *offer.versions]


def _releases(offer: NewerVersion, chosen: str, rows: Mapping[tuple[str, str], Package]) -> list[dict[str, Any]]:
    """The versions after the one that is used, to the one that is wanted, newest first: changes and verdict."""
    listed: list[dict[str, Any]] = []
    for version in offer.versions if chosen else ():
        row = rows.get((offer.package, version))
        if row is None or version_key(parse_version(version)) > version_key(parse_version(chosen)):
            continue
        own = [one for one in offer.changes if parse_version(one["version"]) == parse_version(version)]
        listed.append(
            {
                "version": version,
                "changes": releases_of(own),
                "found": decode_messages(row.compat),
                "verdict": verdict_of(row.compat),
                "package": row,
            }
        )
    return listed[:_RELEASES]


def _short(value: Any) -> str:
    text = text_of(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
