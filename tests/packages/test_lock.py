"""Locks of environments: documents, their canonical form, what a deployment leaves of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.packages.errors import LockError
from vetro.packages.lock import ChosenVersion, Lock, LockedPackage, canonical, parse_lock, read_lock

A1, A2, B1, C1 = (
    LockedPackage(name, version, str(number) * 64)
    for number, (name, version) in enumerate((("a", "1.0.0"), ("a", "2.0.0"), ("b", "1.0.0"), ("c", "1.0.0")))
)
WHY = [
    ChosenVersion("", "a.Main", "", "a/1.0.0"),
    ChosenVersion("", "a.Other", "2", "a/2.0.0"),
    ChosenVersion("a/1.0.0", "b", "1", "b/1.0.0"),
    ChosenVersion("b/1.0.0", "io.murano", "0", "io.murano/0.0.0"),
    ChosenVersion("a/2.0.0", "c", ">=1", "c/1.0.0"),
]
WHOLE = Lock.made([A1, A2, B1, C1], WHY, engine="1+2", library={"io.murano/0.0.0": "f" * 64}, configs="e" * 64)


def model(*types: str, used: dict[str, list[str]] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"Objects": [{"?": {"id": str(n), "type": text}} for n, text in enumerate(types)]}
    return found if used is None else {**found, "SystemData": {"Packages": used}}


def test_order_makes_no_difference_and_content_does() -> None:
    again = Lock.made(
        [C1, B1, A2, A1, A1], reversed(WHY), engine="1+2", library={"io.murano/0.0.0": "f" * 64}, configs="e" * 64
    )
    assert (again.text(), again.digest()) == (WHOLE.text(), WHOLE.digest())
    assert Lock.made([A1], WHY).digest() != Lock.made([A2], WHY).digest()
    other = LockedPackage("a", "1.0.0", "9" * 64)
    assert Lock.made([other, A1]).packages == (other,)  # one archive a version: the first that is named


def test_two_versions_of_a_package_stand_side_by_side() -> None:
    assert WHOLE.versions() == {"a": ["1.0.0", "2.0.0"], "b": ["1.0.0"], "c": ["1.0.0"]}
    assert WHOLE.requirements()["a/2.0.0"] == {"c": "c/1.0.0"}


def test_what_a_deployment_used_stays_with_all_that_it_requires() -> None:
    left = WHOLE.narrowed(model("a.Main/1.0.0@a", used={"a": ["1.0.0"], "io.murano": ["0.0.0"]}))
    # Nothing of 'b' was used, but without it 'a' could not be loaded.
    assert left.packages == (A1, B1)
    assert left.resolution == (
        ChosenVersion("", "a.Main", "1.0.0", "a/1.0.0"),
        ChosenVersion("a/1.0.0", "b", "1", "b/1.0.0"),
        ChosenVersion("b/1.0.0", "io.murano", "0", "io.murano/0.0.0"),
    )
    assert WHOLE.narrowed(model("a.Main/1.0.0@a")).packages == WHOLE.packages  # of earlier engines: nothing is said
    assert left.narrowed(model("a.Main/1.0.0@a", used={"a": ["1.0.0"]})) == left


@given(st.sets(st.sampled_from(["a/1.0.0", "a/2.0.0", "b/1.0.0", "c/1.0.0"]), min_size=1))
def test_no_requirement_of_what_is_left_is_missing(names: set[str]) -> None:
    used: dict[str, list[str]] = {}
    for name in names:
        used.setdefault(name[0], []).append(name[2:])
    left = WHOLE.narrowed(model(used=used))
    there = {str(package) for package in left.packages} | left.library.keys()
    assert names <= there
    assert all(choice.chosen in there and (choice.who in there or not choice.who) for choice in left.resolution)
    assert {c for c in WHY if c.who in there} <= set(left.resolution)


def test_documents_are_read_back() -> None:
    assert parse_lock(WHOLE.text()) == WHOLE
    assert parse_lock(WHOLE.text()).text() == WHOLE.text()
    assert canonical({"b": "ä", "a": [1]}) == '{"a":[1],"b":"ä"}'


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"engine": 5},
        {"library": []},
        {"library": {"x": None}},
        {"packages": {}},
        {"packages": [5]},
        {"packages": [{"name": "a", "version": "1"}]},
        {"packages": [{**WHOLE.as_json()["packages"][0], "digest": "../../etc/passwd"}]},
        {"packages": [{**WHOLE.as_json()["packages"][0], "name": "a\0"}]},
        {"packages": [{**WHOLE.as_json()["packages"][0], "name": "a" * 5000}]},
        {"packages": [WHOLE.as_json()["packages"][0]] * 501},
        {"resolution": [{"who": "", "name": "a", "spec": None, "chosen": "a/1"}]},
        {"configs": ["x"]},
    ],
)
def test_what_is_no_lock_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(LockError):
        read_lock(json.loads(json.dumps({**WHOLE.as_json(), **change})))


def test_texts_that_are_no_documents_are_refused() -> None:
    for text in ("", "[", "[]", "5", "[" * 100_000):
        with pytest.raises(LockError):
            parse_lock(text)
