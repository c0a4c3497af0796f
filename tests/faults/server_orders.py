"""What the nursery is told to do: a project with a package, environments, deployments, and looking at all of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.server.tasks import shop

CHAIN = """\
Name: Shop
Namespaces:
  =: test
  std: io.murano
  res: io.murano.resources
  sys: io.murano.system
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  steps: {Contract: $.int().notNull(), Default: 4}
  instance: {Contract: $.class(res:Instance).notNull()}
  done: {Contract: [$.int()], Usage: Out, Default: []}
Methods:
  add:
    Usage: Static
    Scope: Public
    Arguments:
      - a: {Contract: $.int().notNull()}
    Body:
      Return: $a + 1
  deploy:
    Body:
      - $environment: $.find(std:Environment)
      - For: i
        In: range($.steps)
        Do:
          - $environment.stack.updateTemplate(dict(
              heat_template_version => '2013-05-23',
              resources => dict('r{0}'.format($i) => dict(type => 'test', properties => dict(v => $i)))))
          - $environment.stack.push()
          - $.instance.agent.call(dict(
              FormatVersion => '2.0.0', Version => '1.0.0', Name => format('{0} {1}', $.title, $i), Body => 'return 1',
              Parameters => dict(), Scripts => dict()), new(sys:Resources))
          - $.done: $.done + [$i]
          - $environment.reporter.report($this, format('step {0}', $i))
"""


def caller() -> Any:
    """The one person."""
    from vetro.server.caller import Caller

    return Caller("ann", "ann", "demo", "demo")


def prepare() -> None:
    """A catalog with one package."""
    shop.add_package(caller(), shop.archive({"Classes/Shop.yaml": CHAIN}))


def model(environment: Any, title: str, steps: int) -> dict[str, Any]:
    instance = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": f"{environment.id}-server"},
                "name": "web", "image": "i", "flavor": "f"}  # fmt: skip
    return shop.model(environment, title=title, steps=steps, instance=instance)


def begin(name: str, steps: int = 4, count: int = 1) -> list[str]:
    """Enqueues a deployment in each of ``count`` new environments; the ids of the tasks."""
    from vetro.server.catalog.models import Package

    package = Package.objects.get(fqn="test.shop")
    found = []
    for number in range(count):
        title = f"{name}{number}" if count > 1 else name
        environment = shop.add_environment(caller(), title)
        found.append(shop.enqueue(caller(), environment, package, model(environment, title, steps)).id)
    return found


def session(name: str) -> list[str]:
    """An environment with a session that is ready to be deployed: their ids."""
    from vetro.server.environments.models import Environment, Session

    environment, _ = Environment.objects.get_or_create(project_id="demo", name=name)
    draft = model(environment, name, 2)["Objects"]
    made = Session.objects.create(
        environment=environment, user_id="ann", version=environment.version, draft={"Objects": draft}
    )
    return [environment.id, made.id]


def deploy(environment_id: str, session_id: str) -> str:
    """Deploys a session."""
    from vetro.server.environments.deploy import deploy

    return str(deploy(caller(), environment_id, session_id).id)


def states(ids: list[str]) -> list[str]:
    """States of tasks."""
    from vetro.server.tasks.models import Task

    found = dict(Task.objects.filter(id__in=ids).values_list("id", "state"))
    return [found[id] for id in ids]


def story(id: str) -> dict[str, Any]:
    """Everything about one task."""
    from vetro.server.environments.models import Environment, State
    from vetro.server.tasks.models import Report, Task

    task = Task.objects.get(id=id)
    environment = Environment.objects.filter(id=task.environment_id).first()
    newest = Report.objects.filter(task=task).order_by("-seq").first()
    last = State.objects.filter(environment_id=task.environment_id).order_by("-number").first()
    return {
        "state": task.state,
        "error": task.error,
        "attempts": task.attempts,
        "failures": task.failures,
        "texts": list(Report.objects.filter(task=task, kind="report").order_by("seq").values_list("text", flat=True)),
        "version": environment.version if environment else None,
        "applications": ((last.model.get("Objects") or {}).get("applications") if last else None),
        "told_ago": (datetime.now(UTC) - newest.created).total_seconds() if newest else None,
        "leases": Task.objects.filter(state="running").count(),
        "tasks": Task.objects.filter(environment_id=task.environment_id).count(),
    }


def static(count: int) -> list[list[float]]:
    """Static actions, as the API calls them: what each returned, and after how many seconds."""
    import time

    from django.db import transaction

    from vetro.server.tasks import class_names
    from vetro.server.tasks.queue import enqueue
    from vetro.server.tasks.wait import wait

    found = []
    for number in range(count):
        begun = time.monotonic()
        meant = class_names.find(caller(), "test.Shop")
        with transaction.atomic():
            more = {"packages": meant.packages, "on_class": meant.on_class, "priority": 100}
            id = enqueue(caller(), "static", method="add", args={"a": number}, **more).id
        found.append([wait(id, 20.0).result, time.monotonic() - begun])
    return found


def cancel(id: str) -> str:
    """Cancels a task."""
    from vetro.server.tasks.queue import cancel

    return str(cancel(caller(), id).state)


def change_engine(id: str) -> None:
    """As if another version of the engine had begun the task."""
    from vetro.server.tasks.models import JournalTask, Task

    JournalTask.objects.filter(task_id=id).update(engine="0.0.1")
    Task.objects.filter(id=id).update(engine="0.0.1")


def workers() -> list[int]:
    """Process ids of those that are written down."""
    from vetro.server.tasks.models import WorkerProcess

    return sorted(WorkerProcess.objects.values_list("pid", flat=True))
