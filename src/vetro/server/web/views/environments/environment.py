"""One environment: its components, each of them, and what is done with the environment as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib import messages
from django.http import FileResponse, HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from vetro.model.copies import renewed, undeployed
from vetro.model.environment import applications_of
from vetro.model.header import class_of, id_of, label_of, label_of_type, parse_type_text, type_of
from vetro.model.secrets import conceal, is_mark, masked, without
from vetro.model.titles import title_of
from vetro.model.tree import find, objects, walk
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.environments import (
    deploy,
    deployments,
    exports,
    history,
    offered_actions,
    queries,
    templates,
)
from vetro.server.environments import description as changing
from vetro.server.environments.models import Session
from vetro.server.environments.reachable_addresses import of_component
from vetro.server.errors import ServiceError
from vetro.server.forms.target import FormTarget
from vetro.server.ids import new_id
from vetro.server.language import translated
from vetro.server.tasks.models import Report, Task
from vetro.server.web import drafts
from vetro.server.web.environment_page import EnvironmentPage, open_page, shown_changes
from vetro.server.web.logos import logos_of, titles_of
from vetro.server.web.model_texts import text_of
from vetro.server.web.page import go, missing, page, render
from vetro.server.web.views.environments.listing import TASK_FIELDS, told_tasks
from vetro.yaql.errors import VetroError
from vetro.yaql.redact import MASK


@page(rule="show_environment")
def show(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """The components, with state, addresses and actions; or the same without the shell, for live updates."""
    env_page = open_page(caller, environment)
    task = newest_task(env_page.found)
    context = env_page.shell(
        "components",
        components=_components(env_page),
        task=task,
        action_failed=task is not None and task["kind"] == "action" and (task["errors"] or task["state"] != "done"),
        others=drafts.of_others(caller, env_page.found),
        outdated=len(drafts.outdated(caller, env_page.found)),
        watched=True,
    )
    part = request.headers.get("HX-Target") == "live"
    return render(request, "environments/components.html" if part else "environments/one.html", context)


def newest_task(found: queries.ListedEnvironment) -> dict[str, Any] | None:
    """The last task that worked on an environment, or works on it."""
    rows = Task.objects.filter(environment_id=found.id, kind__in=deployments.WORK).order_by("-created", "-id")
    listed = told_tasks(list(rows.values(*TASK_FIELDS)[:1]))
    return listed[0] if listed else None


def _components(env_page: EnvironmentPage) -> list[dict[str, Any]]:
    """What the page shows of each application."""
    newest = deployments.last_statuses(
        env_page.caller, env_page.id, env_page.session.id if env_page.session is not None else ""
    )
    actions: dict[str, list[dict[str, Any]]] = {}
    tops = {str(id_of(obj)): str(id_of(item)) for item in env_page.services for obj in objects(item)}
    for action in offered_actions.actions(env_page.caller, env_page.id):
        if action["enabled"]:
            actions.setdefault(tops.get(action["object_id"], ""), []).append(action)
    kinds = {class_of(item) for item in [*env_page.services, *env_page.removed]}
    logos, titles = logos_of(env_page.caller, kinds), titles_of(env_page.caller, kinds)
    may_upgrade = not env_page.found.busy and allows(env_page.caller, "update_environment")
    powered = env_page.server_names if env_page.may_power else ()
    health = {one.id: one.told for one in env_page.components_health} if not env_page.found.busy else {}
    listed = []
    gone = {id_of(item) for item in env_page.removed}
    for item in [*env_page.services, *env_page.removed]:
        own = str(id_of(item))
        removed = own in gone
        newer = None if removed else env_page.offers.get(parse_type_text(type_of(item)).package or "")
        listed.append(
            {
                "id": own,
                "name": label_of(item),
                "type": class_of(item),
                "type_label": titles.get(class_of(item)) or label_of_type(type_of(item)),
                "version": parse_type_text(type_of(item)).version,
                "logo": logos.get(class_of(item), ""),
                "change": env_page.top_changes.get(own, "") if not env_page.found.busy else "",
                "removed": removed,
                "state": _state(env_page, own, removed, newest.get(own)),
                "health": health.get(own),
                "newer": newer,
                "upgradable": newer is not None and may_upgrade,
                "addresses": [] if removed else of_component(conceal(item, env_page.secrets), env_page.classes),
                "report": newest.get(own),
                "powered": own in powered and not removed,
                "actions": sorted(actions.get(own, ()), key=lambda action: action["title"].lower()),
            }
        )
    return listed


def _state(env_page: EnvironmentPage, own: str, removed: bool, report: dict[str, Any] | None) -> str:
    """A word for a component: what is true of it now."""
    if env_page.found.busy:
        failed = report is not None and report["task_id"] == env_page.found.task_id and report["level"] == "error"
        # An action, or servers that are switched, leave it what it is.
        return "error" if failed else "deployed" if env_page.state in ("acting", "switching") else env_page.state
    if removed:
        return "removal"
    change = env_page.top_changes.get(own)
    if change:
        return "addition" if change == "created" else "change"
    if env_page.found.status in (Session.FAILED, Session.DELETE_FAILED):
        return "error" if report is not None and report["level"] == "error" else "unsure"
    return "deployed"


@page(rule="show_environment")
def component(request: HttpRequest, caller: Caller, environment: str, component: str) -> HttpResponse:
    """One object: its properties, what it owns, what was reported about it."""
    env_page = open_page(caller, environment)
    found = find(env_page.root, component) or find(env_page.deployed, component)
    if found is None:
        raise missing(_("application"))
    shown = conceal(found, env_page.secrets)
    labels = env_page.labels()
    family = [str(id_of(obj)) for obj in objects(found)]
    tasks = Task.objects.filter(environment_id=env_page.id, kind__in=deployments.WORK).values("id")
    rows = Report.objects.filter(task__in=tasks, entity_id__in=family[:400]).order_by("-seq")[:30]
    top = next((item for item in env_page.services if find(item, component) is not None), None)
    context = env_page.shell(
        "components",
        object_id=component,
        metadata=found["?"].get("metadata") or {},
        label=label_of(found),
        type=type_of(found),
        type_name=class_of(found),
        properties=_properties(shown, labels, _titles(caller, environment, type_of(found))),
        owned=[
            {"id": id_of(obj), "label": label_of(obj), "type": class_of(obj)} for obj in list(objects(found))[1:201]
        ],
        addresses=of_component(shown, env_page.classes),
        actions=[a for a in offered_actions.actions(caller, environment) if a["object_id"] in family],
        reports=list(rows),
        # Networks and other objects of the environment itself have no form.
        editable=top is not None,
        owner=next(({"id": id_of(o), "label": label_of(o)} for o in _owners(env_page.root, component)), None),
        top=top is not None and id_of(top) == component,
        changes=shown_changes([item for item in env_page.changes if item.id in family], labels),
        exists=find(env_page.root, component) is not None,
        told=next((one for one in env_page.components_health if one.id == component), None),
    )
    return render(request, "environments/component.html", context)


def _owners(root: Any, own: str) -> Iterator[dict[str, Any]]:
    """The object that owns another one; nothing for applications, which belong to the environment."""
    for place in walk(root):
        if id_of(place.object) == own and place.owner is not None and place.owner != id_of(root):
            yield from (obj for obj in (find(root, place.owner),) if obj is not None)


def _titles(caller: Caller, environment: str, type_text: str) -> dict[str, str]:
    """What the form of a class calls its properties; empty where it cannot be read any more."""
    try:
        described = FormTarget(caller, environment, None).describer.described(type_text)
    except (VetroError, ServiceError):  # the page of an object stands without its package, too
        return {}
    return {} if described is None else {name: translated(one.label) for name, one in described.fields.items()}


def _properties(shown: dict[str, Any], labels: Any, titles: Mapping[str, str]) -> list[dict[str, Any]]:
    """Name, title and value of each property; references by name, secrets as dots."""
    rows = []
    for name, value in shown.items():
        if name == "?":
            continue
        secret = is_mark(value)
        plain = MASK if secret else masked(name, value)
        target = value if isinstance(value, str) and value in labels else id_of(value)
        text = labels[value] if isinstance(value, str) and value in labels else text_of(plain)
        rows.append(
            {
                "name": name,
                "title": titles.get(name) or title_of(name),
                "text": text,
                "target": target,
                "long": len(text) > 80 or "\n" in text,
            }
        )
    return rows


@page("GET", "POST", rule="update_environment")
def rename(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """Changes name and description."""
    env_page = open_page(caller, environment)
    context = env_page.shell("", name=env_page.found.name, description=env_page.found.description_text)
    if request.method == "POST":
        context |= {"name": request.POST.get("name", ""), "description": request.POST.get("description", "")}
        try:
            changing.change(caller, environment, name=context["name"], description=context["description"])
        except ServiceError as error:
            return render(request, "environments/rename.html", {**context, "problem": error}, error.status)
        return go(request, f"/app/environments/{environment}/")
    return render(request, "environments/rename.html", context)


@page("GET", "POST", rule="create_environment")
def clone(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """A new environment with the same components, as a draft."""
    env_page = open_page(caller, environment)
    context = env_page.shell("", name=_("%s copy") % env_page.found.name, count=len(env_page.services))
    if request.method == "POST":
        context["name"] = request.POST.get("name", "")
        try:
            made = history.clone(caller, environment, context["name"], env_page.session.id if env_page.session else "")
        except ServiceError as error:
            return render(request, "environments/clone.html", {**context, "problem": error}, error.status)
        messages.success(request, _("This is the copy. Nothing of it is deployed yet."))
        return go(request, f"/app/environments/{made['environment_id']}/")
    return render(request, "environments/clone.html", context)


@page("GET", "POST", rule="create_env_template")
def to_template(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """A template with the components as they are now."""
    env_page = open_page(caller, environment)
    context = env_page.shell("", name=env_page.found.name, description="", count=len(env_page.services))
    if request.method == "POST":
        context |= {"name": request.POST.get("name", ""), "description": request.POST.get("description", "")}
        try:
            fresh = renewed(undeployed(env_page.root, env_page.classes), env_page.classes, new_id)
            given = {"name": context["name"], "description_text": context["description"]}
            # Whoever makes a template shares how things are built, not the passwords of what exists.
            services = without(applications_of(fresh), env_page.secrets)
            made = templates.create(caller, {**given, "services": services})
        except ServiceError as error:
            return render(request, "environments/to_template.html", {**context, "problem": error}, error.status)
        return go(request, f"/app/templates/{made['id']}/")
    return render(request, "environments/to_template.html", context)


@page("POST", rule="update_environment")
def export(request: HttpRequest, caller: Caller, environment: str) -> FileResponse:
    """The environment as a ZIP archive, secrets in clear."""
    env_page = open_page(caller, environment)
    archive = exports.export_environment(caller, environment)
    return FileResponse(
        archive, as_attachment=True, filename=f"environment-{env_page.id}.zip", content_type="application/zip"
    )


@page("GET", "POST", rule="delete_environment")
def delete(request: HttpRequest, caller: Caller, environment: str) -> HttpResponse:
    """Destroys what was deployed and then the environment; or forgets it. Says before what that means."""
    env_page = open_page(caller, environment)
    existing = applications_of(env_page.deployed) if env_page.found.version else []
    context = env_page.shell(
        "",
        existing=[
            {
                "name": label_of(i),
                "type": label_of_type(type_of(i)),
                "servers": env_page.server_names.get(str(id_of(i)), ()),
            }
            for i in existing
        ],
    )
    if request.method != "POST":
        return render(request, "environments/delete.html", context)
    abandon = request.POST.get("how") == "abandon"
    if abandon and request.POST.get("confirm", "").strip() != env_page.found.name:
        problem = _("Type the name of the environment to abandon it.")
        return render(request, "environments/delete.html", {**context, "problem": problem}, 400)
    task = deploy.delete(caller, environment, abandon=abandon)
    if task is not None:
        return go(request, f"/app/environments/{environment}/tasks/{task.id}/")
    told = _("The environment %s was abandoned.") if abandon else _("The environment %s was deleted.")
    messages.success(request, told % env_page.found.name)
    return go(request, "/app/environments/")
