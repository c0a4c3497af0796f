"""Loading YAML: what is refused, where, and what must not break loading."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.muranopl.errors import SourceError
from vetro.muranopl.source import nodes
from vetro.muranopl.source.documents import load_documents
from vetro.muranopl.source.nodes import PLAIN, TEXT, YAQL, position


def load(text: str, **options: object) -> object:
    """The documents as plain data, scalars as (tag, value)."""

    def plain(node: object) -> object:
        if isinstance(node, yaml.ScalarNode):
            return (node.tag, node.value)
        if isinstance(node, yaml.SequenceNode):
            return [plain(item) for item in node.value]
        assert isinstance(node, yaml.MappingNode)
        return {plain(key): plain(value) for key, value in node.value}

    return [plain(node) for node in load_documents(text, "f.yaml", **options)]  # type: ignore[arg-type]


def refused(text: str, **options: object) -> SourceError:
    with pytest.raises(SourceError) as caught:
        load_documents(text, "f.yaml", **options)  # type: ignore[arg-type]
    assert caught.value.position is not None and caught.value.position.file == "f.yaml"
    return caught.value


def test_tags_tell_how_a_scalar_was_written() -> None:
    text = "a: x\n'b': \"y\"\nc: !yaql 'z'\nd: |\n  block\ne: !!str 5\n"
    assert load(text) == [
        {
            (PLAIN, "a"): (PLAIN, "x"),
            (TEXT, "b"): (TEXT, "y"),
            (PLAIN, "c"): (YAQL, "z"),
            (PLAIN, "d"): (TEXT, "block\n"),
            (PLAIN, "e"): ("tag:yaml.org,2002:str", "5"),
        }
    ]


def test_both_loaders_give_the_same_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: [x, !yaql \"$\", 'q']\n---\n=: &n {b: 1}\nc: *n\n---\n---\nd: 2015-01-01\n"
    fast = load(text)
    monkeypatch.setattr(nodes, "_LOADER", nodes._loader_class(pure=True))
    assert load(text) == fast
    assert refused("[" * 300).message == f"nested deeper than {nodes.MAX_DEPTH} levels"
    assert refused("a: [").position.line == 1


def test_positions_count_from_one_and_are_half_open() -> None:
    (node,) = load_documents("\n  key: value\n", "f.yaml")
    (key, value) = node.value[0]
    assert str(position(key, "f.yaml")) == "f.yaml:2:3"
    found = position(value, "f.yaml")
    assert (found.line, found.column, found.end_line, found.end_column) == (2, 8, 2, 13)


def test_empty_documents_are_skipped() -> None:
    assert load("") == []
    assert load("---\n---\n# nothing\n") == []
    assert load("--- ''\n") == [(TEXT, "")]


def test_byte_order_mark_and_windows_line_ends() -> None:
    (node,) = load_documents("\ufeffa: 1\r\nb: 2\r\n", "f.yaml")
    assert str(position(node.value[1][0], "f")) == "f:2:1"


def test_merge_keys_follow_yaml() -> None:
    text = "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nall: {<<: [*b, *m], x: 9}\nold: {<<: *b}\n'<<': text\n"
    (document,) = load(text)  # type: ignore[misc]
    assert document[PLAIN, "all"] == {
        (PLAIN, "y"): (PLAIN, "2"),
        (PLAIN, "z"): (PLAIN, "4"),
        (PLAIN, "x"): (PLAIN, "9"),
    }
    assert document[PLAIN, "old"] == {(PLAIN, "x"): (PLAIN, "1"), (PLAIN, "y"): (PLAIN, "2")}
    assert document[TEXT, "<<"] == (PLAIN, "text")
    nested = load("a: &a {p: 1}\nb: &b {<<: *a, q: 2}\nc: {<<: *b}\n")[0]  # type: ignore[index]
    assert nested[PLAIN, "c"].keys() == {(PLAIN, "p"), (PLAIN, "q")}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("a: 1\na: 2", 2, 1), ("x: {b: 1, b: 2}", 1, 11), ("1: a\n0x1: b", 2, 1), ("true: a\nyes: b", 2, 1)],
)
def test_duplicate_keys(text: str, line: int, column: int) -> None:
    error = refused(text)
    assert (error.position.line, error.position.column) == (line, column)


def test_of_allowed_duplicates_the_last_wins_in_the_place_of_the_first() -> None:
    warnings: list[SourceError] = []
    assert load("a: 1\nb: 2\na: 3", allow_duplicate_keys=True, warn=warnings.append) == [
        {(PLAIN, "a"): (PLAIN, "3"), (PLAIN, "b"): (PLAIN, "2")}
    ]
    assert [str(w.position) for w in warnings] == ["f.yaml:3:1"]


def test_keys_of_different_types_are_no_duplicates() -> None:
    assert len(load_documents("1: a\n'1': b\n", "f")[0].value) == 2


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system", "!!binary", "!!set", "!foo", "!!omap"])
@pytest.mark.parametrize("shape", ["a: {} x", "{}: {{}}", "- [{} [1]]", "? {} x\n: 1"])
def test_unknown_tags(tag: str, shape: str) -> None:
    try:
        load_documents(shape.format(tag, tag) if shape.count("{}") == 1 else f"a: {tag} {{}}", "f")
    except SourceError as error:
        assert "unknown tag" in error.message or "not valid YAML" in error.message
    else:
        pytest.fail("the tag was accepted")


def test_alias_bombs_and_circles_and_chains() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
    for before, name in zip("abcdefgh", "bcdefghi"):
        bomb += f"{name}: &{name} [{','.join(['*' + before] * 10)}]\n"
    assert "aliases expand" in refused(bomb).message
    assert "contains itself" in refused("a: &x {b: [*x]}").message
    chain = "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 300))
    assert "aliases nest deeper" in refused(chain).message
    assert load("a: &x [1]\nb: [*x, *x]")[0][PLAIN, "b"] == [[(PLAIN, "1")]] * 2  # type: ignore[index]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_nesting_is_limited_before_the_stack_is(opening: str) -> None:
    error = refused(opening * 100_000)
    assert error.kind == "syntax"


def test_size_is_limited_in_bytes() -> None:
    assert "larger than 10 MiB" in refused("#" * (nodes.MAX_BYTES + 1)).message
    assert "larger than 10 MiB" in refused("#" + "é" * (nodes.MAX_BYTES // 2 + 1)).message


@pytest.mark.parametrize(
    "text", ["a: \x00", "a: \x07", "a: \ud800", "%YAML 9.9\n---\na", "a: 'b", "\t a", "a: *b", "*"]
)
def test_what_is_no_yaml(text: str) -> None:
    assert refused(text).message.startswith("not valid YAML") or text == "%YAML 9.9\n---\na"


_PIECES = st.sampled_from(
    [
        "a",
        ": ",
        "- ",
        "\n",
        "  ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "'",
        '"',
        "&x",
        "*x",
        "!yaql ",
        "!t",
        "|",
        ">",
        "<<",
        "$.f()",
        "=",
        "?",
        "---\n",
        "#",
        "%",
        "@",
        "\t",
        "1",
        "~",
        "é",
        "\x00",
        "\ud800",
    ]
)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(_PIECES, max_size=40).map("".join))
def test_garbage_is_loaded_or_refused(text: str) -> None:
    for duplicates in (False, True):
        try:
            documents = load_documents(text, "f", allow_duplicate_keys=duplicates)
        except SourceError as error:
            assert error.position is not None and error.position.line >= 1
        else:
            assert isinstance(documents, list)
