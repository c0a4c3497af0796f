"""What an application would make if its form was sent as it is: the plan of an environment with nothing else in it.

It is made once for a version and a project, when somebody asks, and told to all of the project after that. What the
form asks without an answer of its own (an address, another application) is said instead; passwords are made for it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from django.db import transaction

from vetro.data_classes import dataclass
from vetro.forms.password_generator import can_be_made
from vetro.forms.placement import field_at
from vetro.forms.sessions import FormFailed
from vetro.model.copies import Classes
from vetro.server.accounts.policy import enforce
from vetro.server.caller import Caller
from vetro.server.catalog.models import Package
from vetro.server.environments import fixed_properties, reachable_addresses
from vetro.server.forms import form_session
from vetro.server.forms.views import FormView
from vetro.server.setup import config
from vetro.server.tasks.models import Task

#: Pages of a form that are answered, and questions that are named.
_PAGES: Final = 50
_NAMED: Final = 10
#: Ends of types of resources -> what they are counted as.
_KINDS: Final = {
    "Nova::Server": "servers",
    "Cinder::Volume": "volumes",
    "Neutron::FloatingIP": "addresses",
    "Nova::FloatingIP": "addresses",
    "Neutron::Net": "networks",
    "Neutron::Port": "ports",
    "Neutron::SecurityGroup": "security_groups",
}


@dataclass(frozen=True, slots=True)
class DryRun:
    """``task``: the plan, None where there can be none; ``missing``: what has to be answered first."""

    task: Task | None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanTotals:
    """What a plan makes: {kind: number} of resources, sizes of servers with how many have them, scripts that run, and
    (name of the component, address) as a recorder made them up.
    """

    resources: Mapping[str, int]
    sizes: Mapping[str, int]
    objects: int
    scripts: int
    addresses: Sequence[tuple[str, str]] = ()


def known(caller: Caller, package: Package) -> DryRun | None:
    """The one that somebody of the project has begun; None without one."""
    try:
        kept = json.loads(_file(caller, package).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if kept.get("missing"):
        return DryRun(None, tuple(kept["missing"]))
    task = Task.objects.filter(id=kept.get("task") or "", project_id=caller.project_id, kind="plan").first()
    return None if task is None or task.state in ("cancelled", "killed") else DryRun(task)


def begin(caller: Caller, package: Package) -> DryRun:
    """Begins it, unless it is there. Raises what beginning a form raises, `Forbidden`, `QuotaBusy`."""
    enforce(caller, "plan_environment")
    found = known(caller, package)
    if found is not None:
        return found
    with transaction.atomic():
        shown = form_session.begin(caller, package=package.id)
        missing: list[str] = []
        try:
            answers: dict[str, str] = {}
            for _ in range(_PAGES):
                shown = form_session.submit(caller, shown.id, answers, partial=True)
                # What is wrong with passwords that were made here nobody can mend.
                answers = _passwords(caller, shown) if shown.outcome == "invalid" and not answers else {}
                if shown.outcome != "next" and not answers:
                    break
            if shown.outcome == "ready":
                found = DryRun(form_session.plan(caller, shown.id))
            else:
                missing = [_label(shown, one.place) for one in shown.problems][:_NAMED]
                found = DryRun(None, tuple(dict.fromkeys(missing)) or (shown.title,))
        except FormFailed as error:
            found = DryRun(None, (str(error.message),))
        form_session.discard(caller, shown.id)
    _keep(_file(caller, package), {"task": found.task.id if found.task else "", "missing": list(found.missing)})
    return found


def _passwords(caller: Caller, shown: FormView) -> dict[str, str]:
    """Passwords for what a page lacks, where it lacks nothing else: nobody has to think of one for a plan."""
    fields = {}
    for problem in shown.problems:
        found = (field_at(page, problem.place) for page in shown.form.pages)
        field = next((field for field in found if field is not None), None)
        if field is None or problem.place.count("/") != 1 or not can_be_made(field):
            return {}
        fields[field.name] = field
    made = {
        name: form_session.password(caller, shown.id, f"/{name}")
        for name, field in fields.items()
        if not field.confirms
    }
    return {**made, **{name: made.get(field.confirms, "") for name, field in fields.items() if field.confirms}}


def plan_totals(task: Task) -> PlanTotals:
    """What a plan that is done makes."""
    plan = task.result
    resources: Counter[str] = Counter()
    for stack in plan["stacks"]:
        for item in stack["resources"]:
            kind = next((kind for end, kind in _KINDS.items() if str(item["type"]).endswith(end)), "")
            if kind and item["what"] == "created":
                resources[kind] += 1
    made = [item for item in plan["objects"] if item["what"] == "created"]
    sizes = Counter(filter(None, map(_size, made)))
    classes = fixed_properties.classes_of([package["digest"] for package in task.spec["packages"]])
    return PlanTotals(dict(resources), dict(sizes), len(made), len(plan["scripts"]), _addresses(made, classes))


def _size(item: Mapping[str, Any]) -> str:
    """The size of a server that a plan makes; '' for anything else, and for a server that others are only made like."""
    new = {told["name"]: told["new"] for told in item["properties"]}
    size = new.get("flavor")
    return size if isinstance(size, str) and (new.get("openstackId") or new.get("ipAddresses")) else ""


def _addresses(made: Sequence[Mapping[str, Any]], classes: Classes) -> list[tuple[str, str]]:
    """(name of the object, address) of what a plan makes, by the rule of deployed environments."""
    found: dict[str, str] = {}
    for item in made:
        properties = ((told["name"], told["new"]) for told in item["properties"])
        for _, text in reachable_addresses.of_properties(item["type"], properties, classes):
            found.setdefault(text, item["name"] or item["id"])
    return [(name, text) for text, name in found.items()][:_NAMED]


def _label(shown: FormView, path: str) -> str:
    top = "/" + path.lstrip("/").partition("/")[0]
    found = (field_at(page, top) for page in shown.form.pages)
    return next((field.label or field.name for field in found if field is not None), shown.title)


def _file(caller: Caller, package: Package) -> Path:
    key = hashlib.sha256(f"{caller.project_id} {package.id} {package.digest} 2".encode()).hexdigest()
    return config().data / "cache" / "rehearsals" / f"{key}.json"


def _keep(file: Path, told: Mapping[str, Any]) -> None:
    with suppress(OSError):  # a full disk: somebody asks again
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = file.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(told), "utf-8")
        draft.replace(file)
