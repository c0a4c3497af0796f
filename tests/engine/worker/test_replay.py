"""Answers are delivered in the order in which they were recorded, and another program is noticed."""

from __future__ import annotations

from itertools import permutations

import pytest

from vetro.engine.worker.journal import Note, RecordedEffect
from vetro.engine.worker.replay import EffectRequest, Replay


def entry(key: str, place: int | None = None, kind: str = "clock", digest: str = "d") -> RecordedEffect:
    return RecordedEffect(key, kind, digest, {}, 0.0, place, answer=key)


def asked(key: str, kind: str = "clock", digest: str = "d") -> EffectRequest:
    return EffectRequest(key, kind, {"secret": 1, "long": "x" * 999}, digest)


@pytest.mark.parametrize("order", list(permutations(["a", "b", "c"])))
def test_recorded_order_is_kept_however_they_are_asked(order: tuple[str, ...]) -> None:
    replay = Replay([entry("a", 2), entry("b", 3), entry("c", 1)])
    given: list[str] = []
    for key in order:
        assert replay.ask(asked(key)) is None
        given += [e.key for e in replay.ready()]
    assert given == ["c", "a", "b"]
    assert not replay.active
    assert replay.unused() is None


def test_new_results_come_after_all_old_ones() -> None:
    replay = Replay([entry("a", 1), entry("b", 2), entry("open")])
    for key in ("open", "b"):
        replay.ask(asked(key))
    replay.add(entry("open", 3))
    assert replay.ready() == []
    assert replay.active
    assert replay.missing is not None
    assert replay.missing.key == "a"
    replay.ask(asked("a"))
    assert [e.key for e in replay.ready()] == ["a", "b", "open"]
    assert replay.missing is None


def test_a_result_that_came_while_nobody_listened_is_known() -> None:
    replay = Replay([entry("a")])
    replay.add(entry("a", 1))
    found = replay.entry("a")
    assert found is not None
    assert not found.open
    replay.ask(asked("a"))
    assert [e.key for e in replay.ready()] == ["a"]


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (asked("a", "sleep"), "as 'sleep', which was 'clock' before"),
        (asked("a", digest="other"), "with other arguments"),
        (asked("n", "log"), "as 'log', which was 'report' before"),
        (asked("n", "report", "other"), "with other arguments"),
    ],
)
def test_another_effect_at_a_key_is_divergence(now: EffectRequest, message: str) -> None:
    replay = Replay([entry("a", 1)], [Note("n", "report", {"text": "x"}, "d", 0.0)])
    found = replay.ask(now)
    assert found is not None
    assert message in found.message
    assert found.recorded is not None
    assert found.asked == {"kind": now.kind, "digest": now.digest, "args": {"secret": 1}}


def test_asking_twice_at_a_key_is_divergence() -> None:
    replay = Replay()
    assert replay.ask(asked("a")) is None
    assert replay.ask(asked("a")) is not None


def test_what_was_never_asked_for_is_named() -> None:
    replay = Replay([entry("a", 1)], [Note("n", "report", {"text": "x"}, "d", 0.0)])
    found = replay.unused()
    assert found is not None
    assert "did not ask for effect a" in found.message
    replay.ask(asked("a"))
    found = replay.unused()
    assert found is not None
    assert found.key == "n"
