"""Who watches, what the process is told, and what becomes of what it says."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from tests.server.watch.world import (
    PRETENDED,
    app,
    component,
    instance,
    made,
    round_of,
    states,
    watched,
    whole,
    working,
)
from vetro.engine.watching.states import State
from vetro.server.environments.models import Environment
from vetro.server.setup import config
from vetro.server.tasks import clock, members
from vetro.server.tasks.models import Task, WorkerProcess
from vetro.server.watch import queries, service, target_reader, watcher
from vetro.server.watch.models import Health, WatchMark
from vetro.server.watch.prober import Prober
from vetro.server.watch.watcher import leads

pytestmark = pytest.mark.django_db


def test_the_first_worker_that_lives_watches_for_each_label(ann: Any) -> None:
    first, second = members.join([]), members.join([])
    assert (leads(config(), first), leads(config(), second)) == ({""}, set())
    WorkerProcess.objects.filter(id=first.id).update(seen=clock.read() - timedelta(seconds=31))
    assert (leads(config(), first), leads(config(), second)) == (set(), {""})
    members.beat(first)
    WorkerProcess.objects.filter(id=first.id).update(draining=True)
    assert leads(config(), second) == {""}
    WorkerProcess.objects.all().delete()
    far, near = members.join(["far"]), members.join(["near"])
    made(ann, region="near")
    assert leads(config(), far) == {"", "far"} and leads(config(), near) == {"near"}


def test_a_round_tells_the_process_what_there_is_and_writes_what_it_says(ann: Any, watching: Any) -> None:
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    (process,) = processes
    cloud, put = process.told()
    assert (
        cloud["t"] == "cloud" and cloud["settings"]["kind"] == "proot" and cloud["key"] == put["environment"]["cloud"]
    )
    assert put["environment"]["owner"] == {"project": row.project_id, "environment": row.id, "user": "system"}
    assert [one["servers"] for one in put["environment"]["components"]] == [[{"id": "c-i", "name": "web"}]]
    process.say({"t": "changes", "environments": [{"id": row.id, "number": 1, "components": [component("a", "down")]}]})
    round_of(watch)
    told = queries.of_environment(row.id)
    assert told is not None and told.state is State.DOWN
    round_of(watch)
    assert process.told() == []  # nothing is told twice


def test_what_packages_are_asked_is_answered_and_given_up_when_a_task_begins(
    ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, given_up, ended = made(ann, app("a", instance("i"))), list[Any](), threading.Event()
    watch, processes = watching()
    round_of(watch)
    (process,) = processes
    process.told()

    def ask(self: Prober, question: Mapping[str, Any], results: dict[str, Any]) -> None:
        results["k"] = {"state": "running", "text": ""}
        assert ended.wait(60)

    monkeypatch.setattr(Prober, "ask", ask)
    question = {"id": row.id, "number": 1, "checks": [{"key": "k"}]}
    process.say({"t": "questions", "environments": [question]})
    round_of(watch)
    assert process.told() == []
    give_up = Prober.give_up
    monkeypatch.setattr(Prober, "give_up", lambda self, *ids: (given_up.append(ids), give_up(self, *ids)))
    task = working(row, "running")
    round_of(watch)
    assert given_up == [((row.id,),)]
    process.say({"t": "questions", "environments": [question]})  # while the first one has not ended
    round_of(watch)
    round_of(watch)
    (refused,) = [told for told in process.told() if told["t"] == "answers"]
    assert refused["results"] == {}
    task.delete()
    ended.set()
    for _ in range(1000):
        round_of(watch)
        if told := [told for told in process.told() if told["t"] == "answers"]:
            break
        time.sleep(0.01)
    assert (told[0]["id"], told[0]["number"], list(told[0]["results"])) == (row.id, 1, ["k"])


def test_while_a_task_works_on_it_nothing_is_told_and_afterwards_it_is_looked_at_anew(ann: Any, watching: Any) -> None:
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    (process,) = processes
    process.told()
    task = working(row, Task.RUNNING)
    process.say({"t": "changes", "environments": [{"id": row.id, "number": 1, "components": [component("a", "down")]}]})
    round_of(watch)
    assert process.told() == [{"t": "drop", "ids": [row.id]}]
    assert states(row) == ["unknown"]
    Task.objects.filter(id=task.id).update(state="done")
    round_of(watch)
    assert [message["t"] for message in process.told()] == ["put"]


def test_a_process_that_ended_or_says_nothing_is_started_again_and_nothing_is_believed(
    ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vetro.engine.worker.ports import HostUnavailable

    made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    processes[0].theirs.shutdown(socket.SHUT_RDWR)
    with pytest.raises(HostUnavailable, match="has ended"):
        round_of(watch)
    watch._end()
    round_of(watch)
    monkeypatch.setattr(watcher, "SILENT", 0.0)
    WatchMark.objects.all().delete()
    with pytest.raises(HostUnavailable, match="says nothing"):
        round_of(watch)
    assert len(processes) == 2 and not WatchMark.objects.exists()


def test_who_watches_no_more_writes_no_more(ann: Any, watching: Any) -> None:
    row = made(ann, app("a", instance("i")))
    first, processes = watching()
    second, others = watching()
    round_of(first)
    round_of(second)
    assert len(processes) == 1 and others == []
    WorkerProcess.objects.filter(id=first._member.id).update(seen=clock.read() - timedelta(seconds=60))
    say = {"t": "changes", "environments": [{"id": row.id, "number": 1, "components": [component("a", "running")]}]}
    processes[0].say(say)
    first._next["lead"] = float("inf")  # it has not noticed yet
    round_of(first)
    assert states(row) == ["unknown"]
    round_of(second)
    assert len(others) == 1
    others[0].say(say)
    round_of(second)
    assert [one.told.state for one in queries.components(row.id, None, None)] == [State.RUNNING]
    assert not processes[0].alive


def test_what_is_simulated_is_not_asked(ann: Any, watching: Any) -> None:
    made(ann, app("a", instance("i")), cloud=PRETENDED)
    watch, processes = watching()
    round_of(watch)
    assert processes == [] and Health.objects.filter(state="").count() == 1


def test_the_next_watcher_hears_what_was_told_before(ann: Any, watching: Any) -> None:
    row = made(ann, app("a", instance("i")))
    watched(row)
    failing = {"key": "k", "name": "page", "state": "down", "text": "x", "reached": True}
    service.record([(row.id, 1, [component("a", "down", "x", [failing])])], "")
    watch, processes = watching()
    round_of(watch)
    _, put = processes[0].told()
    assert put["environment"]["components"][0]["was"] == {"k": ["down", True, {"text": "x"}]}


def test_who_takes_over_after_an_outage_is_handed_nothing_and_believes_nothing_until_it_was_told(
    ann: Any, watching: Any
) -> None:
    """The label was believed again in the first round, and what was running an hour ago was green at once."""
    row = made(ann, app("a", instance("i")), app("b", instance("j")))
    watched(row)
    well = {"key": "k", "name": "page", "state": "running", "text": "", "reached": True}
    service.record([(row.id, 1, [component(id, "running", "", [well]) for id in "ab"])], "")
    assert whole(row) == "running"
    WatchMark.objects.update(until=clock.read() - timedelta(seconds=1))
    watch, processes = watching()
    round_of(watch)
    round_of(watch)
    assert (whole(row), states(row)) == ("unknown", ["unknown", "unknown"])
    _, put = processes[0].told()
    assert [one["was"] for one in put["environment"]["components"]] == [{}, {}]

    def say(id: str) -> None:
        told = [component(id, "running")]
        processes[0].say({"t": "changes", "environments": [{"id": row.id, "number": 1, "components": told}]})
        round_of(watch)
        watch._next["mark"] = 0.0
        round_of(watch)

    say("a")
    assert (whole(row), states(row)) == ("unknown", ["running", "unknown"])
    say("b")
    assert (whole(row), states(row)) == ("running", ["running", "running"])


def test_what_is_to_be_looked_at_anew_is_believed_for_a_moment_only(ann: Any, watching: Any) -> None:
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    processes[0].say(
        {"t": "changes", "environments": [{"id": row.id, "number": 1, "components": [component("a", "running")]}]}
    )
    round_of(watch)
    watch._next["mark"] = 0.0
    round_of(watch)
    assert whole(row) == "running"
    service.retarget(row.id, watch._mark, ["a"])  # as after a deployment
    assert whole(row) == "running"
    WatchMark.objects.exclude(label=watch._mark).update(until=clock.read() - timedelta(seconds=1))
    assert (whole(row), states(row)) == ("unknown", ["unknown"])


@pytest.mark.attack("quotas", "H3")
def test_what_cannot_be_read_of_one_environment_holds_nobody_else_up(
    ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class of another package called io.vetro.lifecycle.Health gave values without types: all watching ended."""
    bad, good = made(ann, app("a", instance("i")), name="bad"), made(ann, app("a", instance("i")), name="good")
    watched(bad)
    service.record([(bad.id, 1, [component("a", "running")])], "")
    watch, processes = watching()
    read = watch._reader.components

    def components(row: Environment) -> Any:
        if row.id == bad.id:
            raise AttributeError("'int' object has no attribute 'startswith'")
        return read(row)

    monkeypatch.setattr(watch._reader, "components", components)
    for _ in range(2):
        round_of(watch)
    assert [m["environment"]["id"] for m in processes[0].told() if m["t"] == "put"] == [good.id]
    assert (whole(bad), states(bad)) == ("unknown", ["unknown"])


@pytest.mark.attack("database", "H2")
def test_what_the_database_refuses_of_one_environment_is_unknown_and_the_others_are_written(
    ann: Any, watching: Any
) -> None:
    """One id was enough that the health of nobody was written any more."""
    bad, good = made(ann, app("a", instance("i")), name="bad"), made(ann, app("a", instance("i")), name="good")
    watch, processes = watching()
    round_of(watch)
    (process,) = processes

    def say(*parts: dict[str, Any]) -> None:
        told = [{"id": row.id, "number": 1, "components": list(parts[:n])} for n, row in ((1, good), (2, bad))]
        process.say({"t": "changes", "environments": told})
        round_of(watch)
        watch._next["mark"] = 0.0
        round_of(watch)

    say(component("a", "running"))
    assert (whole(bad), whole(good)) == ("running", "running")
    say(component("a", "down"), component("half \ud800", "down"))
    assert (whole(bad), states(bad), whole(good)) == ("unknown", ["unknown"], "down")


def test_nothing_is_believed_on_while_nothing_can_be_written(
    ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)

    def fails(*args: Any) -> Any:
        raise OperationalError("no database")

    monkeypatch.setattr(service, "record", fails)
    monkeypatch.setattr(watcher, "_COLLECT", 60.0)
    WatchMark.objects.all().delete()
    processes[0].say(
        {"t": "changes", "environments": [{"id": row.id, "number": 1, "components": [component("a", "down")]}]}
    )
    with pytest.raises(OperationalError):
        round_of(watch)
    watch._next["mark"] = 0.0
    round_of(watch)
    assert watch._told and not WatchMark.objects.exists()


def test_reports_that_came_too_early_or_too_late_are_asked_for_again(ann: Any, watching: Any) -> None:
    """They were thrown away: what had been told before stayed for ever."""
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    (process,) = processes
    process.told()
    watch._next["targets"] = float("inf")
    task = working(row, Task.RUNNING)
    say = {"t": "changes", "environments": [{"id": row.id, "number": 1, "components": [component("a", "down")]}]}
    process.say(say)
    round_of(watch)
    assert [message["t"] for message in process.told()] == ["drop"]
    Task.objects.filter(id=task.id).update(state="done")
    watch._next["targets"] = 0.0
    round_of(watch)
    assert [message["t"] for message in process.told()] == ["put"]
    process.say(say)
    watch._led = {"", "for a moment"}
    watch._next["lead"] = float("inf")
    round_of(watch)
    assert not process.alive and not watch._told and not watch._watched
    watch._led, watch._next["lead"] = None, 0.0
    round_of(watch)
    assert [message["t"] for message in processes[1].told()] == ["cloud", "put"]


@pytest.mark.parametrize(
    ("state", "lease", "rests"),
    [(Task.RUNNING, 60, True), (Task.RUNNING, -60, False), (Task.QUEUED, 60, False), (Task.NEEDS_PERSON, 60, False)],
)
def test_only_a_task_that_runs_keeps_the_watcher_off(
    ann: Any, watching: Any, state: str, lease: float, rests: bool
) -> None:
    """An environment was green for weeks while its task waited for a person."""
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    processes[0].told()
    working(row, state, lease)
    round_of(watch)
    assert processes[0].told() == ([{"t": "drop", "ids": [row.id]}] if rests else [])


def test_an_environment_whose_checks_cannot_be_read_is_unknown_until_they_can(
    ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None were kept in their place: what the author checks was green by its servers."""
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    answers: list[Any] = [None, {}]
    monkeypatch.setattr(watch._reader, "_asked", lambda *args: answers.pop(0))
    monkeypatch.setattr(target_reader.packages, "uses", lambda id, package: package == "io.vetro")

    def say(state: str) -> tuple[str, list[str]]:
        told = [{"id": row.id, "number": 1, "components": [component("a", state)]}]
        processes[0].say({"t": "changes", "environments": told})
        round_of(watch)
        watch._next["mark"] = 0.0
        round_of(watch)
        return whole(row), states(row)

    round_of(watch)
    assert say("running") == ("unknown", ["unknown"])
    assert say("down") == ("down", ["down"])
    assert len(answers) == 1  # it is not read again at once
    watch._later.clear()
    round_of(watch)
    assert answers == [] and say("running") == ("running", ["running"])
