"""When which probe is made: projects take turns, and nobody is asked who should not be."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from tests.engine.watching.world import Cloud, Door, Run, check, environment
from vetro.engine.watching import probe_schedule, probes
from vetro.engine.watching.watch import Watch


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 abc\r\n", b"x" * 200_000, b"HTTP/1.1 9999 x\r\n"])
def test_what_is_no_answer_is_not_well(cloud: Cloud, run: Run, door: Door, answer: bytes) -> None:
    cloud.server("s1")
    door.answer = answer
    run.put(environment(checks=[check(door.port)]))
    run.until("down", text="does not speak HTTP")


def test_addresses_in_properties_are_asked_where_they_are_its_own(cloud: Cloud, run: Run, door: Door) -> None:
    stranger = Door()
    cloud.server("s1", address="127.0.0.2")
    own = socket.create_server(("127.0.0.2", 0))
    port = own.getsockname()[1]
    guesses = [
        {"name": f"{kind}://{at}:{n}", "kind": kind, "address": at, "port": n, "path": "/", "on": "s1"}
        for kind, at, n in (("http", "127.0.0.1", stranger.port), ("tcp", "127.0.0.2", port))
    ]
    run.put(environment(guesses=guesses))
    run.until("running")
    for _ in range(500):
        reached = [c["name"] for c in run.told["e1", "app"]["checks"] if c["reached"]]
        if reached:
            break
        time.sleep(0.01)
    assert reached == [f"tcp://127.0.0.2:{port}"]
    own.close()
    run.until("degraded")
    assert stranger.asked == []
    stranger.close()


def test_of_one_environment_few_are_asked_at_once_and_others_are_not_held_up(
    cloud: Cloud, run: Run, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Door()
    slow.slow = 4.0
    cloud.server("s1")
    run.put(environment("hog", checks=[check(slow.port, name=f"c{n}") for n in range(40)]))
    run.put(environment("e1", checks=[check(door.port)]))
    run.until("running")
    for _ in range(500):
        if slow.most >= probe_schedule.OPEN_EACH:
            break
        time.sleep(0.01)
    time.sleep(0.3)
    # On a busy machine the other side still holds some that were given up.
    assert probe_schedule.OPEN_EACH <= slow.most <= 2 * probe_schedule.OPEN_EACH
    slow.close()


def test_an_environment_that_is_dropped_is_asked_no_more(cloud: Cloud, run: Run, door: Door) -> None:
    cloud.server("s1")
    run.put(environment(checks=[check(door.port)]))
    run.until("running")
    assert run.watch is not None
    run.call(run.watch.drop, ["e1"])
    time.sleep(0.3)
    count = len(door.asked)
    time.sleep(0.3)
    assert len(door.asked) == count


@pytest.mark.attack("networks", "probes of the host's own networks")
def test_a_tenants_server_with_an_address_of_the_host_is_not_asked(cloud: Cloud, quick: None, door: Door) -> None:
    """As the cloud believes it is reachable and the kernel knows better: the rule is the service's own here."""
    cloud.server("s1")
    with Run(cloud, probes.allowed).going() as run:
        run.put(environment(checks=[check(door.port)]))
        run.until("down", text="has no address that can be reached from here")
    assert door.asked == []


def test_nobody_is_asked_while_the_cloud_does_not_answer(cloud: Cloud, run: Run, door: Door) -> None:
    """Its addresses may be somebody else's by then."""
    cloud.server("s1")
    run.put(environment(checks=[check(door.port)]))
    run.until("running")
    cloud.trouble = "away"
    run.until("unknown", text="the cloud does not answer")
    time.sleep(0.2)
    count = len(door.asked)
    time.sleep(0.4)
    assert len(door.asked) == count
    cloud.trouble = ""
    run.until("running")


def test_what_is_watched_anew_is_asked_on(cloud: Cloud, run: Run, door: Door) -> None:
    """A check that is the same after a deployment keeps its result, and its turns."""
    cloud.server("s1")
    for number in range(1, 4):
        run.put(environment(number=number, checks=[check(door.port, every=0.1)]))
        run.until("running")
        count = len(door.asked)
        for _ in range(500):
            if len(door.asked) > count + 2:
                break
            time.sleep(0.01)
        assert len(door.asked) > count + 2


@pytest.mark.attack("quotas", "probes")
def test_projects_take_turns(cloud: Cloud, run: Run, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """One with many environments of slow servers has its share and no more."""
    monkeypatch.setattr(probe_schedule, "OPEN", 12)
    monkeypatch.setattr(probe_schedule, "OPEN_PROJECT", 5)
    slow = Door()
    slow.slow = 4.0
    cloud.server("s1")
    for number in range(6):
        put = environment(f"hog{number}", checks=[check(slow.port, name=f"c{n}") for n in range(40)])
        run.put(put | {"owner": {"project": "hog", "environment": f"hog{number}"}})
    for _ in range(500):
        if slow.most >= 5:
            break
        time.sleep(0.01)
    run.put(environment("e1", checks=[check(door.port)]))
    run.until("running")
    assert slow.most < 10  # the door counts some that were given up already; without a share there are 12
    slow.close()


@pytest.mark.attack("quotas", "probes")
def test_what_was_not_asked_in_time_is_unknown(
    cloud: Cloud, run: Run, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_schedule, "OVERDUE", 0.3)
    cloud.server("s1")
    run.put(environment(checks=[check(door.port, every=0.1)]))
    run.until("running")
    monkeypatch.setattr(probe_schedule, "OPEN", 0)
    assert run.until("unknown")["text"] == "page: it was not asked in time"
    monkeypatch.setattr(probe_schedule, "OPEN", 200)
    run.until("running")


@pytest.mark.attack("processes", "handshakes that cost much")
def test_no_server_is_down_because_the_loop_was_late(cloud: Cloud, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    async def late(*args: Any) -> str:
        nonlocal made
        made += 1
        time.sleep(0.2)
        return "no answer"

    monkeypatch.setattr(probe_schedule, "LAG", 0.1)
    monkeypatch.setattr(probes, "run", late)
    cloud.server("s1")
    run.put(environment(checks=[check(1)], was={"o/page/s1": ["running", True, {}]}))
    for _ in range(1500):
        if made > 6:
            break
        time.sleep(0.01)
    assert made > 6 and set(run.history) == {"running"}


def test_what_is_planned_for_what_is_gone_takes_no_room(cloud: Cloud) -> None:
    watch = Watch(lambda key, owner: cloud)  # type: ignore[arg-type, return-value]
    for number in range(300):
        watch.put(environment(number=number, checks=[check(n, name=f"c{n}", every=86_400) for n in range(1, 51)]))
    assert len(watch._probes._due) < 3000
    watch.drop(["e1"])
    assert len(watch._probes._due) < 3000
