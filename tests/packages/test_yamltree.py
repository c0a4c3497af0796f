from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.packages.yamltree import TreeError, plain, read_documents


def load(text: str | bytes) -> Any:
    return plain(read_documents(text, "m.yaml")[0])


def test_values_are_typed_as_yaml_says_but_dates_stay_text() -> None:
    assert load("[~, true, 1.5, 0x1F, '1', =, 2015-01-01, a b, 1_000, yes]") == [
        *(None, True, 1.5, 31, "1", "=", "2015-01-01", "a b", 1000, True)
    ]


def test_aliases_share_and_merge_keys_merge() -> None:
    assert load("a: &x {k: 1}\nb: *x\nc: {<<: *x, l: 2}\nd: {k: 3, <<: [{k: 4, m: 5}, {m: 6}]}") == {
        "a": {"k": 1},
        "b": {"k": 1},
        "c": {"k": 1, "l": 2},
        "d": {"k": 3, "m": 5},
    }


def test_positions_count_from_one() -> None:
    root = read_documents("a: 1\nb:\n  c: text\n", "f.yaml")[0]
    assert root.pairs is not None
    inner = root.pairs[1][1]
    assert inner.pairs is not None
    assert str(inner.pairs[0][1].position) == "f.yaml:3:6"
    assert inner.pairs[0][1].position.end_column == 10


def test_documents_are_kept_apart() -> None:
    assert [plain(d) for d in read_documents("a: 1\n---\n- 2\n", "f")] == [{"a": 1}, [2]]
    assert read_documents("", "f") == []


def test_byte_order_marks_and_windows_line_ends_do_no_harm() -> None:
    assert load(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n") == {"a": 1, "b": 2}


BOMB = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("[" * 300_000, "nested deeper than 100 levels", "1:101"),
        ("- " * 200, "nested deeper", "1:201"),
        ("a: &a [*a]", r"alias '\*a' refers to nothing", "1:8"),
        ("a: *b", r"alias '\*b' refers to nothing", "1:4"),
        (BOMB, "more than 200000 values", "6:5"),
        ("a: !foo 1", "unknown tag '!foo'", "1:4"),
        ("a: !foo [1]", "unknown tag '!foo'", "1:4"),
        ("a: !!python/object:os.system {}", "unknown tag", "1:4"),
        ("a: !yaql $.x", "unknown tag '!yaql'", "1:4"),
        ("x: 1: 2", "not valid YAML: mapping values are not allowed", "1:5"),
        ('a: "\x00"', "not valid YAML", "1:1"),
        (b"a: 1\nb: \xff", "not valid UTF-8", "2:1"),
        ("\ud800: 1", "not valid Unicode", "1:1"),
        ("a: !!int x", "'x' is no int", "1:4"),
        ("a: " + "9" * 5000, "is no int", "1:4"),
        ("{[1]: 2}", "a list cannot be a key", "1:2"),
        ("<<: [1]", "'1' cannot be merged", "1:6"),
        ("#" * 5_000_000, "longer than", "1:1"),
    ],
)
def test_what_is_refused_and_where(text: str | bytes, message: str, position: str) -> None:
    with pytest.raises(TreeError, match=message) as caught:
        load(text)
    assert str(caught.value.position) == f"m.yaml:{position}"


@settings(max_examples=examples(200))
@given(st.text(alphabet="ab:-[]{}&*!|>'\"\n #,?<=~%@1", max_size=40) | st.binary(max_size=20))
def test_any_text_is_data_or_refused(text: str | bytes) -> None:
    try:
        documents = read_documents(text, "f")
        for document in documents:
            plain(document)
    except TreeError as error:
        assert error.position.file == "f"
