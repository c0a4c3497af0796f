"""Keys of versions sort as versions do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vetro.muranopl.declarations.versions import parse_version, version_key
from vetro.server.catalog.versions import MAX_KEY, sort_key

LABEL = st.sampled_from(["0", "1", "9", "10", "a", "alpha", "beta", "rc", "a1", "1a", "A"])
VERSION = st.builds(
    lambda parts, pre: ".".join(map(str, parts)) + ("-" + ".".join(pre) if pre else ""),
    st.tuples(*[st.integers(0, 70_000)] * 3),
    st.lists(LABEL, max_size=3),
)


@given(VERSION, VERSION)
def test_keys_sort_as_versions(one: str, other: str) -> None:
    first, second = version_key(parse_version(one)), version_key(parse_version(other))
    assert (sort_key(one) < sort_key(other)) == (first < second)


def test_keys_use_digits_only_and_fit_the_column() -> None:
    key = sort_key("1.2.3-" + "x" * 120 + "+" + "y" * 120)
    assert set(key) <= set("0123456789abcdef") and len(key) == MAX_KEY


def test_build_labels_order_equal_versions() -> None:
    assert sort_key("1.0.0") < sort_key("1.0.0+a") < sort_key("1.0.0+b") < sort_key("1.0.1")
