"""bind() and patch(): parameters in templates, JSON patches over frozen data."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.muranopl.functions.data import bind, patch, rebuild
from vetro.yaql.context import Execution, Limits
from vetro.yaql.errors import MemoryQuotaExceeded, NestingTooDeep
from vetro.yaql.values import FDict, freeze, thaw

CX = SimpleNamespace(rt=Execution())


def bound(template: Any, **values: Any) -> Any:
    return thaw(bind(CX, freeze(template), freeze(values)))


def patched(document: Any, *steps: dict[str, Any]) -> Any:
    return thaw(patch(CX, freeze(document), freeze(list(steps))))


# -- bind --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "wanted"),
    [
        ("$x", 5),
        ("x", "x"),
        ("a$x", "a$x"),
        ("$list", [1, {"k": 2}]),
        ("$null", "$null"),
        ("$pre-{x}-{y}", "pre-5-why"),
        ("${x}", "5"),
        ("$see {unknown} and {null}", "see {unknown} and {null}"),
        ({"$y": ["$x", {"deep": "$y"}]}, {"why": [5, {"deep": "why"}]}),
        ({"$k{x}": 1, 2: "$x"}, {"k5": 1, 2: 5}),
        ([1, None, True, 1.5], [1, None, True, 1.5]),
        ([], []),
        ({}, {}),
    ],
)
def test_bind(template: Any, wanted: Any) -> None:
    assert bound(template, x=5, y="why", list=[1, {"k": 2}], null=None) == wanted


def test_bind_refuses_names_without_a_value() -> None:
    with pytest.raises(KeyError, match=r"'\$nope'"):
        bound("$nope", x=1)
    with pytest.raises(KeyError):
        bound({"$nope": 1})


def test_bound_values_are_not_bound_again() -> None:
    assert bound(["$a"], a="$b", b="never") == ["$b"]


def test_bind_counts_what_it_builds() -> None:
    tight = SimpleNamespace(rt=Execution(Limits(max_expression_memory=1000)))
    with pytest.raises(MemoryQuotaExceeded):
        bind(tight, "${x}{x}", FDict(x="y" * 600))


def doubled(levels: int) -> Any:
    """A value of few objects that looks like 2**levels items."""
    value: Any = ("$x",)
    for _ in range(levels):
        value = (value, value)
    return value


def test_values_that_hold_themselves_many_times_are_no_problem() -> None:
    result = bind(CX, doubled(60), FDict(x=1))
    for _ in range(60):
        assert result[0] is result[1]
        result = result[0]
    assert result == (1,)
    with pytest.raises(NestingTooDeep):
        bind(CX, "${x}", FDict(x=doubled(60)))


def test_interpolation_is_refused_before_it_is_built() -> None:
    tight = SimpleNamespace(rt=Execution(Limits(max_expression_memory=1_000_000)))
    with pytest.raises(MemoryQuotaExceeded):
        bind(tight, "$" + "{x}" * 100_000, FDict(x="y" * 100_000))


def test_depth_costs_no_python_frames() -> None:
    deep: Any = "$x"
    for _ in range(100_000):
        deep = (deep,)
    result = bind(CX, deep, FDict(x=7))
    for _ in range(100_000):
        (result,) = result
    assert result == 7


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab$", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=examples(100), deadline=None)
@given(PLAIN)
def test_rebuilding_with_the_identity_changes_nothing(value: Any) -> None:
    frozen = freeze(value)
    assert rebuild(frozen, lambda text: text) == frozen


# -- patch -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "step", "wanted"),
    [
        ({"a": 1}, {"op": "add", "path": "/b", "value": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"op": "add", "path": "/a", "value": 2}, {"a": 2}),
        ({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}),
        ({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}),
        ({"a": [1]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2]}),
        ({"a": 1}, {"op": "add", "path": "", "value": [9]}, [9]),
        ({"a": {"b": 1, "c": 2}}, {"op": "remove", "path": "/a/b"}, {"a": {"c": 2}}),
        ([1, 2, 3], {"op": "remove", "path": "/1"}, [1, 3]),
        ({"a": {"b": [0, 1]}}, {"op": "replace", "path": "/a/b/0", "value": 5}, {"a": {"b": [5, 1]}}),
        ({"a": 1}, {"op": "replace", "path": "", "value": 2}, 2),
        ({"a": {"x": 1}, "b": {}}, {"op": "move", "from": "/a/x", "path": "/b/y"}, {"a": {}, "b": {"y": 1}}),
        ([1, 2, 3], {"op": "move", "from": "/0", "path": "/2"}, [2, 3, 1]),
        ({"a": 1}, {"op": "move", "from": "/a", "path": "/a"}, {"a": 1}),
        ({"a": [1]}, {"op": "copy", "from": "/a", "path": "/b"}, {"a": [1], "b": [1]}),
        ({"a": [1, {"b": 2}]}, {"op": "test", "path": "/a/1", "value": {"b": 2}}, {"a": [1, {"b": 2}]}),
        ({"a/b": 1, "m~n": 2}, {"op": "remove", "path": "/a~1b"}, {"m~n": 2}),
        ({"m~n": 2}, {"op": "replace", "path": "/m~0n", "value": 3}, {"m~n": 3}),
        ({"": 1}, {"op": "remove", "path": "/"}, {}),
    ],
)
def test_patch_operations(document: Any, step: dict[str, Any], wanted: Any) -> None:
    assert patched(document, step) == wanted


@pytest.mark.parametrize(
    ("document", "step", "error"),
    [
        ({"a": 1}, {"op": "remove", "path": "/b"}, KeyError),
        ({"a": 1}, {"op": "replace", "path": "/b", "value": 1}, KeyError),
        ({"a": 1}, {"op": "add", "path": "/b/c", "value": 1}, KeyError),
        ({"a": 1}, {"op": "add", "path": "/a/c", "value": 1}, KeyError),
        ([1], {"op": "remove", "path": "/1"}, IndexError),
        ([1], {"op": "add", "path": "/3", "value": 1}, IndexError),
        ([1], {"op": "remove", "path": "/-"}, IndexError),
        ([1], {"op": "remove", "path": "/01"}, IndexError),
        ([1], {"op": "remove", "path": "/-1"}, IndexError),
        ({"a": 1}, {"op": "test", "path": "/a", "value": 2}, AssertionError),
        ({"a": {}}, {"op": "move", "from": "/a", "path": "/a/b"}, ValueError),
        ({"a": 1}, {"op": "add", "path": "/b"}, ValueError),
        ({"a": 1}, {"op": "add", "path": "b", "value": 1}, ValueError),
        ({"a": 1}, {"op": "add", "value": 1}, ValueError),
        ({"a": 1}, {"op": "copy", "path": "/b"}, ValueError),
        ({"a": 1}, {"op": "invent", "path": "/b"}, ValueError),
    ],
)
def test_patch_errors(document: Any, step: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        patched(document, step)


def test_a_step_must_be_a_mapping() -> None:
    with pytest.raises(ValueError, match="is a mapping"):
        patch(CX, FDict(), ("x",))


def test_steps_apply_in_order() -> None:
    steps = [{"op": "add", "path": "/b", "value": []}, {"op": "add", "path": "/b/-", "value": 1}]
    assert patched({}, *steps) == {"b": [1]}
