"""Questions to packages: answered in processes of their own, in time, fairly."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.tasks import shop
from vetro.engine.query.query import AskFailed, AskTimeout
from vetro.server.errors import Unavailable
from vetro.server.tasks.concurrency import ConcurrencyLimit
from vetro.server.tasks.package_queries import ask, close, warm_up

SHOP = {"name": "test.Shop", "version": None, "package": "test.shop"}


@pytest.fixture(scope="module", autouse=True)
def zygote() -> Iterator[None]:
    warm_up()
    yield
    close()


def test_a_process_of_the_http_server_warms_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.server.tasks import package_queries as asks

    begun, warmed = [], threading.Event()
    monkeypatch.setattr(asks, "_warming", set())
    monkeypatch.setattr(asks, "warm_up", lambda: (begun.append(1), warmed.set()))
    asks.warm_up_soon()
    assert not begun  # no process that answers requests
    monkeypatch.setenv("VETRO_HTTP", "1")
    for _ in range(3):
        asks.warm_up_soon()
    assert warmed.wait(20)
    assert begun == [1]


@pytest.mark.django_db
def test_what_a_package_says(ann: Any) -> None:
    package = shop.add_package(ann.caller)
    schema = ask(ann.caller, "schema", packages=[package], on_class=SHOP, args={"methods": ["add", ""]})
    assert set(schema) == {"", "add"}
    assert schema["add"]["properties"]["a"]["type"] == "integer"
    start = time.monotonic()
    assert ask(ann.caller, "static", packages=[package], on_class=SHOP, method="add", args={"a": 2}) == 3
    assert time.monotonic() - start < 20
    with pytest.raises(AskFailed) as caught:
        ask(ann.caller, "static", packages=[package], on_class=SHOP, method="add", args={"a": "x"})
    assert caught.value.kind == "contract-violation"
    model = {"Objects": {"?": {"type": "test.Shop", "id": "1"}}}
    (error,) = ask(ann.caller, "check_model", packages=[package], model=model)["errors"]
    assert "title" in str(error)


@pytest.mark.django_db
def test_an_endless_question_ends(ann: Any) -> None:
    package = shop.add_package(ann.caller)
    model = {"Objects": {"?": {"type": "test.Shop", "id": "1"}, "title": "x"}}
    with pytest.raises(AskFailed) as caught:
        ask(ann.caller, "call", packages=[package], model=model, method="spin", object_id="1", timeout=0.5)
    assert caught.value.kind == "limit-exceeded"
    with pytest.raises(AskTimeout):
        more = {"method": "nap", "object_id": "1", "args": {"seconds": 60}}
        ask(ann.caller, "call", packages=[package], model=model, timeout=0.3, **more)


class Crowd:
    """Threads inside of a gate."""

    def __init__(self, limit: ConcurrencyLimit) -> None:
        self.limit = limit
        self.inside: list[str] = []
        self._leave: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []

    def come(self, project: str, mark: str) -> None:
        self._leave[mark] = threading.Event()

        def stay() -> None:
            with self.limit.entered(project, 30.0):
                self.inside.append(mark)
                self._leave[mark].wait(30.0)
                self.inside.remove(mark)

        thread = threading.Thread(target=stay)
        thread.start()
        self._threads.append(thread)

    def until(self, *marks: str) -> None:
        end = time.monotonic() + 20
        while sorted(self.inside) != sorted(marks):
            assert time.monotonic() < end, self.inside
            time.sleep(0.001)

    def go(self, *marks: str) -> None:
        for mark in marks:
            self._leave[mark].set()

    def close(self) -> None:
        self.go(*self._leave)
        for thread in self._threads:
            thread.join(30.0)


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    made = Crowd(ConcurrencyLimit(2))
    yield made
    made.close()


def test_nobody_waits_for_other_projects(crowd: Crowd) -> None:
    for number in range(3):
        crowd.come("hog", f"h{number}")
        if number < 2:
            crowd.until(*[f"h{n}" for n in range(number + 1)])
    crowd.come("other", "o0")
    crowd.until("h0", "h1", "o0")
    crowd.come("other", "o1")
    crowd.come("third", "t0")
    crowd.until("h0", "h1", "o0", "t0")
    crowd.go("h0")
    crowd.until("h1", "o0", "t0")
    crowd.go("o0", "t0", "h1")
    crowd.until("h2", "o1")


def test_nobody_waits_for_ever(crowd: Crowd) -> None:
    crowd.come("hog", "h0")
    crowd.until("h0")
    crowd.come("hog", "h1")
    crowd.until("h0", "h1")
    with pytest.raises(Unavailable), crowd.limit.entered("hog", 0.01):
        raise AssertionError
    crowd.go("h0")
    crowd.until("h1")
    with crowd.limit.entered("hog", 1.0):
        pass
