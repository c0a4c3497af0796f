"""new(), id(), name(), metadata(), find(), require(), dump()."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.host import Host
from vetro.muranopl.errors import ClassNotFound, ContractViolation
from vetro.yaql.errors import UnresolvedCall, kind_of

ITEM = """
Properties:
  n: {Contract: $.int(), Default: 1}
  type: {Contract: $.string()}
  name: {Contract: $.string()}
  owner: {Contract: $.string()}
  child: {Contract: $.class(Item)}
"""


def evaluate(expression: str, **more: Any) -> Any:
    return Host().evaluate(expression, classes={"Item": ITEM}, **more)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("new(Item).n", 1),
        ("new(Item, n => 2).n", 2),
        ("new(Item, null, n => 2).n", 2),
        ("new(Item, $this).find(Main) = $this", True),
        ("new(Item).find(Main)", None),
        ("name(new(Item, $this, 'a name'))", "a name"),
        ("name(new(Item))", None),
        ("new(Item, {n => 5, unknown => 1}).n", 5),
        ("new(Item, {n => 5}, $this).find(Main) = $this", True),
        ("name(new(Item, {}, null, x))", "x"),
        ("new({'?' => {type => 't.Item', id => kept}, n => '7'}).n", 7),
        ("id(new({'?' => {type => 't.Item', id => kept}})) = kept", False),
        ("new({'?' => {type => 't.Item'}}, $this).find(Main) = $this", True),
        ("new({:Item => {n => 3}, name => nm}).n", 3),
        ("name(new({:Item => {n => 3}, name => nm}))", "nm"),
        ("new('t.Item').n", 1),
        ("new(':Item').n", 1),
        ("new(:Item).n", 1),
        ("new(typeinfo(Item)).n", 1),
        ("new(type('t.Item')).n", 1),
        # Arguments of new() never hide properties of the same name.
        (
            "let(o => new(Item, type => a, name => b, owner => c)) -> [$o.type, $o.name, $o.owner, name($o)]",
            ["a", "b", "c", None],
        ),
    ],
)
def test_new(expression: str, wanted: Any) -> None:
    assert evaluate(expression) == wanted


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("new(Missing)", ClassNotFound),
        ("new(Item, n => abc)", ContractViolation),
        ("new()", UnresolvedCall),
        ("new(5)", UnresolvedCall),
        ("new(Item, 5)", UnresolvedCall),
        ("new(Item, $this, 5)", UnresolvedCall),
    ],
)
def test_new_errors(expression: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        evaluate(expression)


def test_new_needs_a_class() -> None:
    with pytest.raises(Exception, match="must name its class") as caught:
        evaluate("new({n => 1})")
    assert kind_of(caught.value) == "value-error"


def test_formats_1_0_and_1_1_pass_keywords() -> None:
    body = '- Return: !yaql "[new(Item, n => 2).n, new(Item, $this, n => 3).find(Main) = $this, new(Item).n]"'
    assert Host().run(body, format="1.0", classes={"Item": ITEM}) == [2, True, 1]


def test_headers() -> None:
    model = {"?": {"type": "t.Main", "id": "root", "name": "nm", "metadata": {"a": [1]}}}
    assert evaluate("[id($), name($), metadata($), name(null), metadata(null)]", model=model) == [
        "root",
        "nm",
        {"a": [1]},
        None,
        None,
    ]
    with pytest.raises(UnresolvedCall):
        evaluate("id(null)")


def test_find_skips_the_object_itself() -> None:
    expression = "let(o => new(Item, $this)) -> let(o => $o, i => new(Item, $o)) -> [$i.find(Item) = $o, $o.find(Item)]"
    assert evaluate(expression) == [True, None]
    assert evaluate("find(new(Item, $this), 't.Main') = $this") is True
    assert evaluate("new(Item).find(Main)") is None


def test_require() -> None:
    assert evaluate("[5.require(), 0.require(), ''.require(), require(false)]") == [5, 0, "", False]
    with pytest.raises(Exception, match="required value is null") as caught:
        evaluate("$.find(Item).require()")
    assert kind_of(caught.value) == "value-error"


def test_dump() -> None:
    result = evaluate("dump(new({'?' => {type => 't.Item', name => nm}, n => 4}))")
    header = result.pop("?")
    assert (header["type"], header["name"], header["metadata"]) == ("t.Item/0.0.0@t", "nm", None)
    assert result == {"n": 4, "type": None, "name": None, "owner": None, "child": None}
    with pytest.raises(ValueError, match="Wrong"):
        evaluate("dump($, Wrong)")
