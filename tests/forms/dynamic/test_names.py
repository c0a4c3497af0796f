from __future__ import annotations

import pytest

from vetro.forms.dynamic.expressions import form_dialect, parsed
from vetro.forms.dynamic.names import answers_read, calls, data_paths, variables


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("$.one.a", {("one", "a")}),
        ("$forms.one.a", {("one", "a")}),
        ("$.one", {("one", "*")}),
        ("$", {("*", "*")}),
        ("$.get(one, {}).get(n)", {("one", "n")}),
        ("$.one.a.len() + $.two.b[0]", {("one", "a"), ("two", "b")}),
        ("$.one.a.b.c", {("one", "a")}),
        ("generateHostname($.one.a, 1)", {("one", "a")}),
        ("$.one.list.select($.name)", {("one", "list")}),
        ("switch($.one.n, $ > 2 => a, true => b)", {("one", "n")}),
        ("$p.x", set()),
        ("let(1) -> $.a.b", set()),
        ("5", set()),
    ],
)
def test_answers_read(text: str, read: set[tuple[str, str]]) -> None:
    assert answers_read(parsed(text), form_dialect().table) == read


def test_paths_are_whole() -> None:
    node = parsed("$.a.b.c + $")
    assert set(data_paths(node, form_dialect().table)) == {("a", "b", "c"), ()}


def test_calls_and_variables() -> None:
    node = parsed("f($a, $.x.g($b, $1)) + def(own, 1)")
    assert set(calls(node)) == {("f", "F"), ("g", "M"), ("def", "F")}
    assert variables(node) == {"a", "b"}
    assert variables(parsed("let(x => 1) -> $x")) == set()
    assert ("own", "F") not in set(calls(parsed("def(own, $ + 1) -> own(2)")))
