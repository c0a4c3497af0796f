"""Warm task processes with definitions: whose they are, and what happens when they are gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.server.forms.conftest import UI
from vetro.server.caller import Caller
from vetro.server.catalog import blobs
from vetro.server.forms import process_cache

QUESTION = {
    "do": "start",
    "about": {"package": {"fqn": "test.Shop", "name": "Shop", "version": "1.0.0"}},
}
ANN = Caller("ann", "ann", "demo", "demo")


@pytest.fixture
def definition(db: None) -> Iterator[str]:
    process_cache.close()
    yield blobs.put(UI.encode())
    process_cache.close()


def ask(caller: Caller, definition: str, question: Any = QUESTION) -> Any:
    return process_cache.ask(caller, definition, question)


def test_a_process_is_used_again_by_the_same_person_only(definition: str) -> None:
    assert ask(ANN, definition)["state"]["step"] == 0
    ((_, _, first),) = process_cache._idle
    ask(ANN, definition)
    assert [child for _, _, child in process_cache._idle] == [first] and first.asked == 3
    ask(replace(ANN, user_id="bob"), definition)
    ask(replace(ANN, project_id="others"), definition)
    assert len({id(child) for _, _, child in process_cache._idle}) == 3
    process_cache.close()
    assert process_cache._idle == [] and not first.alive


def test_a_process_that_died_is_replaced(definition: str) -> None:
    ask(ANN, definition)
    ((_, _, first),) = process_cache._idle
    first._process.kill()
    first._process.wait(30)
    assert ask(ANN, definition)["state"]["step"] == 0
    ((_, _, second),) = process_cache._idle
    assert second is not first


def test_idle_processes_end(definition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(ANN, definition)
    ((_, _, first),) = process_cache._idle
    monkeypatch.setattr(process_cache, "SECONDS", -1.0)
    ask(ANN, definition)
    assert not first.alive and len(process_cache._idle) == 1
    monkeypatch.setattr(process_cache, "MOST", 1)
    ask(replace(ANN, user_id="bob"), definition)
    assert len(process_cache._idle) == 1
    monkeypatch.setattr(process_cache, "QUESTIONS", 1)
    ask(replace(ANN, user_id="eve"), definition)
    assert process_cache._idle == []


def test_a_definition_that_cannot_be_read_leaves_no_process(db: None) -> None:
    process_cache.close()
    digest = blobs.put(b"Version: 2.4\nApplication: [\n")
    assert process_cache.ask(ANN, digest, QUESTION)["failed"]["code"].startswith("DUI")
    assert process_cache._idle == []
