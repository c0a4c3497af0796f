"""Rows in bulk, as an installation has them after years: environments with their past, people, audit records.

python -m benchmarks.service.many PROJECT USER OBJECTS     one environment of so many objects; prints its id
"""

from __future__ import annotations

import sys
import uuid
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

_BATCH = 500
_STATES = ("done", "done", "done", "failed")


def shops(environment: str, count: int, *, groups: int = 10) -> list[dict[str, Any]]:
    """So many objects: applications, of which each owns ``groups`` - 1 others and refers to the one before it."""
    found: list[dict[str, Any]] = []
    for number in range(count // groups):
        first = f"{environment}-{number}"
        below = [
            {"?": {"type": "test.Shop", "id": f"{first}-{each}", "name": f"Stall {number}.{each}"}, "title": f"s{each}"}
            for each in range(groups - 1)
        ]
        found.append(
            {
                "?": {"type": "test.Shop", "id": first, "name": f"Shop {number}"},
                "title": f"Shop {number}",
                "stalls": below,
                "neighbour": found[-1]["?"]["id"] if found else None,
            }
        )
    return found


def model_of(environment: str, name: str, applications: list[dict[str, Any]]) -> dict[str, Any]:
    """A deployed model with these applications."""
    header = {"type": "io.murano.Environment", "id": environment, "name": name}
    root = {"?": header, "name": name, "applications": applications}
    return {"Objects": root, "Attributes": [], "SystemData": {}}


def environments(project: str, user: str, count: int) -> None:
    """Environments of three objects each, with three ended tasks, and a draft of every fifth."""
    from vetro.server.environments.models import Environment, EnvironmentPackage, Session, State
    from vetro.server.tasks.models import Event, Report, Task

    now = timezone.now()
    for start in range(0, count, _BATCH):
        numbers = range(start, min(start + _BATCH, count))
        rows = [
            Environment(project_id=project, name=f"Fair {n:05}", version=1, description_text=f"Stalls of street {n}.")
            for n in numbers
        ]
        tasks, reports, events = [], [], []
        for n, row in zip(numbers, rows, strict=True):
            for turn in range(3):
                at = now - timedelta(minutes=n, hours=turn)
                state = _STATES[n % len(_STATES)] if turn == 0 else "done"
                task = Task(
                    project_id=project, user_id=user, environment_id=row.id, kind="deploy", state=state, spec={},
                    action={"method": "deploy"}, created=at, started=at, finished=at + timedelta(seconds=n % 90),
                )  # fmt: skip
                tasks.append(task)
                text = f"Stall {n} is open"
                reports.append(Report(task=task, key="0/1", entity_id=f"{row.id}-0", text=text, created=at))
                events.append(Event(project_id=project, environment_id=row.id, task_id=task.id, kind="task"))
            row.task_id = tasks[-3].id
            row.failure = "deploy failure" if tasks[-3].state == "failed" else ""
        with transaction.atomic():
            Environment.objects.bulk_create(rows)
            State.objects.bulk_create(
                State(environment=row, number=1, model=model_of(row.id, row.name, shops(row.id, 3, groups=3)))
                for row in rows
            )
            Task.objects.bulk_create(tasks)
            Report.objects.bulk_create(reports)
            Event.objects.bulk_create(events)
            EnvironmentPackage.objects.bulk_create(
                EnvironmentPackage(environment=row, fqn="test.shop", version="1.0.0", digest="0" * 64) for row in rows
            )
            Session.objects.bulk_create(Session(environment=row, user_id=user, version=1) for row in rows[::5])


def large(project: str, user: str, objects: int, states: int) -> str:
    """An environment of so many objects with so many earlier states, newest first one object fewer each; its id."""
    from vetro.server.environments.models import Environment, State
    from vetro.server.tasks.models import Task

    row = Environment(project_id=project, name="The whole town", version=states)
    every = shops(row.id, objects)
    now = timezone.now()
    tasks = [
        Task(
            project_id=project, user_id=user, environment_id=row.id, kind="deploy", state="done", spec={},
            action={"method": "deploy"}, created=now - timedelta(hours=states - n), started=now, finished=now,
        )
        for n in range(states)
    ]  # fmt: skip
    row.task_id = tasks[-1].id
    with transaction.atomic():
        row.save()
        Task.objects.bulk_create(tasks)
        # All but the last few are small: what costs is how many there are, and the size of those that are compared.
        State.objects.bulk_create(
            State(
                environment=row, number=number + 1, task_id=task.id,
                model=model_of(row.id, row.name, every if number >= states - 3 else every[: number % 5]),
            )
            for number, task in enumerate(tasks)
        )  # fmt: skip
    return row.id


def people(count: int, projects: int) -> None:
    """Accounts with a role in two of so many projects."""
    from vetro.server.accounts.models import Membership, Project, User

    with transaction.atomic():
        places = Project.objects.bulk_create(Project(name=f"Street {n:03}") for n in range(projects))
        users = User.objects.bulk_create(
            User(username=f"person{n:05}", email=f"p{n}@example.org", password="!") for n in range(count)
        )
        Membership.objects.bulk_create(
            Membership(user=user, project=places[(n + turn) % projects], role="member")
            for n, user in enumerate(users)
            for turn in (0, 7)
        )


def audit(project: str, user: str, count: int) -> None:
    """Audit records, every second one of another project."""
    from vetro.server.audit.models import AuditRecord

    for start in range(0, count, 5000):
        AuditRecord.objects.bulk_create(
            AuditRecord(
                project_id=project if n % 2 else uuid.UUID(int=n % 50).hex, user_id=user, user_name="ann",
                action="environment.deploy", target_id=uuid.UUID(int=n).hex, target_name=f"Fair {n}",
                details={"task": uuid.UUID(int=n).hex},
            )
            for n in range(start, min(start + 5000, count))
        )  # fmt: skip


def main() -> None:
    """Of the service that the settings name."""
    from vetro.server.setup import setup

    setup()
    print(large(sys.argv[1], sys.argv[2], int(sys.argv[3]), 1))


if __name__ == "__main__":
    main()
