"""The door to the outside world: plain data, handlers, records and scripts."""

from __future__ import annotations

import logging

import pytest

from vetro.muranopl.runtime.effects import (
    EffectError,
    EffectFailed,
    EffectMismatch,
    EffectRecord,
    Effects,
    InProcessEffects,
    NotPlainData,
    RecordingEffects,
    ScriptedEffects,
    UnknownEffect,
    digest,
    plain,
)
from vetro.yaql.values import FDict


def test_plain_thaws_frozen_values_all_the_way() -> None:
    assert plain(FDict(a=(1, FDict(b=None)))) == {"a": [1, {"b": None}]}


@pytest.mark.parametrize("value", [object(), FDict({(1, 2): 2}), (b"x",), {"a": {1, 2}}])
def test_plain_refuses_what_json_does_not_know(value: object) -> None:
    with pytest.raises(NotPlainData):
        plain(value)


def test_keys_become_what_json_makes_of_them() -> None:
    assert plain(FDict({80: 1, None: 2, True: 3, "x": 4, 1.5: 5})) == {"80": 1, "null": 2, "true": 3, "x": 4, "1.5": 5}


def test_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})


def test_all_implementations_satisfy_the_protocol() -> None:
    inner = InProcessEffects()
    assert isinstance(inner, Effects)
    assert isinstance(RecordingEffects(inner), Effects)
    assert isinstance(ScriptedEffects(), Effects)


def test_in_process_reports_are_kept_and_announced() -> None:
    seen: list[dict[str, object]] = []
    effects = InProcessEffects(on_report=seen.append, clock=lambda: 5.0)
    effects.perform("0/1", "report", {"text": "hello"})
    assert effects.reports == seen == [{"text": "hello", "timestamp": 5.0}]


def test_in_process_log_lines_go_to_the_channel(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="applications"):
        InProcessEffects().perform("0/1", "log", {"logger": "app.x", "level": "warning", "text": "100 % {sure}"})
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == ("applications.app.x", "WARNING", "100 % {sure}")


def test_in_process_uses_the_given_clock_and_sleep() -> None:
    slept: list[float] = []
    effects = InProcessEffects(clock=lambda: 12.5, sleep=slept.append)
    assert effects.perform("0/1", "clock", {}) == 12.5
    effects.perform("0/2", "sleep", {"seconds": 3})
    assert slept == [3.0]


def test_in_process_entropy_is_hexadecimal() -> None:
    assert len(bytes.fromhex(InProcessEffects().perform("0/1", "entropy", {"bytes": 8}))) == 8


def test_without_a_cloud_there_are_no_stacks() -> None:
    effects = InProcessEffects()
    assert effects.perform("0/1", "stack.read", {"name": "s"}) is None
    assert effects.perform("0/2", "stack.delete", {"name": "s"}) is None
    assert effects.perform("0/3", "network", {"query": "networks"}) == []
    assert effects.perform("0/4", "network", {"query": "router"}) is None
    with pytest.raises(EffectError, match="no cloud is configured, stack 's'"):
        effects.perform("0/5", "stack.push", {"name": "s", "put": [["resources", "a", {}]]})


def test_handlers_can_be_registered_and_unknown_kinds_are_refused() -> None:
    effects = InProcessEffects({"ping": lambda args: {"pong": args["n"]}})
    assert effects.perform("0/1", "ping", {"n": 2}) == {"pong": 2}
    effects.register("ping", lambda args: None)
    assert effects.perform("0/2", "ping", {"n": 2}) is None
    with pytest.raises(UnknownEffect, match="'pang'"):
        effects.perform("0/3", "pang", {})


def test_recording_keeps_answers_and_failures_and_replays_them() -> None:
    def fail(args: dict[str, object]) -> None:
        raise KeyError("gone")

    recorder = RecordingEffects(InProcessEffects({"ask": lambda args: [args["n"]], "fail": fail}))
    assert recorder.perform("0/1", "ask", {"n": 1}) == [1]
    with pytest.raises(KeyError):
        recorder.perform("0/2", "fail", {})
    stored = [EffectRecord.from_json(record.as_json()) for record in recorder.records]
    assert stored == recorder.records

    script = ScriptedEffects(stored)
    assert script.unused == stored
    assert script.perform("0/1", "ask", {"n": 1}) == [1]
    with pytest.raises(EffectFailed, match="gone"):
        script.perform("0/2", "fail", {})
    assert script.unused == []


def test_a_script_notices_divergence() -> None:
    script = ScriptedEffects([EffectRecord("0/1", "ask", {"n": 1}, 5)])
    with pytest.raises(EffectMismatch):
        script.perform("0/1", "ask", {"n": 2})
    with pytest.raises(EffectMismatch):
        script.perform("0/1", "tell", {"n": 1})
    with pytest.raises(EffectMismatch, match="no answer for effect 0/9"):
        script.perform("0/9", "ask", {})
    lenient = ScriptedEffects([EffectRecord("0/1", "ask", {"n": 1}, 5)], strict=False)
    assert lenient.perform("0/1", "ask", {"n": 2}) == 5


def test_scripted_answers_by_kind() -> None:
    script = ScriptedEffects(answers={"a": [1, 2], "b": lambda args: args["x"] * 2, "c": {"k": 1}})
    assert [script.perform("1", "a", {}), script.perform("2", "a", {})] == [1, 2]
    with pytest.raises(EffectMismatch, match="used up"):
        script.perform("3", "a", {})
    assert script.perform("4", "b", {"x": 4}) == 8
    first = script.perform("5", "c", {})
    first["k"] = 2
    assert script.perform("6", "c", {}) == {"k": 1}
    assert [record.kind for record in script.performed] == ["a", "a", "b", "c", "c"]
