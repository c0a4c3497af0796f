"""Notices: who is told what happens in the project, and what became of it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from vetro.server.caller import Caller
from vetro.server.environments.models import Environment
from vetro.server.errors import ServiceError
from vetro.server.language import reader_language
from vetro.server.notices import service
from vetro.server.notices.kinds import KINDS, LEVELS
from vetro.server.setup import config
from vetro.server.web.marked_names import marked_names
from vetro.server.web.page import page, render
from vetro.server.web.views.people.changes import done

_HERE = "/app/notices/"
_RULE = "manage_notices"
#: Environments to choose from, and deliveries that are shown.
_MOST, _SHOWN = 1000, 50
#: What people choose from: the kind of a target with its form.
WAYS = {
    "webhook": gettext_lazy("Webhook (signed)"),
    "slack": gettext_lazy("Room in Slack"),
    "mattermost": gettext_lazy("Room in Mattermost"),
    "template": gettext_lazy("Chat with a template of your own"),
    "mail": gettext_lazy("E-mail"),
}
NAMES = {
    "deployment.done": gettext_lazy("Deployed"),
    "deployment.failed": gettext_lazy("Deployment failed"),
    "deletion.done": gettext_lazy("Deleted"),
    "deletion.failed": gettext_lazy("Deletion failed"),
    "action.done": gettext_lazy("Action done"),
    "action.failed": gettext_lazy("Action failed"),
    "repair.done": gettext_lazy("Repaired"),
    "repair.failed": gettext_lazy("Repair failed"),
    "power.done": gettext_lazy("Servers switched"),
    "power.failed": gettext_lazy("Servers not switched"),
    "update.kept": gettext_lazy("Update kept"),
    "update.restored": gettext_lazy("Update taken back"),
    "update.stuck": gettext_lazy("Update stuck"),
    "decision.needed": gettext_lazy("Somebody has to decide"),
    "health.changed": gettext_lazy("Health changed"),
}
LEVEL_NAMES = {
    "info": gettext_lazy("everything"),
    "warning": gettext_lazy("warnings and errors"),
    "error": gettext_lazy("errors only"),
}


@page(rule=_RULE)
def show(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Targets, rules, and what was sent."""
    return _shown(request, caller)


@page("POST", rule=_RULE)
def add_target(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A new target. The secret of a webhook is in this answer and nowhere else."""
    given = {name: request.POST.get(name, "").strip() for name in ("name", "way", "address", "template")}
    kind = given["way"] if given["way"] in ("webhook", "mail") else "chat"
    settings: dict[str, Any] = {"url": given["address"], "form": given["way"], "template": given["template"]}
    if kind == "mail":
        settings = {"to": given["address"].replace(",", " ").split()}
    language = reader_language()
    try:
        made, secret = service.add_target(caller, given["name"], kind, settings, language)
    except ServiceError as error:
        return _shown(request, caller, error.status, target_problem=error, given=given)
    return _shown(request, caller, made=made, secret=secret)


@page("POST", rule=_RULE)
def test(request: HttpRequest, caller: Caller, target: str) -> HttpResponse:
    """Has a test sent."""
    service.target(caller, target)  # who has none of this id is told so
    text = _("A test is on its way. Load the page again in a moment to see whether it arrived.")
    return done(request, _HERE, text, lambda: service.test_target(caller, target))


@page("POST", rule=_RULE)
def switch(request: HttpRequest, caller: Caller, target: str) -> HttpResponse:
    """Switches a target on or off."""
    service.target(caller, target)
    on = request.POST.get("to") == "on"
    text = _("The target is told again.") if on else _("The target is told nothing until it is switched on again.")
    return done(request, _HERE, text, lambda: service.change_target(caller, target, {"enabled": on}))


@page("POST", rule=_RULE)
def secret(request: HttpRequest, caller: Caller, target: str) -> HttpResponse:
    """A new secret, which is in this answer and nowhere else."""
    made = service.rotate_secret(caller, target)
    return _shown(request, caller, made=service.target(caller, target), secret=made, rotated=service.HOURS)


@page("POST", rule=_RULE)
def remove_target(request: HttpRequest, caller: Caller, target: str) -> HttpResponse:
    """Removes a target."""
    service.target(caller, target)
    return done(request, _HERE, _("The target is removed."), lambda: service.remove_target(caller, target))


@page("POST", rule=_RULE)
def add_rule(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A new rule."""
    post = request.POST
    kinds = post.getlist("kinds")

    def act() -> None:
        service.add_rule(
            caller, post.get("target", ""), post.get("environment", ""), kinds, post.get("least", LEVELS[0])
        )

    return done(request, _HERE, _("The rule holds from now on."), act)


@page("POST", rule=_RULE)
def remove_rule(request: HttpRequest, caller: Caller, rule: str) -> HttpResponse:
    """Removes a rule."""
    service.rule(caller, rule)
    return done(request, _HERE, _("The rule is removed."), lambda: service.remove_rule(caller, rule))


def _shown(request: HttpRequest, caller: Caller, status: int = 200, **more: Any) -> HttpResponse:
    targets = service.targets(caller)
    rules = service.rules(caller)
    for target in targets:
        target["way"] = WAYS[target["form"] or target["kind"]]
        target["where"] = target["url"] or ", ".join(target["to"] or ())
    shown = dict(marked_names((rule["environment_id"], rule["environment"]) for rule in rules if rule["environment"]))
    for rule in rules:
        rule["environment"] = shown.get(rule["environment_id"], rule["environment"])
        rule["names"] = [NAMES[kind] for kind in rule["kinds"] if kind in NAMES]
        rule["level"] = LEVEL_NAMES[rule["least"]]
        rule["gone"] = rule["environment_id"] is not None and rule["environment"] is None
    mine = Environment.objects.filter(project_id=caller.project_id).order_by("name")
    ways = {way: name for way, name in WAYS.items() if way != "mail" or config()["notices.mail_host"]}
    context = {
        "targets": targets, "rules": rules, "ways": ways, "kinds": [(kind, NAMES[kind]) for kind in KINDS],
        "levels": LEVEL_NAMES, "environments": marked_names(mine.values_list("id", "name")[:_MOST]),
        "deliveries": service.deliveries(caller, most=_SHOWN), "given": {}, **more,
    }  # fmt: skip
    return render(request, "notices/listing.html", context, status)
