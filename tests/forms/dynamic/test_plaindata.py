from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.forms.dynamic import ExpressionFailed
from vetro.forms.dynamic.plaindata import MAX_VALUES, Writer, key_text, recall, remember
from vetro.yaql.values import FDict, freeze

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(scalars, inner, max_size=4),
    max_leaves=20,
)


@given(values)
def test_what_is_remembered_is_recalled(value: Any) -> None:
    frozen = freeze(value)
    assert recall(json.loads(json.dumps(remember(frozen)))) == frozen


@pytest.mark.parametrize(
    ("key", "text"), [("a", "a"), (None, "null"), (True, "true"), (False, "false"), (5, "5"), (1.5, "1.5")]
)
def test_keys_are_written_as_json_writes_them(key: Any, text: str) -> None:
    assert key_text(key) == text == next(iter(json.loads(json.dumps({key: 0}))))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_refused(value: Any) -> None:
    with pytest.raises(ExpressionFailed, match="which JSON cannot"):
        Writer(None).write((value,))


def test_too_much() -> None:
    ten = FDict((str(i), 0) for i in range(10))
    level: Any = ten
    for _ in range(6):
        level = (level,) * 10
    with pytest.raises(ExpressionFailed, match=f"more than {MAX_VALUES:,} values"):
        Writer(None).write(level)


def test_too_deep() -> None:
    value: Any = 1
    for _ in range(500):
        value = (value,)
    with pytest.raises(ExpressionFailed, match="more than 400 levels"):
        Writer(None).write(value)
    with pytest.raises(ExpressionFailed, match="more than 400 levels"):
        remember(value)
