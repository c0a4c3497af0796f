"""What follows where the author says nothing: agents that run, and ports that security groups open to everybody."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.watching.world import Cloud, Door, Run, check, environment
from vetro.clouds.open_ports import open_ports


def names(run: Run) -> dict[str, bool]:
    return {one["name"]: one["reached"] for one in run.told.get(("e1", "app"), {}).get("checks", ())}


def until_reached(run: Run, *wanted: str) -> None:
    for _ in range(1500):
        if names(run) == dict.fromkeys(wanted, True):
            return
        time.sleep(0.01)
    raise AssertionError(run.told)


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that nobody listens at, and that nobody else gets meanwhile."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


def test_an_open_port_that_was_reached_is_degraded_when_nobody_listens_any_more(
    cloud: Cloud, run: Run, silent: int
) -> None:
    """And says nothing before: what listens on a port that is open, nobody knows. It is never down."""
    door = Door()
    cloud.server("s1", ports=(door.port, silent))
    run.put(environment())
    run.until("running")
    for _ in range(1500):
        if names(run).get(f"tcp {door.port}"):
            break
        time.sleep(0.01)
    assert names(run) == {f"tcp {door.port}": True, f"tcp {silent}": False}
    door.close()
    run.until("degraded", text=f"tcp {door.port}: no connection to 127.0.0.1:{door.port}")
    # Its group does not open the port any more: nobody minds.
    cloud.server("s1", ports=())
    run.until("running")
    assert "down" not in run.history and names(run) == {}


def test_where_something_is_declared_or_named_open_ports_are_not_asked(cloud: Cloud, run: Run, door: Door) -> None:
    other = Door()
    cloud.server("s1", ports=(other.port,), agent=True)
    run.put(environment(checks=[check(door.port)]))
    run.until("running")
    until_reached(run, "page")
    guess = {"name": "site", "kind": "http", "address": "127.0.0.1", "port": door.port, "path": "/", "on": "s1"}
    run.put(environment(number=2, guesses=[guess]))
    until_reached(run, "site", "agent")
    assert other.asked == []
    other.close()


def test_ports_are_probed_at_addresses_that_the_cloud_calls_reachable_only(cloud: Cloud, run: Run) -> None:
    door = Door()
    cloud.server("s1", address="127.0.0.9", ports=(door.port,))  # where nobody listens
    run.put(environment())
    run.until("running")
    time.sleep(0.5)
    assert names(run) == {f"tcp {door.port}": False} and door.asked == []
    door.close()


def test_an_agent_that_runs_no_more_is_degraded_until_it_does(cloud: Cloud, run: Run) -> None:
    cloud.server("s1", agent=False)  # it was not installed yet
    run.put(environment())
    run.until("running")
    time.sleep(0.5)
    assert run.history == ["running"] and names(run) == {"agent": False}
    cloud.server("s1", agent=True)
    until_reached(run, "agent")
    cloud.server("s1", agent=False)
    run.until("degraded", text="the agent of server 'web' does not run")
    cloud.server("s1", agent=True)
    run.until("running")
    cloud.server("s1", agent=None)
    for _ in range(1500):
        if names(run) == {}:
            break
        time.sleep(0.01)
    assert names(run) == {} and "down" not in run.history


def test_who_watches_next_knows_what_was_reached(cloud: Cloud, run: Run) -> None:
    cloud.server("s1", agent=False)
    run.put(environment(was={"agent/s1": ["running", True, {}]}))
    run.until("degraded", text="the agent of server 'web' does not run")


RULE = {"direction": "ingress", "protocol": "tcp", "port_range_min": 80, "port_range_max": 80}


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, (80,)),
        ({"remote_ip_prefix": "0.0.0.0/0"}, (80,)),
        ({"remote_ip_prefix": "::/0", "protocol": "6"}, (80,)),
        ({"port_range_max": 82}, (80, 81, 82)),
        ({"port_range_max": 90}, ()),
        ({"port_range_min": 1, "port_range_max": 65535}, ()),
        ({"port_range_min": None, "port_range_max": None}, ()),
        ({"remote_ip_prefix": "10.0.0.0/8"}, ()),
        ({"remote_group_id": "g"}, ()),
        ({"direction": "egress"}, ()),
        ({"protocol": "udp"}, ()),
        ({"protocol": None}, ()),
    ],
)
def test_which_ports_are_open_to_everybody(more: dict[str, Any], wanted: tuple[int, ...]) -> None:
    assert open_ports([{**RULE, **more}]) == wanted


def test_few_ports_are_told() -> None:
    rules = [{**RULE, "port_range_min": port, "port_range_max": port} for port in range(100, 0, -1)]
    assert open_ports(rules) == tuple(range(1, 9))
