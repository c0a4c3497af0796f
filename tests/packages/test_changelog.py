"""What packages say of their changes: read, checked, translated."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.muranopl.declarations.versions import parse_version
from vetro.packages.changelog import LARGEST, between, read_changes
from vetro.packages.files import MemoryTree

YAML = """\
- Version: 1.1.0
  Changes:
    - {Kind: added, Text: backups}
- Version: 2.0.0
  Date: 2026-03-01
  Changes:
    - {Kind: breaking, Text: "'listenPort' is called 'port'", Element: com.example.Db.port, Do: nothing}
    - {Kind: security, Text: {en: compared in constant time, de: gleich lang verglichen}, Id: CVE-2026-0001}
"""
MARKDOWN = """\
# Changelog
## [Unreleased]
### Added
- later
## [2.0.0] - 2026-03-01
Words for people.
### Removed
- the old port,
  which nobody used
- `motd`
### Nonsense
- left out
## v1.1.0 (2026-01-02)
### Security
* tokens
## 0.9
[2.0.0]: https://example.com
"""


def read(files: dict[str, str], version: str = "2.0.0") -> tuple[list[dict[str, Any]], list[tuple[int, str, str]]]:
    releases, problems = read_changes(MemoryTree(files, "p"), parse_version(version))  # type: ignore[arg-type]
    return [one.as_json() for one in releases], [(p.place.line, p.severity, str(p.message)) for p in problems]


def test_releases_come_newest_first() -> None:
    found, problems = read({"changes.yaml": YAML})
    assert problems == []
    assert found == [
        {
            "version": "2.0.0",
            "date": "2026-03-01",
            "changes": [
                {
                    "kind": "breaking",
                    "text": {"": "'listenPort' is called 'port'"},
                    "element": "com.example.Db.port",
                    "do": {"": "nothing"},
                },
                {
                    "kind": "security",
                    "text": {"en": "compared in constant time", "de": "gleich lang verglichen"},
                    "id": "CVE-2026-0001",
                },
            ],
        },
        {"version": "1.1.0", "date": "", "changes": [{"kind": "added", "text": {"": "backups"}}]},
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1", 1, "it has to be a list of releases"),
        ("- 1", 1, "a mapping with Version, Date, Changes is expected here"),
        ("- Date: 2026-01-01", 1, "a release needs a 'Version'"),
        ("- Version: two", 1, "'two' is no version"),
        ("- Version: 3.0.0", 1, "it tells of 3.0.0, but the package has version 2.0.0"),
        ("- Version: 1.0.0\n- Version: 1.0", 2, "version 1.0.0 stands there twice"),
        ("- Version: 1.0.0\n  Date: soon", 2, "'soon' is no date"),
        ("- Version: 1.0.0\n  Changes: {}", 2, "'Changes' has to be a list"),
        ("- Version: 1.0.0\n  Changes:\n  - {Kind: fix, Text: a}", 3, "'Kind' has to be one of: breaking, security"),
        ("- Version: 1.0.0\n  Changes:\n  - {Kind: fixed}", 3, "a change needs 'Text'"),
        ("- Version: 1.0.0\n  Changes:\n  - {Kind: fixed, Text: {German: a}}", 3, "a change needs 'Text'"),
        (
            "- Version: 1.0.0\n  Changes:\n  - {Kind: fixed, Text: a, Element: the port}",
            3,
            "'the port' names no element",
        ),
        ("- Version: 1.0.0\n  Chnages: []", 2, "nobody reads 'Chnages'"),
        ("- ]", 1, "not valid YAML"),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(text: str, line: int, message: str) -> None:
    ((found, _, said),) = read({"changes.yaml": text})[1]
    assert found == line and said.startswith(message)


def test_a_changelog_is_read_where_there_is_no_other_file() -> None:
    found, problems = read({"CHANGELOG.md": MARKDOWN})
    assert problems == []
    told = [(one["version"], one["date"], [(c["kind"], c["text"][""]) for c in one["changes"]]) for one in found]
    assert told == [
        ("2.0.0", "2026-03-01", [("removed", "the old port, which nobody used"), ("removed", "`motd`")]),
        ("1.1.0", "2026-01-02", [("security", "tokens")]),
        ("0.9.0", "", []),
    ]
    assert read({"CHANGELOG.md": MARKDOWN, "changes.yaml": YAML})[0] == read({"changes.yaml": YAML})[0]
    assert read({}) == ([], [])


def test_aliases_make_no_large_text_of_a_small_file() -> None:
    first = "- Version: 1.0.0\n  Changes:\n  - {Kind: added, Text: &t %s}\n" % ("x" * 2000)
    later = "- Version: 0.%d.0\n  Changes: [" + ", ".join(["{Kind: added, Text: *t}"] * 10) + "]\n"
    text = first + "".join(later % number for number in range(100))
    assert len(text) < 40_000
    found, problems = read({"changes.yaml": text})
    assert (found, problems) == ([], [(1, "error", "the texts of all changes have more than 1,048,576 characters")])
    few = first + "".join(later % number for number in range(50))
    assert len(read({"changes.yaml": few})[0]) == 51


def test_what_is_too_large_is_not_read() -> None:
    for name, severity in (("changes.yaml", "error"), ("CHANGELOG.md", "warning")):
        assert read({name: "#" * (LARGEST + 1)})[1] == [(1, severity, f"{name} is no UTF-8 text of at most 1 MiB")]
    many = "- {Version: 1.0.0, Changes: [" + ", ".join(["{Kind: fixed, Text: a}"] * 300) + "]}"
    ((release,), ((_, severity, message),)) = read({"changes.yaml": many})
    assert (len(release["changes"]), severity, message) == (200, "warning", "only 200 entries are read")


@given(st.text(max_size=300), st.sampled_from(["changes.yaml", "CHANGELOG.md"]))
def test_nothing_that_stands_there_is_an_exception(text: str, name: str) -> None:
    read({name: text})


def test_what_lies_between_two_versions() -> None:
    releases = read_changes(MemoryTree({"changes.yaml": YAML}, "p"), parse_version("2.0.0"))[0]
    picked = between(releases, parse_version("1.1.0"), parse_version("2.0.0"))
    assert [str(one.version) for one in picked] == ["2.0.0"]
