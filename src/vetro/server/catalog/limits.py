"""How much a package may say about itself, and a request about packages: rows, indexes and answers grow with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from vetro.diagnostics import Text, encode_messages
from vetro.server.catalog.models import Package
from vetro.server.errors import Invalid

MOST_TAGS: Final = 500
MOST_CLASSES: Final = 5000
MOST_REQUIRED: Final = 500
#: Findings that are stored with a package; a note tells how many more there are.
MOST_FINDINGS: Final = 500
#: Characters of a description, of the author, of what is said of the supplier (as JSON), of a tag.
LONGEST_TEXT: Final = 65_536
LONGEST_TAG: Final = 255
#: Operations of one patch, and values of one filter of a list.
MOST_OPERATIONS: Final = 1000
MOST_VALUES: Final = 500


def check_size(row: Package, said: Callable[[Text], Text] = lambda text: text) -> None:
    """Raises `Invalid` for a package that says more than any needs to, with what ``said`` makes of the reason."""
    for count, most, what in (
        (len(row.tag_names), MOST_TAGS, Text("tags")),
        (len(row.class_names), MOST_CLASSES, Text("classes")),
        (len(row.required), MOST_REQUIRED, Text("required packages")),
    ):
        if count > most:
            raise Invalid(said(Text("it has {count:,} {what}, {most:,} at most", count=count, what=what, most=most)))
    for text, what in (
        (row.description, Text("its description")),
        (row.author, Text("its author")),
        (json.dumps(row.supplier, ensure_ascii=False, default=str), Text("what it says of its supplier")),
    ):
        if len(text) > LONGEST_TEXT:
            raise Invalid(
                said(
                    Text(
                        "{what} has {count:,} characters, {most:,} at most",
                        what=what,
                        count=len(text),
                        most=LONGEST_TEXT,
                    )
                )
            )


def check_tags(tags: Sequence[str]) -> None:
    """Raises `Invalid` for too many tags, and for one that is too long."""
    if len(tags) > MOST_TAGS:
        raise Invalid(Text("A package has at most {most_tags} tags", most_tags=MOST_TAGS))
    if any(len(tag) > LONGEST_TAG for tag in tags):
        raise Invalid(Text("A tag should be {longest_tag} characters maximum", longest_tag=LONGEST_TAG))


def check_values(values: Sequence[str], what: str) -> list[str]:
    """The different values of a filter. Raises `Invalid` for too many."""
    found = list(dict.fromkeys(values))
    if len(found) > MOST_VALUES:
        raise Invalid(
            Text(
                "'{what}' has {found:,} values, {most_values} at most",
                what=what,
                found=len(found),
                most_values=MOST_VALUES,
            )
        )
    return found


def shortened(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The findings that are kept: errors first where there are too many, then a note on the others."""
    if len(findings) <= MOST_FINDINGS:
        return findings
    kept = sorted(findings, key=lambda f: f["severity"] != "error")[:MOST_FINDINGS]
    more = len(findings) - len(kept)
    place = {"file": "manifest.yaml", "line": 1, "column": 1}
    text = encode_messages({"message": Text("there are {more:,} more findings", more=more)})
    note = {"severity": "warning", "code": "SRV520", **text, "hint": None,
            "position": place}  # fmt: skip
    return [*kept, note]
