"""How apps call those above them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from vetro.server.catalog import hooks as catalog
from vetro.server.hooks import Hook, RowHook
from vetro.server.procedures import hooks as procedures
from vetro.server.requests import hooks as requests
from vetro.server.tasks import hooks as tasks


def test_functions_are_called_in_order_and_once_however_often_they_are_registered() -> None:
    hook: Hook[[int], str] = Hook()
    assert hook(1) == []
    called: list[str] = []

    def first(number: int) -> str:
        called.append(f"first {number}")
        return called[-1]

    def second(number: int) -> str:
        called.append(f"second {number}")
        return called[-1]

    for function in (first, second, first):
        hook.register(function)
    assert hook(2) == ["first 2", "second 2"] == called


def test_nobody_is_asked_after_the_first_yes() -> None:
    hook: Hook[[int], bool] = Hook()
    asked: list[str] = []
    for name, least in (("a", 3), ("b", 2), ("c", 1)):
        hook.register(lambda number, name=name, least=least: (asked.append(name), number >= least)[1])
    assert hook.any(2) and asked == ["a", "b"]
    assert not hook.any(0) and asked == ["a", "b", "a", "b", "c"]


def test_what_a_function_raises_reaches_the_caller() -> None:
    hook: Hook[[], None] = Hook()

    def fails() -> None:
        raise ValueError("no")

    hook.register(fails)
    with pytest.raises(ValueError, match="no"):
        hook()


def test_functions_are_called_with_rows_that_they_are_about() -> None:
    hook: RowHook[[Any], str] = RowHook("ended")
    hook.register(lambda row: "all")
    hook.register(lambda row: "some", "EXISTS (SELECT 1)")
    assert hook.conditions() == {"ended_1": "EXISTS (SELECT 1)"}
    row = SimpleNamespace()
    assert hook(row) == ["all", "some"]  # nobody asked
    for known, called in ((True, ["all", "some"]), (False, ["all"])):
        row.ended_1 = known
        assert hook(row) == called


def test_every_process_of_the_service_has_the_functions_of_all_apps() -> None:
    """Registered when Django starts: a hook that nobody answers would lose states, or archives that are in use."""
    apps = {
        hook: [function.__module__.split(".")[2] for function in hook._functions]
        for module in (tasks, catalog, requests, procedures)
        for hook in vars(module).values()
        if isinstance(hook, Hook)
    }
    assert apps == {
        tasks.works: ["impact"],
        tasks.changed: ["impact", "notices"],
        tasks.ended: ["environments", "watch", "procedures"],
        tasks.broken_off: ["environments", "procedures"],
        tasks.again: ["environments"],
        tasks.aged: ["retention"],
        tasks.beside: ["watch", "procedures", "notices"],
        catalog.changed: ["environments", "tasks"],
        catalog.used_digests: ["environments", "impact", "tasks"],
        catalog.uses: ["environments", "tasks"],
        requests.most_streams: ["quotas"],
        procedures.settled: ["notices"],
    }
