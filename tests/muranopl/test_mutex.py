"""`Scheduler.mutex` and `Session.at_end`: what native classes use to wait for each other and to put work off."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.host import Host
from vetro.muranopl.errors import InvalidOperation
from vetro.muranopl.session import Session
from vetro.yaql.errors import Cancelled


def fresh() -> tuple[Host, Session]:
    host = Host()
    return host, host.load("Methods: {}")


def inside(session: Session, seen: list[Any], name: str, *, fail: bool = False) -> Any:
    def branch() -> str:
        seen.append(f"{name} asks")
        with session.scheduler.mutex("m"):
            seen.append(f"{name} in")
            session.scheduler.sleep(1)
            if fail:
                raise ValueError(name)
            seen.append(f"{name} out")
        return name

    return branch


def test_one_branch_at_a_time_in_the_order_of_asking() -> None:
    _, session = fresh()
    seen: list[str] = []
    result = session.run(lambda: session.scheduler.gather([inside(session, seen, name) for name in "abc"]))
    assert result == ["a", "b", "c"]
    assert seen == ["a asks", "a in", "b asks", "c asks", "a out", "b in", "b out", "c in", "c out"]


def test_other_keys_are_free() -> None:
    _, session = fresh()
    seen: list[str] = []

    def branch(name: str) -> None:
        with session.scheduler.mutex(("key", name)):
            session.scheduler.sleep(1)
            seen.append(name)

    clock = session.rt.task_clock.now()
    session.run(lambda: session.scheduler.map(branch, "abc"))
    assert (sorted(seen), session.rt.task_clock.now() - clock) == (["a", "b", "c"], 1)


def test_without_branches_nothing_waits_and_nobody_comes_in_twice() -> None:
    _, session = fresh()

    def work() -> None:
        for _ in range(2):
            with session.scheduler.mutex("m"), session.scheduler.mutex("n"):
                pass
        again = pytest.raises(InvalidOperation, match="holds 'm' already")
        with session.scheduler.mutex("m"), again, session.scheduler.mutex("m"):
            raise AssertionError("came in twice")

    session.run(work)


def test_a_failure_inside_lets_the_next_one_in() -> None:
    _, session = fresh()
    seen: list[str] = []
    branches = [inside(session, seen, "a", fail=True), inside(session, seen, "b")]
    with pytest.raises(ValueError, match="a"):
        session.run(lambda: session.scheduler.gather(branches))
    assert seen[-1] == "b out"


def test_cancellation_ends_those_who_wait_and_frees_the_mutex() -> None:
    _, session = fresh()
    seen: list[Any] = []

    def cancels() -> None:
        session.cancel("enough")
        session.scheduler.sleep(5)

    branches = [inside(session, seen, "a"), inside(session, seen, "b"), inside(session, seen, "c"), cancels]
    with pytest.raises(Cancelled, match="enough"):
        session.run(lambda: session.scheduler.gather(branches))
    assert seen == ["a asks", "a in", "b asks", "c asks"]
    assert session.scheduler._mutexes._held == {}


def test_a_branch_that_was_let_in_and_never_ran_leaves_nothing_behind() -> None:
    _, session = fresh()
    seen: list[Any] = []

    def ends_everything() -> None:
        with session.scheduler.mutex("m"):
            session.scheduler.sleep(1)
        raise KeyboardInterrupt

    branches = [ends_everything, inside(session, seen, "b"), inside(session, seen, "c")]
    with pytest.raises(KeyboardInterrupt):
        session.run(lambda: session.scheduler.gather(branches))
    assert seen == ["b asks", "c asks"]
    assert session.scheduler._mutexes._held == {}


# -- at the end --------------------------------------------------------------------------------------------------------


def test_work_put_off_is_done_once_before_the_model_is_written() -> None:
    _, session = fresh()
    seen: list[str] = []

    def first() -> None:
        seen.append("first")
        session.at_end(lambda: seen.append("later"))

    session.at_end(first)
    session.at_end(lambda: seen.append("second"))
    assert session.finalize()["Objects"]["?"]["id"] == "root"
    assert seen == ["first", "second", "later"]
    session.finish()
    assert len(seen) == 3


def test_all_work_is_tried_and_the_first_failure_raised() -> None:
    _, session = fresh()
    seen: list[str] = []

    def fails() -> None:
        raise ValueError("first")

    session.at_end(fails)
    session.at_end(lambda: seen.append("second"))
    with pytest.raises(ValueError, match="first"):
        session.finish()
    session.finish()
    assert seen == ["second"]
