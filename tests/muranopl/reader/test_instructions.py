"""Method bodies as instructions."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from vetro.muranopl.declarations.tree import (
    Assign,
    Block,
    Break,
    Continue,
    Do,
    Evaluate,
    Expression,
    For,
    Handler,
    If,
    Literal,
    MapTemplate,
    Match,
    Parallel,
    Repeat,
    Rethrow,
    Return,
    Switch,
    Throw,
    Try,
    While,
)
from vetro.muranopl.errors import DslSyntaxError
from vetro.muranopl.reader.files import read_file


def body(text: str) -> Block:
    source = "Methods:\n  m:\n    Body:\n" + textwrap.indent(textwrap.dedent(text).strip(), "      ") + "\n"
    return read_file(source, "f", format_version=(1, 4), default_name="t.Main").classes["t.Main"].methods["m"].body


def single(text: str) -> Any:
    (found,) = body(text)
    return found


def refused(text: str) -> DslSyntaxError:
    with pytest.raises(DslSyntaxError) as caught:
        body(text)
    assert caught.value.position is not None and caught.value.hint
    return caught.value


def test_a_body_is_one_instruction_or_a_list() -> None:
    assert isinstance(single("$.f()"), Evaluate)
    assert [type(i) for i in body("- $.f()\n- $x: 1\n- Return:")] == [Evaluate, Assign, Return]


def test_assignments() -> None:
    found = single("$.a[0].b: {x: $y}")
    assert isinstance(found, Assign) and found.target.text == "$.a[0].b"
    assert isinstance(found.value, MapTemplate)


def test_simple_constructs() -> None:
    assert [type(i) for i in body("- Break:\n- Continue:\n- Rethrow:\n- Do: $.f()\n- Return: 1")] == [
        Break,
        Continue,
        Rethrow,
        Do,
        Return,
    ]


def test_conditions_and_loops() -> None:
    found = single("If: $x\nThen: $.f()\nElse: [$.g(), $.h()]")
    assert isinstance(found, If) and (len(found.then), len(found.orelse)) == (1, 2)
    empty = single("If: true\nThen:")
    assert isinstance(empty, If) and empty.then == () and empty.orelse == ()
    loop = single("While: $x\nDo: [Break: ]")
    assert isinstance(loop, While) and isinstance(loop.body[0], Break)
    each = single("For: item\nIn: [1, $x]\nDo:")
    assert isinstance(each, For) and each.variable == "item"
    times = single("Repeat: 3\nDo: $.f()")
    assert isinstance(times, Repeat) and isinstance(times.count, Literal)
    assert isinstance(single("Repeat: $n\nDo: $.f()").count, Expression)


def test_parallel() -> None:
    found = single("Parallel: [$.a(), $.b()]\nLimit: 2")
    assert isinstance(found, Parallel) and len(found.body) == 2 and isinstance(found.limit, Literal)
    assert single("Parallel: $.a()").limit is None


def test_keys_of_match_are_not_evaluated() -> None:
    found = single("Match: {1: $.a(), $x: $.b(), text: $.c(), null: }\nValue: $v\nDefault: $.d()")
    assert isinstance(found, Match)
    assert [key for key, _ in found.cases] == [1, "$x", "text", None]
    assert found.default is not None and len(found.default.parse()) == 1


def test_conditions_of_switch_are_values() -> None:
    found = single("Switch: {$x > 1: $.a(), true: $.b()}")
    assert isinstance(found, Switch) and found.default is None
    assert isinstance(found.cases[0][0], Expression) and isinstance(found.cases[1][0], Literal)
    assert single("Switch:").cases == ()


def test_branches_are_read_when_executed_and_kept() -> None:
    found = single("Match: {1: hello world, 2: $.a()}\nValue: $v")
    (_, bad), (_, good) = found.cases
    for _ in range(2):
        with pytest.raises(DslSyntaxError) as caught:
            bad.parse()
        assert str(caught.value.position).startswith("f:4:")
    assert good.parse() is good.parse()


def test_throw() -> None:
    found = single("Throw: [a, b]\nMessage: $m\nExtra: {x: 1}\nCause: $e")
    assert isinstance(found, Throw) and isinstance(found.names, Literal) and found.names.value == ("a", "b")
    assert isinstance(found.message, Expression) and isinstance(found.extra, Literal) and found.cause is not None
    assert isinstance(single("Throw: $name").names, Expression)
    assert single("Throw: x").message is None
    refused("Throw:")
    refused("Throw: []")
    refused("Throw: [a, 1]")


def test_try() -> None:
    found = single(
        """
        Try: $.a()
        Catch:
          - With: p:Name
            As: e
            Do: $.b()
          - With: [x, y.z]
          - Do:
        Else: $.c()
        Finally: [$.d(), $.e()]
        """
    )
    assert isinstance(found, Try) and (len(found.orelse), len(found.final)) == (1, 2)
    first, second, third = found.handlers
    assert (first.names, first.variable) == (("p:Name",), "e") and first.body is not None
    assert isinstance(second, Handler) and second.names == ("x", "y.z") and second.body is None
    assert third.names == () and third.body == ()
    assert single("Try:\nCatch: {As: e}").handlers[0].variable == "e"


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "- hello world",
        "- 5",
        "- ~",
        "- true",
        "- '$.x'",
        "- []",
        "- {}",
        "- [$.x]",
        "- $.x(",
        "- {$x: 1, $y: 2}",
        "- {$x: 1, If: 2}",
        "- {x: 1}",
        "- {if: $x, Then: $y}",
        "- {If: $x}",
        "- {If: $x, Then: $y, Do: $z}",
        "- {While: $x}",
        "- {While: true, Do: $x}",
        "- {For: x, Do: $y}",
        "- {For: $x, In: $y, Do: $z}",
        "- {For: 1, In: $y, Do: $z}",
        "- {Repeat: abc, Do: $z}",
        "- {Repeat: true, Do: $z}",
        "- {Repeat: 1.5, Do: $z}",
        "- {Break: 1}",
        "- {Continue: 1}",
        "- {Rethrow: 1}",
        "- {Match: {1: $x}}",
        "- {Match: 5, Value: 1}",
        "- {Switch: [1]}",
        "- {Parallel: $x, Limit: many}",
        "- {Try: $x, Catch: {Wit: a}}",
        "- {Try: $x, Catch: [[a]]}",
        "- {Try: $x, Catch: {With: 5}}",
        "- {Try: $x, Catch: {As: $e}}",
        "- {Do: $x, Then: $y}",
        "- {[a]: 1}",
    ],
)
def test_what_is_no_instruction(text: str) -> None:
    refused(text)
