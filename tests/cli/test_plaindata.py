"""Reading and writing of plain data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.cli import plaindata
from vetro.cli.plaindata import DataError, json_text, load_data, parse_data, plain_data, yaml_text

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_json_is_what_pythons_encoder_writes(data: object) -> None:
    assert json_text(data) == json.dumps(data, indent=2, ensure_ascii=False)


@pytest.mark.parametrize("key", [1, 1.5, True, None, "a"])
def test_json_keys(key: object) -> None:
    assert json_text({key: 1}) == json.dumps({key: 1}, indent=2)


def test_depth_is_no_obstacle() -> None:
    nested: object = 1
    for _ in range(5000):
        nested = {"child": nested}
    text = json_text(nested)
    assert json_text(parse_data(text, "x.json")) == text
    with pytest.raises(DataError, match="nested too deeply"):
        parse_data("[" * 100_000, "x.json")


def test_yaml_has_no_aliases_and_keeps_the_order() -> None:
    shared = [1]
    assert yaml_text({"b": shared, "a": shared}) == "b:\n- 1\na:\n- 1"
    assert yaml_text("x") == "x"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", r"f is no UTF-8 text"),
        (b"a: [1,\n", r"f:2:1: not valid YAML"),
        (b"a: !!python/name:os.system x\n", r"f:1:4: unknown tag"),
        (b"a: 1\n---\nb: 2\n", r"f:3:1: a second document begins"),
        (b"a: &a [*a]\n", r"f:1:8: alias '\*a' refers to nothing"),
        (b"? [x]\n: 1\n", r"f:1:3: a list cannot be a key"),
    ],
)
def test_unusable_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f").write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_data("f")


def test_json_files_get_the_message_for_json(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text('{"a": 1,')
    with pytest.raises(DataError, match=r"f\.json:1:9: Expecting property name"):
        load_data(str(tmp_path / "f.json"))


def test_missing_files_folders_and_endless_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="No such file or directory"):
        load_data(str(tmp_path / "missing"))
    with pytest.raises(DataError, match="Is a directory"):
        load_data(str(tmp_path))
    with pytest.raises(DataError, match="is no file name"):
        load_data("a\0b")
    monkeypatch.setattr(plaindata, "MAX_BYTES", 1024 * 1024)
    with pytest.raises(DataError, match="/dev/zero has more than 1 MiB"):
        load_data("/dev/zero")


def test_big_yaml_is_refused_big_json_is_not() -> None:
    items = ",".join(["1"] * 2_200_000)
    assert len(parse_data(f"[{items}]", "x")) == 2_200_000
    with pytest.raises(DataError, match="has more than 4 MiB of YAML"):
        parse_data(f"a: [{items}]", "x")


def test_values_without_a_json_form() -> None:
    class Odd:
        def __str__(self) -> str:
            return "odd"

    assert plain_data({(1, 2): frozenset({3}), "a": (Odd(),)}) == {"(1, 2)": [3], "a": ["odd"]}
