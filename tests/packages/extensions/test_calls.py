"""Calls of extension classes: objects, arguments, results, failures."""

from __future__ import annotations

from typing import Any

import pytest

from tests.packages.extensions.conftest import Install, run
from vetro.packages.errors import PluginError
from vetro.packages.extensions.plugins import (
    Extensions,
    load_extensions,
)
from vetro.packages.plugin_api import Context, Interfaces, MuranoObject, yaql_engine


@pytest.mark.parametrize("name", ["a.Counter", "io.murano.extensions.a.Counter"])
def test_objects_are_made_with_new_and_keep_their_state(counter: Extensions, name: str) -> None:
    body = f"- $c: new('{name}', start => 5)\n- $.x: $c.addSome()\n- Return: [$.x, $c.addSome(howMany => 3)]"
    assert run(counter, body) == [7, 13]


def test_constructor_arguments_have_their_defaults(counter: Extensions) -> None:
    assert run(counter, "- Return: new('a.Counter', start => 0, step => 5).addSome()") == 5
    assert run(counter, "- Return: new('a.Counter', start => 0).describe().tags") == ["x"]
    with pytest.raises(Exception, match="start"):
        run(counter, "- Return: new('a.Counter')")


def test_results_become_values_of_the_language(counter: Extensions) -> None:
    made = run(counter, "- Return: new('a.Counter', start => 0).describe()")
    assert made == {"tags": ["x"], "pair": [1, {"a": [2]}], "rest": [0, 1]}


def test_static_methods_need_no_object(counter: Extensions) -> None:
    body = "- $c: new('a.Counter', start => 0)\n- Return: [$c.twice(4), $c.className()]"
    assert run(counter, body) == [8, "Counter"]
    assert run(counter, '- Return: !yaql ":Twice.twice(4)"', classes={"Twice": "Extends: a.Counter\n"}) == 8


def test_names_may_be_chosen_and_arguments_gathered(counter: Extensions) -> None:
    body = "- $c: new('a.Counter', start => 0)\n- Return: $c.{name}(1, 2, last => 3, other => 4)"
    wanted = [[1, 2], 3, {"other": 4}]
    assert run(counter, body.replace("{name}", "allOfIt")) == wanted
    assert run(counter, body.replace("{name}", "everything")) == wanted
    for missing in ("whole", "_hidden", "initPlugin", "hidden"):
        with pytest.raises(Exception, match=missing):
            run(counter, body.replace("{name}", missing))


def test_wrong_arguments_are_the_callers_error(counter: Extensions) -> None:
    with pytest.raises(Exception, match="'addSome' has no argument 'nope'"):
        run(counter, "- Return: new('a.Counter', start => 0).addSome(nope => 1)")
    with pytest.raises(Exception, match="does not accept"):
        run(counter, "- Return: new('a.Counter', start => 0).addSome('x')")


class Curious:
    def __init__(self, context: Context, this: MuranoObject) -> None:
        self.caller = (context.class_name, context.package_name)
        self.made_for = this.id

    def look(self, this: MuranoObject, of: MuranoObject, interfaces: Interfaces) -> Any:
        environment = of.find_owner("io.murano.Environment", optional=True)
        return {
            "same": this.id == self.made_for,
            "type": (of.type_name, of.name, of["word"], of.get("nothing", 5), of.is_a("io.murano.Object")),
            "environment": environment,
            "interfaces": interfaces.environment(of),
            "owner": of.owner,
            "answer": of.call("double", 4, word="w"),
        }

    def seen(self, context: Context) -> Any:
        return [list(self.caller), context.memo("k", lambda: [1]), context.memo("k", lambda: [2])]

    def compute(self, yaql_engine: Any, interfaces: Interfaces, text: str) -> Any:
        return [yaql_engine(text)({"a": 2}), interfaces.yaql("$ + 1", 1)]

    def give(self, this: MuranoObject) -> Any:
        return [this]

    def broken(self) -> Any:
        return [object()]

    def fails(self) -> Any:
        raise KeyError("gone")

    def get_missing(self, this: MuranoObject) -> Any:
        return this.find_owner("io.murano.Environment")

    def call_missing(self, this: MuranoObject) -> Any:
        return this.call("nope")

    def say(self, context: Context) -> None:
        context.log("warning", "careful")


@pytest.fixture
def curious(install: Install) -> Extensions:
    install("my-dist", {"a.Curious": Curious})
    return load_extensions()


REST = """\
Properties:
  word: {Contract: $.string(), Default: hello}
"""
DOUBLE = """\
  double:
    Arguments:
      - n: {Contract: $.int()}
      - word: {Contract: $.string()}
    Body:
      - Return: [$n * 2, $word]
"""


def test_plugins_see_objects_and_context(curious: Extensions) -> None:
    body = "- $c: new('a.Curious')\n- $r: $c.look($this)\n- Return: $r"
    seen = run(curious, body, rest=DOUBLE + REST)
    assert seen == {
        "same": True,
        "type": ["t.Main", None, "hello", 5, True],
        "environment": None,
        "interfaces": None,
        "owner": None,
        "answer": [8, "w"],
    }
    assert run(curious, "- $c: new('a.Curious')\n- Return: $c.seen()") == [["a.Curious", "my-dist"], [1], [1]]


def test_plugins_evaluate_expressions(curious: Extensions) -> None:
    assert run(curious, "- Return: new('a.Curious').compute('$.a * 21')") == [42, 2]


def test_objects_come_back_as_themselves(curious: Extensions) -> None:
    assert run(curious, "- $c: new('a.Curious')\n- Return: $c.give()[0] = $c") is True


def test_foreign_values_are_refused_naming_the_distribution(curious: Extensions) -> None:
    with pytest.raises(PluginError, match="my-dist gave a value of type object"):
        run(curious, "- Return: new('a.Curious').broken()")


def test_failures_of_plugins_can_be_caught(curious: Extensions) -> None:
    body = "- Try: [!yaql \"new('a.Curious').fails()\"]\n  Catch:\n    - As: e\n"
    assert run(curious, body + "      Do: [{Return: $e.message}]") == "'gone'"
    with pytest.raises(Exception, match=r"has no owner of class io\.murano\.Environment"):
        run(curious, "- Return: new('a.Curious').getMissing()")
    with pytest.raises(Exception, match="has no method 'nope'"):
        run(curious, "- Return: new('a.Curious').callMissing()")


def test_plugins_log_under_their_name(curious: Extensions) -> None:
    run(curious, "- Return: new('a.Curious').say()")
    logged = run.host.performed("log")  # type: ignore[attr-defined]
    assert logged == [{"logger": "my-dist", "level": "warning", "text": "careful"}]


def test_muranopl_classes_may_extend_an_extension(counter: Extensions) -> None:
    derived = "Extends: a.Counter\nMethods:\n  twiceMore:\n    Body:\n      - Return: $.addSome() + $.addSome()\n"
    body = "- $c: new(Derived, start => 1)\n- Return: $c.twiceMore()"
    assert run(counter, body, classes={"Derived": derived}) == 3 + 5


def test_helpers_of_the_engine_are_not_seen(counter: Extensions) -> None:
    names = run(counter, "- Return: typeinfo(new('a.Counter', start => 1)).methods.name")
    assert {"addSome", "twice", "allOfIt"} <= set(names)
    assert not [name for name in names if name.startswith((".", "_"))]


def test_the_expression_engine_is_that_of_the_language() -> None:
    assert yaql_engine("$.a + 1").evaluate({"a": 1}) == 2
