"""Many environments watched by one loop: real connections, a cloud that says what it is told to."""

from __future__ import annotations

from tests.engine.watching.world import Cloud, Door, Run, check, environment


def test_a_server_that_ends_and_comes_back(cloud: Cloud, run: Run) -> None:
    cloud.server("s1")
    run.put(environment())
    run.until("running")
    cloud.server("s1", "ERROR")
    assert run.until("down")["text"] == "server 'web' has ended by itself"
    del cloud.there["s1"]
    run.until("down", text="is gone")
    cloud.server("s1")
    run.until("running")
    cloud.server("s1", "SHUTOFF")
    run.put(environment(number=2) | {"stopped": {"s1": "ada"}})
    assert run.until("stopped")["text"] == "server 'web' was stopped by ada"


def test_a_check_that_fails_and_what_it_asks(cloud: Cloud, run: Run, door: Door) -> None:
    cloud.server("s1")
    run.put(environment(checks=[check(door.port, path="/health", expect=[200, 204])]))
    run.until("running")
    request = door.asked[0].decode()
    assert request.startswith(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{door.port}\r\n")
    assert "authorization" not in request.lower() and "cookie" not in request.lower()
    door.answer = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n"
    found = run.until("down")
    assert found["text"] == f"page: 127.0.0.1:{door.port} answers with status 302"
    assert [(c["name"], c["state"]) for c in found["checks"]] == [("page", "down")]
    door.answer = b"HTTP/1.1 204 No Content\r\n\r\n"
    run.until("running")
    assert run.history == ["running", "down", "running"]


def test_nothing_is_well_before_all_was_looked_at(cloud: Cloud, run: Run, door: Door) -> None:
    cloud.server("s1")
    door.slow, door.answer = 0.5, b"HTTP/1.1 500 no\r\n\r\n"
    run.put(environment(checks=[check(door.port)]))
    run.until("down")
    assert "running" not in run.history


def test_who_takes_over_tells_nothing_green_of_what_was_down(cloud: Cloud, run: Run, door: Door) -> None:
    door.answer = b"HTTP/1.1 500 no\r\n\r\n"
    cloud.server("s1")
    run.put(environment(checks=[check(door.port)], was={"o/page/s1": ["down", True, {}]}))
    run.until("down")
    assert run.history == ["down"] or set(run.history) == {"down"}


def test_servers_that_are_to_run_and_do_not_are_told(cloud: Cloud, run: Run) -> None:
    cloud.server("s1", "ERROR")
    run.put(environment())
    run.until("down")
    assert run.off == ["s1"]
    run.put(environment(number=2) | {"stopped": {"s1": "ada"}})
    run.until("stopped")
    assert run.off == []
    cloud.server("s1", "BUILD")
    run.put(environment(number=3))
    run.until("degraded")
    assert run.off == [], "somebody makes it"
