"""What a load can look for when nothing moves any more."""

from __future__ import annotations

from vetro.muranopl.objects.forward_references import ForwardReference, definitions_with
from vetro.yaql.values import freeze

A = {"?": {"type": "t.A", "id": "a"}, "sub": {"?": {"type": "t.B", "id": "b"}}}
C = {"?": {"type": "t.C", "id": "c"}}


def test_the_outermost_definitions_are_given_in_order() -> None:
    value = ["b", {"k": [A]}, C]
    assert definitions_with(value, "b") == [A, C]
    assert definitions_with(freeze(value), "c") == [freeze(A), freeze(C)]


def test_nothing_is_given_when_the_wanted_one_is_elsewhere() -> None:
    assert definitions_with([A, C], "nobody") == []
    assert definitions_with("a", "a") == []


def test_definitions_without_a_class_are_left_to_the_contract() -> None:
    assert definitions_with([{"?": {"id": "a"}}, C], "a") == [C]


def test_a_reference_says_what_is_missing() -> None:
    error = ForwardReference("x")
    assert error.object_id == "x" and "there is no object with id 'x'" in str(error)
