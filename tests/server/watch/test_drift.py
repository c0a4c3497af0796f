"""What of an environment is not as its last task left it: what is kept of lists of its cloud, and what is told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.server.watch.world import PRETENDED, app, instance, made, working
from vetro.server.api.answers import environments as answers
from vetro.server.audit.models import AuditRecord
from vetro.server.caller import SYSTEM
from vetro.server.catalog.models import RetiredVersion
from vetro.server.environments import queries
from vetro.server.environments.errors import NotYours
from vetro.server.environments.models import Environment, EnvironmentPackage, Session
from vetro.server.errors import Conflict, Invalid, NotFound
from vetro.server.tasks import clock
from vetro.server.tasks.models import Task
from vetro.server.watch import drift, repair
from vetro.server.watch.models import Inventory

pytestmark = pytest.mark.django_db

STACKS = {"web": "1", "net": "2"}


def shop(ann: Any, **more: Any) -> Environment:
    row = made(ann, app("a", instance("i"), instance("j", "db")), **more)
    return row


def note(row: Environment, stacks: dict[str, str] | None = None, number: int = 1, **states: str) -> None:
    """What the cloud has; without a word all runs."""
    names = {"c-i": "web", "c-j": "db"} | {id: id for id in states if not id.startswith("c_")}
    wanted = {"c-i": "ACTIVE", "c-j": "ACTIVE"} | {id.replace("c_", "c-"): state for id, state in states.items()}
    servers = {id: [names[id], state] for id, state in wanted.items() if state}
    drift.note([{"id": row.id, "number": number, "stacks": stacks or STACKS, "servers": servers}])


def of(row: Environment) -> drift.Drift:
    return drift.of(queries.get(SYSTEM, row.id, model=True))


def told(row: Environment) -> list[str]:
    found = of(row)
    assert found.text == ""
    return [item.text for item in found.items]


def test_nobody_knows_before_anybody_has_looked(ann: Any) -> None:
    row = shop(ann)
    assert of(row) == drift.Drift((), None, "nobody has looked at it yet")
    note(row)
    assert told(row) == [] and of(row).looked is not None


def test_servers_that_are_gone_ended_or_stopped_by_nobody_here(ann: Any) -> None:
    row = shop(ann)
    note(row)
    note(row, c_i="", c_j="ERROR")
    assert told(row) == ["server 'web' is gone", "server 'db' has ended by itself"]
    note(row, c_i="SHUTOFF", c_j="SHUTOFF")
    Environment.objects.filter(id=row.id).update(stopped={"c-i": {"by": "ann", "at": ""}})
    assert told(row) == ["server 'db' is stopped, and nobody here stopped it"]
    note(row, c_j="UNKNOWN", other="ACTIVE")
    assert told(row) == [
        "server 'db': its machine does not answer",
        "server 'other' is in the cloud, and nobody here made it",
    ]
    assert [item.repaired for item in of(row).items] == [False, False]


def test_a_server_that_was_gone_at_the_first_look_is_told_by_the_model(ann: Any) -> None:
    row = shop(ann)
    note(row, c_i="")
    assert told(row) == ["server 'web' is gone"]


def test_stacks_that_somebody_changed_removed_or_made(ann: Any) -> None:
    row = shop(ann)
    note(row)
    note(row, {"web": "3", "mine": "4"})
    assert told(row) == [
        "stack 'web' is not as it was pushed: somebody has changed it",
        "stack 'net' is gone",
        "stack 'mine' is in the cloud, and nobody here made it",
    ]
    # What the next task leaves is how it is to be.
    Environment.objects.filter(id=row.id).update(version=2)
    assert of(row).text == "nobody has looked at it yet"
    note(row, {"web": "3", "mine": "4"}, number=1)
    assert of(row).looked is None
    note(row, {"web": "3", "mine": "4"}, number=2)
    assert told(row) == []


def test_a_cloud_that_is_away_is_not_all_servers_missing(ann: Any) -> None:
    row = shop(ann)
    drift.note([{"id": row.id, "number": 1, "trouble": "no route to host"}])
    assert of(row).text == "the cloud does not answer: no route to host"
    note(row)
    note(row, c_i="ERROR")
    drift.note([{"id": row.id, "number": 1, "trouble": "no route to host"}])
    found = of(row)
    assert (found.items, found.text) == ((), "the cloud does not answer: no route to host")
    assert found.looked is not None
    note(row, c_i="ERROR")
    assert told(row) == ["server 'web' has ended by itself"]


def test_what_was_seen_long_ago_says_nothing(ann: Any) -> None:
    row = shop(ann)
    note(row, c_i="ERROR")
    Inventory.objects.update(looked=clock.read() - timedelta(seconds=drift.STALE + 1))
    assert (of(row).items, of(row).text) == ((), "nobody looks: no worker that reaches it lives")


def test_what_is_simulated_or_new_has_no_cloud_to_drift(ann: Any) -> None:
    assert "nothing of it exists" in of(made(ann, cloud=PRETENDED)).text
    row = made(ann, name="new")
    Environment.objects.filter(id=row.id).update(version=0)
    assert of(row).text == "nothing of it is deployed"


def test_packages_out_of_the_catalog_and_drafts_too_old(ann: Any) -> None:
    row = shop(ann)
    note(row)
    for fqn, digest in (("test.gone", "g" * 64), ("test.own", "o" * 64)):
        EnvironmentPackage.objects.create(environment=row, fqn=fqn, version="1.0", digest=digest)
    RetiredVersion.objects.create(project_id=row.project_id, fqn="test.gone", version="1.0", digest="g" * 64)
    RetiredVersion.objects.create(project_id=row.project_id, fqn="test.own", version="1.0", digest="x" * 64)
    draft = {"Objects": {}}
    Session.objects.create(environment=row, user_id="ann", version=0, revision=1, draft=draft)
    Session.objects.create(environment=row, user_id="ann", version=0)
    Session.objects.create(environment=row, user_id="ann", version=0, revision=2)  # its changes were taken back
    Session.objects.create(environment=row, user_id="ann", version=1, revision=1, draft=draft)
    kinds = [(item.kind, item.repaired) for item in of(row).items]
    assert kinds == [("package-missing", False), ("draft-older", False)]
    assert told(row)[0] == "package test.gone 1.0 was taken out of the catalog"


def test_a_row_that_no_key_opens_is_written_anew(ann: Any) -> None:
    """The watcher read it to write it, and ended."""
    row, other = shop(ann), shop(ann, name="other")
    note(row)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {Inventory._meta.db_table} SET first = %s, last = %s", [b"rubbish", b"rubbish"])
    note(row, number=1, c_i="ERROR")
    Environment.objects.filter(id=row.id).update(version=2)
    note(row, number=2)
    note(other)
    assert (told(row), told(other)) == ([], [])


def test_environments_that_are_as_before_cost_one_statement_for_all(ann: Any) -> None:
    rows = [shop(ann, name=f"e{number}") for number in range(20)]
    items = [{"id": row.id, "number": 1, "stacks": STACKS, "servers": {}} for row in rows]
    drift.note(items)
    with CaptureQueriesContext(
        connection,
    ) as found:
        drift.note(items)
    writes = [query["sql"] for query in found if query["sql"].startswith(("UPDATE", "INSERT"))]
    assert len(writes) == 1


def test_the_answer_and_other_projects(ann: Any, eve: Any) -> None:
    row = shop(ann)
    note(row)
    note(row, c_i="ERROR")
    found = answers.show_drift(ann.caller, row.id)
    item = {"kind": "server-ended", "id": "c-i", "text": "server 'web' has ended by itself", "repaired": True}
    assert (found["items"], found["text"], found["repair"]) == ([item], "", "propose")
    with pytest.raises(NotFound):
        answers.show_drift(eve.caller, row.id)
    with pytest.raises(NotYours):
        repair.choose(eve.caller, row.id, "auto")
    with pytest.raises(NotFound):
        answers.repair_environment(eve.caller, row.id)


# -- repairs that nobody asked for -------------------------------------------------------------------------------------


def started(row: Environment) -> list[set[str]]:
    tasks = Task.objects.filter(environment_id=row.id, kind="power").order_by("created")
    return [{server["id"] for step in task.spec["power"] for server in step["servers"]} for task in tasks]


def free(row: Environment) -> None:
    Task.objects.filter(environment_id=row.id).update(state="done")


@pytest.fixture
def broken(ann: Any) -> Environment:
    row = shop(ann)
    repair.choose(ann.caller, row.id, "auto")
    note(row)
    note(row, c_i="ERROR")
    return row


def test_what_does_not_run_is_started_where_that_is_wanted(ann: Any, broken: Environment) -> None:
    repair.unasked([broken.id])
    assert started(broken) == [{"c-i"}]
    repair.unasked([broken.id])  # it is being done
    assert len(started(broken)) == 1
    assert AuditRecord.objects.filter(action="environment.change").exists()
    with pytest.raises(Invalid):
        repair.choose(ann.caller, broken.id, "always")


def test_three_times_a_day(broken: Environment) -> None:
    for _ in range(5):
        repair.unasked([broken.id])
        free(broken)
    assert len(started(broken)) == 3
    Task.objects.update(created=clock.read() - timedelta(days=1, seconds=1))
    repair.unasked([broken.id])
    assert len(started(broken)) == 4


@pytest.mark.parametrize("why", ["propose", "off", "stopped", "draft", "work", "failed", "away", "gone", "version"])
def test_when_nothing_is_started(ann: Any, broken: Environment, why: str) -> None:
    row = Environment.objects.filter(id=broken.id)
    if why in ("propose", "off"):
        repair.choose(ann.caller, broken.id, why)
    elif why == "stopped":
        note(broken, c_i="SHUTOFF")
        row.update(stopped={"c-i": {"by": "ann", "at": ""}})
    elif why == "draft":
        Session.objects.create(environment=broken, user_id="ann", version=1, revision=1)
    elif why == "work":
        row.update(task_id=working(broken, "running").id)
    elif why == "failed":
        row.update(failure=Session.FAILED)
    elif why == "away":
        drift.note([{"id": broken.id, "number": 1, "trouble": "away"}])
    elif why == "gone":
        note(broken, c_i="")
    elif why == "version":
        row.update(version=2)
    repair.unasked([broken.id])
    assert started(broken) == []


def test_what_breaks_one_repair_keeps_no_other_back(ann: Any, broken: Environment, monkeypatch: Any) -> None:
    """The watcher ended, for all environments."""
    other = shop(ann, name="other")
    repair.choose(ann.caller, other.id, "auto")
    note(other)
    note(other, c_i="ERROR")
    read = drift.of

    def of(found: Any) -> drift.Drift:
        if found.id == broken.id:
            raise AttributeError("'int' object has no attribute 'startswith'")
        return read(found)

    monkeypatch.setattr(drift, "of", of)
    repair.unasked([broken.id, other.id])
    assert (started(broken), started(other)) == ([], [{"c-i"}])


def test_what_was_left_unfinished_is_not_repaired(ann: Any) -> None:
    row = shop(ann)
    Environment.objects.filter(id=row.id).update(failure=Session.FAILED)
    with pytest.raises(Conflict, match="did not leave it whole"):
        repair.repaired(ann.caller, row.id)
    Environment.objects.filter(id=row.id).update(failure="", version=0)
    with pytest.raises(Conflict, match="is deployed"):
        repair.planned(ann.caller, row.id)
