"""A question about impact takes no more than a project may have, and no package takes from the neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.server.impact import hostile
from tests.server.impact.fleet import DEPLOY, HEAD, SERVER, archive, environment, shop
from tests.server.impact.test_service import asked, counted, stored, texts
from tests.support.fuzzing import EVERYTHING
from vetro.engine.task.launcher import Launcher
from vetro.server import sandboxed_workers
from vetro.server.catalog import blobs, garbage
from vetro.server.catalog.imports import import_packages
from vetro.server.impact import planner, service, tasks
from vetro.server.impact.models import ARCHIVE_DAYS, Entry, Impact, PlanCache
from vetro.server.quotas import enforcement, limits
from vetro.server.quotas.errors import QuotaBusy
from vetro.server.quotas.usage import used
from vetro.server.setup import config
from vetro.server.tasks import clock
from vetro.server.tasks.models import Task

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_known() -> None:
    limits.forget()
    enforcement.forget()


@pytest.fixture
def market(ann: Any, drain: Callable[..., Any], cloud: Path) -> str:
    """An environment of version 1.0.0."""
    import_packages(ann.caller, [archive("1.0.0")])
    return environment(ann.caller, drain, "market", shop(1))


def send(person: Any, version: str, text: str | None = None) -> Any:
    file = SimpleUploadedFile("a.zip", archive(version, text), "application/zip")
    return person._client.post("/v2/packages/impact", {"archive": file})


def kept() -> set[str]:
    return {name for name, _ in blobs.store().listed()}


# -- what is kept --


def test_of_a_refused_question_nothing_is_kept(ann: Any, eve: Any, root: Any, market: str) -> None:
    before = kept()
    assert send(eve, "1.1.0").status_code == 400  # nobody in that project uses it
    assert send(ann, "0.9.0", HEAD + DEPLOY).status_code == 400  # nobody uses a lower version
    root.patch("/v2/admin/projects/demo/quotas", {"quotas": {"archives": 0}})
    answer = send(ann, "1.1.0")
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "SRV551")
    root.patch("/v2/admin/projects/demo/quotas", {"quotas": {"archives": -1, "tasks": 0}})
    answer = send(ann, "1.1.0")
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "SRV552")
    assert kept() == before and not Impact.objects.exists() and not Task.objects.filter(kind="plans").exists()


@pytest.mark.campaign
def test_archives_of_questions_count_until_they_go(ann: Any, market: str, drain: Callable[..., Any]) -> None:
    project = ann.caller.project_id
    before, size = used(project, "archives"), len(archive("1.1.0"))
    for _ in range(2):
        assert send(ann, "1.1.0").status_code == 202
    assert used(project, "archives") == before + size  # it is kept once
    (digest,) = set(Impact.objects.values_list("digest", flat=True))
    drain()
    now = clock.read()
    service.forget(now + timedelta(days=ARCHIVE_DAYS - 1))
    assert used(project, "archives") == before + size and digest in garbage.used()
    Impact.objects.update(created=now - timedelta(days=ARCHIVE_DAYS + 1))
    service.forget(now)
    assert used(project, "archives") == before and digest not in garbage.used()
    assert Impact.objects.count() == 2  # what was found out stays

    assert send(ann, "1.2.0").status_code == 202
    import_packages(ann.caller, [archive("1.2.0")])  # of the catalog from now on, and not twice
    assert used(project, "archives") == before + len(archive("1.2.0"))


@pytest.mark.campaign
def test_a_project_asks_some_questions_at_once(
    ann: Any, eve: Any, market: str, drain: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_RUNNING", 2)
    monkeypatch.setattr(service, "MOST_KEPT", 3)
    for version in ("1.0.1", "1.1.0"):
        assert send(ann, version).status_code == 202
    answer = send(ann, "2.0.0")
    assert (answer.status_code, answer.json()["error"]["hint"]) == (429, "ask again when one of them has ended")
    import_packages(eve.caller, [archive("1.0.0")])
    environment(eve.caller, lambda: drain(most=3), "theirs", shop(2))
    assert send(eve, "1.1.0").status_code == 202  # others are not held up
    drain()
    for version in ("1.0.1", "1.1.0"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(service, "MOST_RUNNING", 9)
            service.start(ann.caller, stored(version))
    mine = Impact.objects.filter(project_id=ann.caller.project_id)
    assert mine.count() == 3 and Impact.objects.exclude(project_id=ann.caller.project_id).count() == 1
    with pytest.raises(QuotaBusy):
        service.start(ann.caller, stored("1.1.0"))


def test_very_many_environments_are_a_bounded_number_of_tasks(
    ann: Any, market: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "environments", lambda *_, **__: [(f"e{n:031d}", "p") for n in range(10_000)])
    service.start(ann.caller, stored("1.1.0"))
    assert Task.objects.filter(kind="plans").count() == service.MOST_TASKS
    assert Entry.objects.count() == 10_000


@pytest.mark.campaign
def test_of_plans_only_so_many_bytes_are_kept(
    ann: Any, market: str, drain: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(ann.caller, drain, "second", shop(2))
    room = len(str(service.plan(ann.caller, asked(ann, drain, stored("1.1.0"))["id"], market)["new"]))
    monkeypatch.setattr(tasks, "MOST_TOGETHER", room * 2)
    found = asked(ann, drain, stored("1.1.0"))
    (group,) = found["groups"]
    assert (group["group"], sorted(one["plan"] for one in group["environments"])) == ("changes", [False, True])
    assert PlanCache.objects.count() == 2  # of each environment that of its newest state


@pytest.mark.campaign
def test_what_has_no_time_left_is_told_so(
    ann: Any, market: str, drain: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SECONDS_EACH", 0.0)
    found = asked(ann, drain, stored("1.1.0"))
    assert counted(found) == {"skipped": 1} and texts(found, "skipped") == ["there was no time left for it"]


# -- packages that do what they can --


@pytest.fixture
def strangers(cloud: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Processes in which an environment may do what it likes (`tests.server.impact.hostile`)."""
    monkeypatch.setattr(planner, "SECONDS", 4.0)
    monkeypatch.setattr(planner, "_PROCESSORS", 1)
    launcher = Launcher(
        cache=sandboxed_workers.compiled_folder(config()),
        answering=("plans=tests.server.impact.hostile:answering",),
        path=(str(Path(__file__).parents[3]),),
    )
    monkeypatch.setattr(sandboxed_workers, "planner", lambda: launcher)
    monkeypatch.setattr(tasks.os, "cpu_count", lambda: 1)  # all in one process, as far as it lives
    yield
    launcher.close()


@pytest.mark.attack("quotas", "impact")
def test_whoever_leaves_the_language_only_spoils_the_own_row(
    strangers: None, ann: Any, drain: Callable[..., Any]
) -> None:
    import_packages(ann.caller, [archive("1.0.0")])
    modes = hostile.MODES if EVERYTHING else ("forks", "dies", "lies")  # the others take their time
    names = [*modes, "good"]
    for number, mode in enumerate(names):
        environment(ann.caller, drain, f"a {mode}", shop(2 * number + 1, text=mode))
        environment(ann.caller, drain, f"b {mode}", shop(2 * number + 2, text="honest"))
    impact = service.start(ann.caller, stored("1.1.0"))
    drain()
    groups = {
        one["name"]: group["group"]
        for group in service.describe(ann.caller, impact)["groups"]
        for one in group["environments"]
    }
    assert len(groups) == 2 * len(names)
    assert {name: groups[f"b {name}"] for name in names} == dict.fromkeys(names, "changes")
    assert groups["a good"] == "changes"
    assert {groups[f"a {mode}"] for mode in modes} <= {"skipped", "fails"}, groups


@pytest.mark.campaign  # the walls of test_whoever_leaves_the_language_only_spoils_the_own_row
@pytest.mark.attack("quotas", "impact")
def test_an_endless_package_is_stopped_where_it_is(ann: Any, market: str, drain: Callable[..., Any]) -> None:
    environment(ann.caller, drain, "endless", shop(2, text="fragile"))
    loop = "      - If: $.text = fragile\n        Then:\n          - While: 1 > 0\n            Do: [$x: 1]\n"
    found = asked(ann, drain, stored("1.1.0", HEAD + DEPLOY.replace(SERVER, SERVER + loop)))
    assert counted(found) == {"skipped": 1, "same": 1}
    (text,) = texts(found, "skipped")
    assert text.startswith("test.shop 1.1.0: Classes/Shop.yaml:") and "steps" in text


@pytest.mark.attack("quotas", "impact")
def test_a_huge_plan_is_not_taken(ann: Any, market: str, drain: Callable[..., Any]) -> None:
    environment(ann.caller, drain, "huge", shop(2, text="fragile"))
    many = """\
      - If: $.text = fragile
        Then:
          - $stack: $.find(std:Environment).stack
          - $stack.updateTemplate(dict(resources => dict(range(20000).select(
              [concat('r', str($), 'x' * 200), dict(type => 'OS::Heat::RandomString')]))))
          - $stack.push()
"""
    found = asked(ann, drain, stored("1.1.0", HEAD + DEPLOY.replace(SERVER, SERVER + many)))
    groups = counted(found)
    assert groups.pop("same") == 1 and sum(groups.values()) == 1, groups
    assert set(groups) <= {"skipped", "fails"}
