from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from semantic_version import SimpleSpec
from semantic_version import Version as SemanticVersion

from tests.support.fuzzing import examples
from vetro.muranopl.declarations.versions import (
    ANY,
    Version,
    latest,
    parse_spec,
    parse_version,
    substitute,
    version_key,
)
from vetro.muranopl.errors import DeclarationError

CATALOG = ["0.3.0", "1.0.0-rc.1", "1.0.0", "1.2.0", "1.2.5", "1.3.0-a", "2.0.0-0", "2.0.0", "2.1.0-rc.1"]


def chosen(spec: object, catalog: list[str] = CATALOG) -> str | None:
    found = parse_spec(spec).select(Version(v) for v in catalog)  # type: ignore[arg-type]
    return None if found is None else str(found)


def matching(spec: object) -> list[str]:
    return [v for v in CATALOG if parse_spec(spec).match(Version(v))]  # type: ignore[arg-type]


# -- versions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "0.0.0"),
        ("", "0.0.0"),
        ("1", "1.0.0"),
        (1, "1.0.0"),
        (1.2, "1.2.0"),
        (" 1.2 ", "1.2.0"),
        ("1.2.3-rc.1+b", "1.2.3-rc.1+b"),
        ("01.2", "1.2.0"),
    ],
)
def test_partial_versions_are_completed(text: str | int | float | None, expected: str) -> None:
    assert str(parse_version(text)) == expected


@pytest.mark.parametrize(
    "text", ["abc", "v1", "1..2", "1.2.3-01", "-1", "\u0661.\u0662", "1 2", "1\n.2", "9" * 300, "1/2", True]
)
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(DeclarationError, match="is no version") as caught:
        parse_version(text)
    assert caught.value.hint


# -- specs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (None, "0.3.0"),
        ("", "0.3.0"),
        (0, "0.3.0"),
        ("1", "1.3.0-a"),
        (1, "1.3.0-a"),
        ("1.2", "1.2.5"),
        (1.2, "1.2.5"),
        ("1.2.0", "1.2.0"),
        ("=1.2.0", "1.2.0"),
        ("== 1.2.0", "1.2.0"),
        (">=1.0, <2", "1.3.0-a"),
        (">1.0, <=1.2", "1.2.5"),
        ("<1.2", "1.0.0"),
        (">=2, <2.1", "2.0.0"),
        ("!=2.1.0-rc.1", "2.0.0"),
        ("!=2", "1.3.0-a"),
        ("*", "2.1.0-rc.1"),
        ("1.*", "1.3.0-a"),
        ("3", None),
        ("1.2.3", None),
    ],
)
def test_the_highest_matching_version_is_chosen(spec: object, expected: str | None) -> None:
    assert chosen(spec) == expected


def test_series_bounds_are_those_of_semantics_3_3() -> None:
    assert [str(t) for t in parse_spec("1").terms] == [">=1.0.0", "<2.0.0-0"]
    assert [str(t) for t in parse_spec("1.2").terms] == [">=1.2.0", "<1.3.0-0"]
    assert [str(t) for t in parse_spec(">1").terms] == [">=2.0.0-0"]
    assert [str(t) for t in parse_spec("<=1.2").terms] == ["<1.3.0-0"]
    assert [str(t) for t in parse_spec("<1.2").terms] == ["<1.2.0-0"]
    assert [str(t) for t in parse_spec(">=1").terms] == [">=1.0.0"]


def test_not_a_series_leaves_out_the_whole_series() -> None:
    assert matching("!=1") == ["0.3.0", "2.0.0-0", "2.0.0", "2.1.0-rc.1"]
    assert [[str(t) for t in c] for c in parse_spec("!=1").excluded] == [[">=1.0.0-0", "<2.0.0-0"]]


def test_conditions_are_joined() -> None:
    assert matching(">=1,!=1.2.5,<2") == ["1.0.0", "1.2.0", "1.3.0-a"]
    assert matching(">1.2.0,>=1.2.0,<=1.2.5,<2") == ["1.2.5"]
    assert matching(">2,<1") == []


def test_build_metadata_counts_only_where_it_is_named() -> None:
    versions = [Version("1.0.0+a"), Version("1.0.0+b"), Version("1.0.0")]
    assert [v.build for v in versions if parse_spec("1.0.0").match(v)] == [("a",), ("b",), ()]
    assert [v.build for v in versions if parse_spec("==1.0.0+b").match(v)] == [("b",)]
    assert [v.build for v in versions if parse_spec("!=1.0.0+b").match(v)] == [("a",), ()]
    assert parse_spec("1.0.0").select(versions) == Version("1.0.0+b")


@pytest.mark.parametrize(
    "text",
    [
        "abc",
        "1.x",
        "v1",
        ">=1,",
        ",",
        "<=1.0.0+b",
        "1.2-rc",
        "1.2.3.4",
        "01.2",
        "*.1",
        "<*",
        "1 || 2",
        "9" * 300,
        False,
        "1.2.3-01",
        ">",
        "1,,2",
        "\u0661",
    ],
)
def test_malformed_specs_are_refused_with_a_hint(text: str) -> None:
    with pytest.raises(DeclarationError, match="version spec") as caught:
        parse_spec(text)
    assert "write a version" in (caught.value.hint or "")


def test_specs_are_parsed_once() -> None:
    assert parse_spec(">=1.5") is parse_spec(">= 1.5".replace(" ", ""))
    assert parse_spec(parse_spec("1")) is parse_spec("1")
    assert parse_spec("> 1") == parse_spec(">1") and hash(parse_spec("> 1")) == hash(parse_spec(">1"))


def test_exact_tells_single_full_versions() -> None:
    assert parse_spec("=1.2.3").exact == Version("1.2.3")
    assert parse_spec("1.2").exact is None
    assert parse_spec("1.2.3,<2").exact is None
    assert parse_spec("!=1.2.3").exact is None


number = st.integers(0, 3)
identifier = st.sampled_from(["0", "1", "10", "a", "b", "rc", "A", "-", "a1"])
prerelease = st.lists(identifier, max_size=3).map(tuple)


@st.composite
def versions(draw: st.DrawFn) -> Version:
    return Version(major=draw(number), minor=draw(number), patch=draw(number), prerelease=draw(prerelease), build=())


@given(versions(), versions())
def test_keys_order_like_the_library(a: Version, b: Version) -> None:
    assert (version_key(a) < version_key(b)) == (a < b)
    assert (version_key(a) == version_key(b)) == (a == b)


@settings(max_examples=examples(200))
@given(
    st.lists(
        st.tuples(st.sampled_from(["", "=", "==", ">", ">=", "<", "<=", "!=", "^", "~", "~="]), versions()),
        min_size=1,
        max_size=3,
    ),
    st.lists(versions(), max_size=8),
)
def test_full_versions_match_like_the_library(clauses: list[tuple[str, Version]], catalog: list[Version]) -> None:
    # The library ends `^1.0.0-a` before 1.0.0 itself; ours is the series, as for releases.
    assume(all(not v.prerelease for op, v in clauses if op in ("^", "~", "~=")))
    text = ",".join(f"{op}{version}" for op, version in clauses)
    theirs, ours = SimpleSpec(text), parse_spec(text)
    for version in [*catalog, *(v for _, v in clauses)]:
        assert ours.match(version) == theirs.match(SemanticVersion(str(version))), (text, str(version))
    assert str(ours.select(catalog)) == str(theirs.select(SemanticVersion(str(version)) for version in catalog))


@settings(max_examples=examples(200))
@given(st.sampled_from(["", ">=", "<=", "<"]), number, st.none() | number, versions())
def test_series_match_like_the_library_where_it_has_no_surprise(
    op: str, major: int, minor: int | None, version: Version
) -> None:
    text = f"{op}{major}" + ("" if minor is None else f".{minor}")
    assert parse_spec(text).match(version) == SimpleSpec(text).match(SemanticVersion(str(version)))


@given(st.sampled_from(["", ">", ">=", "<", "<=", "!=", "^", "~", "~="]), versions(), versions())
def test_terms_say_the_same_as_match(op: str, bound: Version, version: Version) -> None:
    import operator

    assume(op or not bound.build)
    compare = {"==": operator.eq, ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
    spec = parse_spec(f"{op}{bound}")

    def holds(terms: tuple) -> bool:  # type: ignore[type-arg]
        return all(compare[t.op](version_key(version), version_key(t.version)) for t in terms)

    assert spec.match(version) == (holds(spec.terms) and not any(holds(c) for c in spec.excluded))


@settings(max_examples=examples(200))
@given(st.text(alphabet="0123456789.<>=!~^*,-+ ax", max_size=12))
def test_any_text_is_a_spec_or_refused(text: str) -> None:
    try:
        spec = parse_spec(text)
    except DeclarationError:
        return
    assert parse_spec(str(spec)) == spec


# -- replacements -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requested", "catalog", "expected"),
    [
        ("1.2.3", ["1.2.0", "1.2.5", "1.3.0", "2.0.0"], "1.2.5"),
        ("1.4.0", ["1.2.0", "1.5.1", "2.0.0"], "1.5.1"),
        ("3.0.0", ["1.2.0", "2.0.0"], None),
        ("1.2.3", ["1.2.5-rc", "1.2.0", "1.9.0"], "1.2.0"),
        ("1.2.3", ["1.2.5-rc", "1.9.0"], "1.2.5-rc"),
        ("1.2.3", ["1.2.3", "1.2.9"], "1.2.3"),
        ("1.2.3", [], None),
    ],
)
def test_versions_that_are_gone_are_replaced(requested: str, catalog: list[str], expected: str | None) -> None:
    found = substitute(Version(requested), [Version(v) for v in catalog])
    assert (None if found is None else str(found)) == expected


def test_latest_prefers_releases() -> None:
    assert latest([Version("1.0.0"), Version("2.0.0-rc")]) == Version("1.0.0")
    assert latest([Version("1.0.0-a"), Version("2.0.0-rc")]) == Version("2.0.0-rc")
    assert latest([]) is None
    assert ANY.match(Version("0.0.0-0"))
