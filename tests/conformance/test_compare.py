"""The comparison must accept what the format allows and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.compare import Bindings, same_error, same_outcome, same_value

A = "a" * 32
B = "b" * 32


def same(expected: Any, actual: Any) -> bool:
    return same_value(expected, actual, Bindings())


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": 1, "b": [1, None]}, {"b": [1, None], "a": 1}),
        ("<id:1>", A),
        (["<id:1>", "<id:2>", "<id:1>"], [A, B, A]),
        ("x <id:1>-<id:2>", f"x {A}-{B}"),
        ({"?": {"_actions": {"<id:7>_go": 1}, "id": "<id:7>"}}, {"?": {"id": A, "_actions": {f"{A}_go": 1}}}),
        ({"<id:1>": 1, "<id:2>": 2}, {B: 2, A: 1}),
        ({"$set": [1, 2]}, {"$set": [2, 1]}),
        ({"$map": [[1, "x"], [[2], "y"]]}, {"$map": [[[2], "y"], [1, "x"]]}),
    ],
)
def test_equal(expected: Any, actual: Any) -> None:
    assert same(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1, True),
        (1, 1.0),
        (None, False),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({1: "x"}, {"1": "x"}),
        ({1: "x"}, {True: "x"}),
        ("<id:1>", "root"),
        (A, B),
        (["<id:1>", "<id:1>"], [A, B]),
        (["<id:1>", "<id:2>"], [A, A]),
        ({"$set": [1, 2]}, {"$set": [2, 2]}),
        ({"$set": [1]}, [1]),
    ],
)
def test_different(expected: Any, actual: Any) -> None:
    assert not same(expected, actual)


def test_ids_keep_their_meaning_over_outcomes() -> None:
    bindings = Bindings()
    assert same_outcome({"result": "<id:1>"}, {"result": A}, bindings)
    assert not same_outcome({"result": "<id:1>"}, {"result": B}, bindings)
    assert not same_outcome({"result": "<id:2>"}, {"result": A}, bindings)
    assert bindings.show({"result": [A, B]}) == {"result": ["<id:1>", B]}


def test_traces_count() -> None:
    assert not same_outcome({"result": 1}, {"result": 1, "traces": [1]}, Bindings())
    assert not same_outcome({"result": 1, "traces": [1]}, {"result": 1}, Bindings())
    assert not same_outcome({"traces": [1, 2]}, {"traces": [2, 1]}, Bindings())
    assert same_outcome({"traces": [1, 2]}, {"traces": [2, 1]}, Bindings(), unordered=True)
    assert not same_outcome({"traces": [1, 2]}, {"traces": [2, 2]}, Bindings(), unordered=True)


def test_attributes_are_compared_sorted() -> None:
    left = {"model": {"Objects": None, "Attributes": [["<id:1>", "c", "k", 1], ["a", "c", "k", 1]]}}
    right = {"model": {"Objects": None, "Attributes": [["a", "c", "k", 1], [A, "c", "k", 1]]}}
    assert same_outcome(left, right, Bindings())


def error(expected: dict[str, Any], actual: dict[str, Any], *, load: bool = False) -> bool:
    return same_error(expected, actual, Bindings(), load=load)


def test_error_kinds() -> None:
    assert error({"kind": "syntax", "upstream_name": "X"}, {"kind": "syntax", "text": "anything"})
    assert not error({"kind": "syntax"}, {"kind": "value-error"})
    assert error({"kind": "error"}, {"kind": "syntax"})
    assert error({"kind": "key-error"}, {"kind": "syntax"}, load=True)
    assert not error({"kind": "key-error"}, {"kind": "syntax"})
    assert not error({"kind": "error"}, {"kind": "timeout"})
    assert not error({"kind": "value-error"}, {"kind": "timeout"}, load=True)


def test_error_location() -> None:
    found = {"kind": "contract-violation", "at": "t.Main.p[0]"}
    assert error({"kind": "contract-violation"}, found)
    assert error({"kind": "contract-violation", "at": "t.Main.p[0]"}, found)
    assert not error({"kind": "contract-violation", "at": "t.Main.p[1]"}, found)
    assert not error({"kind": "contract-violation", "at": "t.Main.p"}, {"kind": "contract-violation"})


def test_thrown_errors() -> None:
    low = {"kind": "thrown", "names": ["t.low"], "message": "l"}
    high = {"kind": "thrown", "names": ["t.high"], "message": "h", "cause": low}
    assert error(high, dict(high))
    assert not error(high, {**high, "cause": {**low, "message": "other"}})
    assert not error(high, {"kind": "thrown", "names": ["t.high"], "message": "h"})
    assert not error({"kind": "thrown", "names": ["t.high"], "message": "h"}, high)
    assert not error(low, {**low, "extra": {"a": 1}})
    assert not error(low, {**low, "names": ["t.low", "t.more"]})
