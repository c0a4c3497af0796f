"""Generated YAML reads back as what was written, with things on the lines they were given."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vetro.packages.flow import At, Yaql, quoted, write

#: What YAML can hold at all: no halves of surrogate pairs.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc:,{}[]#&*!\"' ", max_size=9), inner),
    max_leaves=20,
)


class Loader(yaml.SafeLoader):
    pass


Loader.add_constructor("!yaql", lambda loader, node: Yaql(node.value))


@given(VALUES)
def test_values_read_back(value: Any) -> None:
    assert yaml.safe_load(write(value)) == value


@given(TEXTS)
def test_texts_take_one_line(text: str) -> None:
    assert yaml.safe_load(quoted(text)) == text
    assert len(quoted(text).splitlines()) == 1


def test_expressions_are_tagged() -> None:
    made = yaml.load(write({"a": Yaql("$.x + '\"'"), "b": "$.x"}), Loader)
    assert made == {"a": "$.x + '\"'", "b": "$.x"}
    assert (type(made["a"]), type(made["b"])) == (Yaql, str)


@pytest.mark.parametrize("first", [1, 4])
def test_things_stand_on_their_lines(first: int) -> None:
    text = write({"k": {"a": At(first, 1), "b": At(2, 2), "c": At(9, {"d": At(11, [At(None, 3), 4])})}})
    assert yaml.safe_load(text) == {"k": {"a": 1, "b": 2, "c": {"d": [3, 4]}}}
    lines = text.split("\n")
    assert '"a"' in lines[first - 1] and '"b"' in lines[max(first, 2) - 1]
    assert '"c"' in lines[8] and '"d"' in lines[10] and lines[11].startswith("3")
