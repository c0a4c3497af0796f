"""What a project has: one of everything, made through the API, full of a word that occurs nowhere else."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

from tests.server.api.v2.conftest import MANIFEST, NEST, TREE, UI, upload

#: Where a tree can be reached.
OUT = """Properties:
  url: {Contract: $.string(), Usage: Out}
  ipAddresses: {Contract: [$.string()], Usage: Out}
"""


def archive(space: str, word: str) -> bytes:
    """A package ``SPACE.orchard`` whose texts hold the word."""
    texts = {
        "manifest.yaml": MANIFEST.replace("Name: Orchard", f"Name: Orchard {word}").replace("Trees", word),
        "Classes/Tree.yaml": TREE.replace("growing", f"growing {word}").replace("Properties:\n", OUT, 1),
        "Classes/Nest.yaml": NEST,
        "UI/ui.yaml": UI.replace("label: Name", f"label: {word}"),
        "README.md": word,
        "LICENSE": word,
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for path, text in texts.items():
            text = text.replace("test.", f"{space}.").replace("=: test", f"=: {space}")
            target.writestr(zipfile.ZipInfo(path), text)
    return buffer.getvalue()


def build(person: Any, space: str, word: str, drain: Callable[..., Any]) -> dict[str, str]:
    """The values of path parameters, by name, that name what the project of the person has then."""

    def made(answer: Any) -> Any:
        assert answer.status_code in (200, 201, 202), answer.content
        return answer.json()

    package = made(upload(person, archive(space, word)))["imported"][0]["id"]
    environment = made(person.post("/v2/environments", {"name": f"{word} shop"}))["id"]
    tree = {"?": {"type": f"{space}.Tree", "id": f"{space}1"}, "name": word}
    from vetro.server.procedures.models import Procedure
    from vetro.server.procedures.sweep import sweep

    def draft(*trees: dict[str, Any]) -> str:
        session = str(made(person.post(f"/v2/environments/{environment}/sessions"))["id"])
        model = made(person.get(f"/v2/sessions/{session}/model"))
        made(person.put(f"/v2/sessions/{session}/model", {**model, "services": list(trees)}))
        return session

    task = made(person.post(f"/v2/sessions/{draft(tree)}/deploy"))["id"]
    drain()
    larger = draft({**tree, "height": 2})
    guard = {"guard": True, "settle": 0, "hold": 3600}
    made(person.post(f"/v2/sessions/{larger}/deploy", guard))
    drain()
    sweep(lambda row: {})
    update = Procedure.objects.get(environment_id=environment)
    assert update.step == "holding"
    procedure = update.id
    called = made(person.post(f"/v2/environments/{environment}/actions/{space}1_water", {"args": {"litres": 3}}))
    drain()
    plan = made(person.post(f"/v2/sessions/{draft(tree)}/plan"))["id"]
    drain()
    session = draft({**tree, "height": 4})
    template = made(person.post("/v2/templates", {"name": f"{word} grove", "services": [tree]}))["id"]
    form = made(person.post("/v2/forms", {"package": package, "environment_id": environment}))["id"]
    made(person.post(f"/v2/forms/{form}/evaluate", {"answers": {"name": word}}))
    token = made(person.post("/v2/tokens", {"name": word}))["id"]
    hook = {"name": word, "kind": "webhook", "url": f"https://{word.lower()}.example.com/"}
    target = made(person.post("/v2/notices/targets", hook))["id"]
    rule = made(person.post("/v2/notices/rules", {"target_id": target, "environment_id": environment}))["id"]
    delivery = made(person.post(f"/v2/notices/targets/{target}/test"))["id"]
    impact = looked_at(person.caller, package, environment)
    return {
        "environment": environment,
        "impact": impact,
        "session": session,
        "task": task,
        "action_task": called["id"] if "id" in called else called["task"]["id"],
        "plan": plan,
        "template": template,
        "package": package,
        "form": form,
        "token": token,
        "target": target,
        "rule": rule,
        "delivery": delivery,
        "procedure": procedure,
        "object": f"{space}1",
        "action": f"{space}1_water",
        "class": f"{space}.Tree",
        "fqn": f"{space}.orchard",
        "user": person.caller.user_id,
        "project": person.caller.project_id,
    }


def looked_at(caller: Any, package: str, environment: str) -> str:
    """What a version would change, as if somebody had asked: a question, its id."""
    from vetro.server.catalog.models import Package
    from vetro.server.impact.models import Entry, Impact

    row = Package.objects.get(id=package)
    asked = Impact.objects.create(
        project_id=caller.project_id, user_id=caller.user_id, fqn=row.fqn, version=row.version, digest=row.digest
    )
    detail = {"reason": f"{environment} was not planned"}
    Entry.objects.create(
        impact=asked, environment_id=environment, project_id=caller.project_id, group="skipped", detail=detail
    )
    return asked.id


def values(of: dict[str, str], path: str) -> dict[str, str]:
    """Values of what varies in an address, by the names that it has there."""
    kind = path.split("/")[2] if path.startswith("/v2") else ""
    return {
        "environment_id": of["environment"],
        "environment": of["environment"],
        "impact_id": of["impact"],
        "impact": of["impact"],
        "session_id": of["session"],
        "deployment_id": of["task"],
        "task_id": of["action_task"] if "/actions/" in path else of["task"],
        "task": of["action_task"] if "/results/" in path else of["plan"] if "/plans/" in path else of["task"],
        "template_id": of["template"],
        "template": of["template"],
        "package_id": of["package"],
        "package": of["package"],
        "id": of["category"] if "/categories/" in path else of["package"],
        "category_id": of["category"],
        "category": of["category"],
        "form_id": of["form"],
        "form": of["form"],
        "token_id": of["token"],
        "token": of["token"],
        "target_id": of["target"],
        "target": of["target"],
        "rule_id": of["rule"],
        "rule": of["rule"],
        "delivery_id": of["delivery"],
        "procedure_id": of["procedure"],
        "procedure": of["procedure"],
        "object_id": of["object"],
        "instance_id": of["object"],
        "component": of["object"],
        "action_id": of["action"],
        "action": of["action"],
        "class_name": of["class"],
        "methods": "water",
        "topic": "the-catalog",
        "method": "sum",
        "name": of["class"] if "/class" in path else "nothing",
        "fqn": of["fqn"],
        "path": of["path"] if "path" in of else "manifest.yaml" if "/files/" in path else of["object"],
        "builder": "none",
        "number": "1",
        "server": "none",
        "worker": "none",
        "cure": "private",
        "command": "0" * 32,
        "file": "0" * 32,
        "seq": of.get("seq", "1"),
        "image_id": "5f" * 16,
        "user": of["user"],
        "project": of["project"],
        "kind": kind,
    }
