"""`Version` against `semantic_version`, which plug-ins of others use: both have to mean the same by one text."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import semantic_version
from hypothesis import given
from hypothesis import strategies as st

from vetro.muranopl.declarations.version import Version

IDENTIFIER = st.text("019aB-", min_size=0, max_size=3)
NUMBER = st.sampled_from(["0", "1", "2", "10", "01"])
TEXTS = st.one_of(
    st.builds(
        lambda numbers, tail: ".".join(numbers) + tail,
        st.lists(NUMBER, min_size=1, max_size=4),
        st.builds(
            lambda *parts: "".join(parts), *[st.sampled_from(["", "-", "+", ".", "_", "a", "rc1", "0", "01"])] * 4
        ),
    ),
    st.builds(
        lambda release, pre, build: f"{release}-{'.'.join(pre)}+{'.'.join(build)}".rstrip("+").rstrip("-"),
        st.sampled_from(["1.0.0", "1.2.0", "0.0.1"]),
        st.lists(IDENTIFIER, max_size=3),
        st.lists(IDENTIFIER, max_size=2),
    ),
)


def read(make: Any, text: str) -> Any:
    try:
        return make(text)
    except ValueError:
        return None


def parts(version: Any) -> Any:
    return version and (version.major, version.minor, version.patch, version.prerelease, version.build, str(version))


@given(TEXTS)
def test_the_same_texts_are_versions(text: str) -> None:
    assert parts(read(Version, text)) == parts(read(semantic_version.Version, text))


@given(TEXTS)
def test_what_is_no_version_is_completed_in_the_same_way(text: str) -> None:
    assert parts(read(Version.coerce, text)) == parts(read(semantic_version.Version.coerce, text))


@given(TEXTS, TEXTS)
def test_the_same_order(one: str, other: str) -> None:
    ours = [read(Version.coerce, text) for text in (one, other)]
    theirs = [read(semantic_version.Version.coerce, text) for text in (one, other)]
    if None in ours:
        return
    for compare in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
        assert getattr(ours[0], compare)(ours[1]) == getattr(theirs[0], compare)(theirs[1]), compare
    assert ours[0] != ours[1] or hash(ours[0]) == hash(ours[1])


def test_parts_may_be_given_by_name() -> None:
    made = Version(major=1, minor=2, prerelease=["rc", "1"], build=["b"])
    assert repr(made) == "Version('1.2.0-rc.1+b')" and made == Version("1.2.0-rc.1+b")
    with pytest.raises(ValueError, match="may not begin with 0"):
        Version(major=1, prerelease=["01"])


def test_it_is_no_other_thing() -> None:
    version = Version("1.0.0")
    assert version != "1.0.0" and version != None  # noqa: E711 - what is tested
    with pytest.raises(TypeError):
        assert version < (1, 0, 0)
    assert pickle.loads(pickle.dumps(version)) == version
