"""Bodies that come slowly, never, or from too many at once: who sends them waits, and nobody else."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.waiting import until
from vetro.server import large_requests, setup
from vetro.server.errors import TooMany, TooSlow, Unavailable
from vetro.server.http import request_bodies
from vetro.server.http.concurrency import Lane, Places, whose
from vetro.server.http.request_bodies import Bodies

#: How many places a project may have is looked up.
pytestmark = [pytest.mark.attack("bodies", "H5"), pytest.mark.django_db]


class Clock:
    """Time that passes while a body is waited for."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class Slow:
    """Sends ``size`` bytes after each of so many ``pauses`` (seconds), then nothing any more."""

    def __init__(self, clock: Clock, pauses: list[float], size: int = 1) -> None:
        self._clock, self._size = clock, size
        self._left = list(pauses)

    def part(self, seconds: float) -> bytes:
        pause = self._left[0] if self._left else 1e9
        if pause > seconds:
            self._clock.now += max(seconds, 0)
            if self._left:
                self._left[0] -= max(seconds, 0)
            raise TimeoutError
        self._clock.now += pause
        del self._left[0]
        return b"x" * self._size


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(request_bodies, "time", found)
    return found


@pytest.fixture
def bodies() -> Bodies:
    return Bodies(setup.config().changed({"server.body_seconds": 60, "server.body_rate_kib": 1}))


def arriving(
    bodies: Bodies, source: Any, length: int = 1 << 20, project: str = "p", kind: str = "application/json"
) -> Any:
    caller = SimpleNamespace(project_id=project) if project else None
    environ = {
        "CONTENT_LENGTH": str(length), "CONTENT_TYPE": kind, "wsgi.input": source,
        "REMOTE_ADDR": "192.0.2.1", "vetro.caller": caller,
    }  # fmt: skip
    bodies.prepare(environ)
    return environ["wsgi.input"]


def test_a_body_that_never_comes_is_given_up_soon(bodies: Bodies, clock: Clock) -> None:
    with pytest.raises(TooSlow, match="0 bytes in 5 seconds"):
        arriving(bodies, Slow(clock, [])).read()
    assert clock.now == pytest.approx(5, abs=0.5) and not bodies.places.taken


def test_a_body_that_drips_is_given_up_though_it_never_stops(bodies: Bodies, clock: Clock) -> None:
    with pytest.raises(TooSlow):
        arriving(bodies, Slow(clock, [0.5] * 1000)).read()
    assert clock.now < 6


def test_a_body_that_keeps_the_rate_has_its_time_and_no_more(bodies: Bodies, clock: Clock) -> None:
    with pytest.raises(TooSlow):
        arriving(bodies, Slow(clock, [1.0] * 1000, 2048), 10 << 20).read()
    assert clock.now == pytest.approx(60, abs=2)
    assert not bodies.places.taken


def test_what_is_there_at_once_needs_no_place(bodies: Bodies, clock: Clock) -> None:
    bodies.places = Places(1, 1)
    bodies.places.take("project p", False)
    found = arriving(bodies, _Whole(b"x" * 1000), 1000)
    assert found.read() == b"x" * 1000
    found.close()
    with pytest.raises(Unavailable) as caught:
        arriving(bodies, Slow(clock, [])).read()
    assert caught.value.details == {"retry_after": 2} and clock.now < 1


class _Whole:
    def __init__(self, data: bytes) -> None:
        self._parts = [data, b""]

    def part(self, seconds: float) -> bytes:
        return self._parts.pop(0)


@contextmanager
def held(places: Places, *whose: str, stranger: bool = False) -> Iterator[None]:
    for name in whose:
        places.take(name, stranger)
    yield
    for name in whose:
        places.give(name, stranger)


def test_nobody_takes_all_places() -> None:
    places = Places(16, 4)
    with held(places, *["a"] * 4):
        with pytest.raises(Unavailable):
            places.take("a", False)
        with held(places, *["b"] * 4, *["c"] * 4):
            assert places.taken == 12
            with held(places, "d"):  # the last quarter is for those who have none
                with pytest.raises(Unavailable):
                    places.take("d", False)
                with held(places, "e", "f", "g"), pytest.raises(Unavailable):
                    places.take("h", False)
    assert not places.taken


def test_a_project_has_as_many_as_its_quota_says() -> None:
    places = Places(16, 4)
    for each, most in ((2, 2), (6, 6), (-1, 12)):
        taken = 0
        with pytest.raises(Unavailable):
            for _ in range(20):
                places.take("p", False, each)
                taken += 1
        assert taken == most
        for _ in range(taken):
            places.give("p", False)
    with pytest.raises(Unavailable):
        places.take("p", False, 0)
    assert not places.taken


@pytest.mark.parametrize("threads", [2, 4, 8, 16, 64])
@pytest.mark.parametrize("wanted", [None, 1, 1000])
def test_bodies_that_come_slowly_leave_threads(threads: int, wanted: int | None) -> None:
    """Whoever sends them, and whatever is set: each holds a thread while it is waited for."""
    set_so = {"server.threads": threads, **({} if wanted is None else {"server.body_places": wanted})}
    bodies, taken = Bodies(setup.config().changed(set_so)), 0
    for places in (bodies.begun, bodies.places):
        with pytest.raises(Unavailable):
            for number in range(1000):
                places.take(f"project {number}", False)
                taken += 1
    assert 0 < taken <= threads - max(threads // 4, 1)


def test_strangers_leave_half_of_them() -> None:
    places = Places(16, 4)
    with held(places, *(f"address {number}" for number in range(8)), stranger=True):
        with pytest.raises(Unavailable):
            places.take("address 9", True)
        places.take("p", False)
        places.give("p", False)
    assert not places.taken


@pytest.mark.attack("data", "M7")
def test_large_json_is_not_read_among_other_requests(bodies: Bodies) -> None:
    """Only what is parsed as a whole; and all of it is there for whoever reads it elsewhere."""
    size = large_requests.ONE + 1
    with large_requests.bounded():
        small = arriving(bodies, _Whole(b"small"), 5)
        assert small.read() == b"small"
        body = arriving(bodies, _Whole(b"x" * size), size)
        for _ in range(2):
            with pytest.raises(large_requests.LargeRequest):
                body.read()
        number, told = body.whole()
        assert (told, os.fstat(number).st_size) == (size, size)
        files = arriving(bodies, _Whole(b"x" * size), size, kind="multipart/form-data; boundary=b")
        assert len(files.read()) == size
    body.rewind()
    assert body.read(1) == b"x"
    for one in (small, body, files):
        one.close()


@pytest.mark.attack("data", "M7")
def test_projects_take_turns_with_large_requests() -> None:
    lane, order = Lane(), list[str]()
    go = threading.Event()

    def ask(whose: str) -> None:
        with lane.turn(whose):
            order.append(whose)
            go.wait(30)

    threads = [threading.Thread(target=ask, args=(whose,)) for whose in ("a", "a", "a", "a", "b")]
    for number, thread in enumerate(threads):
        thread.start()
        until(lambda n=number: len(order) + len(lane._waiting) == n + 1)
    with pytest.raises(TooMany), lane.turn("a"):
        pass
    go.set()
    for thread in threads:
        thread.join(30)
    assert order == ["a", "b", "a", "a", "a"]


def test_a_place_is_needed_as_soon_as_others_wait_for_theirs(bodies: Bodies, clock: Clock) -> None:
    """A hundred bodies that never come hold a few threads, not all of them for a quarter of a second each."""
    holding = [arriving(bodies, Slow(clock, [0.1, 0.0])) for _ in range(request_bodies._FEW)]
    parts = [body._parts(100, 60) for body in holding]
    assert [next(one) for one in parts] == [b"x"] * len(parts) and bodies.begun.taken == len(parts)
    third = arriving(bodies, Slow(clock, [0.1, 0.0]))._parts(100, 60)
    next(third)
    assert (bodies.begun.taken, bodies.places.taken) == (len(parts), 1)
    for one in (*parts, third):
        one.close()
    assert not bodies.begun.taken and not bodies.places.taken


def test_the_places_are_free_again_whatever_happens(bodies: Bodies, clock: Clock) -> None:
    class Gone:
        def part(self, seconds: float) -> bytes:
            clock.now += seconds
            if clock.now < 1:
                raise TimeoutError
            raise ConnectionError

    threads = [threading.Thread(target=lambda: _fails(arriving(bodies, Gone()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not bodies.places.taken


def _fails(body: Any) -> None:
    with pytest.raises(Exception, match=r"ended before|too slowly|Too many"):
        body.read()


def test_what_came_too_slowly_is_not_waited_for_once_more(bodies: Bodies, clock: Clock) -> None:
    given = {"wsgi.input": Slow(clock, []), "CONTENT_LENGTH": "100", "vetro.caller": SimpleNamespace(project_id="p")}
    bodies.prepare(given)
    with pytest.raises(TooSlow):
        given["wsgi.input"].read()
    waited = clock.now
    bodies.drain(given)
    assert clock.now == waited


def test_an_address_of_ipv6_is_a_network() -> None:
    """Every line has 2 to the power of 64 of them."""
    assert whose({"REMOTE_ADDR": "2001:db8::1"}) == whose({"REMOTE_ADDR": "2001:db8::ffff:1"})
    assert whose({"REMOTE_ADDR": "2001:db8::1"}) != whose({"REMOTE_ADDR": "2001:db8:0:1::1"})
    assert whose({"REMOTE_ADDR": "::ffff:192.0.2.1"}) == whose({"REMOTE_ADDR": "192.0.2.1"})
