"""Effects that are messages: branches go on in the order of the answers, without threads, timers or a clock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest

from vetro.muranopl import Engine
from vetro.muranopl.runtime.execution import EffectClock
from vetro.packages.memory import memory_package
from vetro.yaql.errors import Cancelled


class Post:
    """Effects whose answers arrive in an order that the test gives: keys, in groups that come together."""

    def __init__(self, order: list[str], failures: dict[str, Exception] | None = None) -> None:
        self.order = order
        self.failures = failures or {}
        self.sent: list[tuple[str, str, dict[str, Any]]] = []
        self.asked_while_waiting: list[int] = []
        self.on_wait: Callable[[], None] = lambda: None

    def waits(self, kind: str) -> bool:
        return kind != "clock"

    def begin(self, key: str, kind: str, args: dict[str, Any]) -> None:
        self.sent.append((key, kind, args))

    def _answer(self, key: str) -> Any:
        if key in self.failures:
            raise self.failures[key]
        return f"answer {key}"

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        self.begin(key, kind, args)
        if kind == "clock":
            return 1000.0 * len(self.sent)
        self.on_wait()
        return self._answer(key)

    def next_answer(self) -> tuple[str, Callable[[], Any]] | None:
        self.asked_while_waiting.append(len(self.sent))
        self.on_wait()
        if not self.order:
            return None
        key = self.order.pop(0)
        return key, lambda: self._answer(key)


def run(body: str, post: Post, rest: str = "") -> tuple[Callable[[], Any], list[Any], Any]:
    """A method with this body: a way to call it, what it noted, and the session."""
    notes: list[Any] = []
    text = f"Name: Main\nMethods:\n  run:\n    Body:\n{_indented(body, 6)}\n{_indented(rest, 2)}"
    package = memory_package({"name": "t", "format": "1.4", "classes": {"t.Main": "Namespaces: {=: t}\n" + text}})
    sessions: list[Any] = []
    engine = Engine(
        [package],
        effects=post,
        clock=EffectClock(),
        functions={
            "note": notes.append,
            "outside": lambda value: sessions[0].perform("test.outside", {"value": value}),
        },
    )
    session = engine.session()
    sessions.append(session)
    session.load({"Objects": {"?": {"type": "t.Main", "id": "main"}}})
    return (lambda: session.call("run", public_only=False)), notes, session


def _indented(text: str, by: int) -> str:
    return "\n".join(" " * by + line for line in dedent(text).strip("\n").split("\n"))


THREE = """
- Parallel:
  - note('a ' + outside(1))
  - note('b ' + outside(2))
  - note('c ' + outside(3))
- Return: outside(4)
"""


def test_branches_go_on_in_the_order_of_the_answers() -> None:
    post = Post(["0.2/1", "0.0/1", "0.1/1"])
    call, notes, _ = run(THREE, post)
    before = set(threading.enumerate())
    assert call() == "answer 0/1"
    assert notes == ["c answer 0.2/1", "a answer 0.0/1", "b answer 0.1/1"]
    assert set(threading.enumerate()) <= before
    assert [key for key, _, _ in post.sent] == ["0.0/1", "0.1/1", "0.2/1", "0/1"]


def test_nobody_waits_before_all_branches_were_begun() -> None:
    post = Post(["0.0/1", "0.1/1", "0.2/1"])
    run(THREE, post)[0]()
    assert post.asked_while_waiting == [3, 3, 3]


def test_an_error_arrives_in_its_branch() -> None:
    body = """
    - Parallel:
      - Try: outside(1)
        Catch: {As: e, Do: note('caught ' + $e.message)}
      - note(outside(2))
    """
    call, notes, _ = run(body, Post(["0.1/1", "0.0/1"], {"0.0/1": ValueError("broken")}))
    call()
    assert notes == ["answer 0.1/1", "caught broken"]


def test_sleep_and_time_are_effects() -> None:
    post = Post(["0.1/1", "0.0/1"])
    body = """
    - Parallel:
      - Do: [sleep(5), note(long)]
      - Do: [sleep(50), note(short)]
    - Return: now().minute
    """
    call, notes, _ = run(body, post)
    assert call() == 50
    assert notes == ["short", "long"]
    assert post.sent == [
        ("0.0/1", "sleep", {"seconds": 5}),
        ("0.1/1", "sleep", {"seconds": 50}),
        ("0/1", "clock", {}),
    ]


def test_a_quick_effect_lets_no_other_branch_run() -> None:
    post = Post(["0.0/1"])
    body = (
        "- Parallel:\n  - note(outside(1))\n  - Do:\n    - note(before)\n    - note(now() != null)\n    - note(after)"
    )
    call, notes, _ = run(body, post)
    call()
    assert notes == ["before", True, "after", "answer 0.0/1"]


def test_answers_for_ended_branches_are_dropped() -> None:
    """The first failure of a group ends nothing; cancellation ends all, and late answers are nobody's."""
    post = Post([])
    call, notes, session = run(THREE, post)
    post.on_wait = lambda: session.cancel("enough")
    with pytest.raises(Cancelled, match="enough"):
        call()
    assert notes == []
    assert len(session.scheduler._outside) == 0


FINALLY = """
- Try: [outside(1), note(never)]
  Finally:
  - $.step(first)
  - Try: outside(2)
    Finally: $.step(second)
  - note(never)
"""
STEP = "step:\n  Arguments: [{x: {Contract: $}}]\n  Body: note($x)"


@pytest.mark.parametrize("lenient", [True, False])
def test_finally_blocks_run_after_a_cancellation_if_they_may(lenient: bool) -> None:
    post = Post([])
    call, notes, session = run(FINALLY, post, STEP)
    session.rt.finally_runs = lenient

    def cancel() -> None:
        session.cancel("enough")
        raise Cancelled("enough")

    post.on_wait = cancel
    with pytest.raises(Cancelled):
        call()
    assert notes == (["first", "second"] if lenient else [])
    assert [key for key, _, _ in post.sent] == ["0/1"]


def test_the_host_looks_for_messages_while_code_computes() -> None:
    post = Post([])
    call, _, session = run("- While: $ != null\n  Do: [$x]", post)
    looks: list[int] = []

    def look() -> None:
        looks.append(1)
        if len(looks) == 3:
            session.cancel("looked")

    session.rt.look = look
    with pytest.raises(Cancelled, match="looked"):
        call()
    assert len(looks) == 3


def test_a_pardoned_run_can_go_on() -> None:
    call, notes, session = run("- $.step(1)", Post([]), STEP)
    session.cancel("enough")
    with pytest.raises(Cancelled):
        call()
    session.rt.pardon()
    call()
    assert notes == [1]
