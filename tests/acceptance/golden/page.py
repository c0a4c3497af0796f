"""The page docs/v1.md: where /v1 answers otherwise than Murano did, and which test replays which exchange."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.acceptance.golden import deviations
from tests.acceptance.golden.deviations import DEVIATIONS, Deviation
from tests.acceptance.golden.recording import files, load

PAGE: Final = Path(__file__).parents[3] / "docs" / "v1.md"
#: What would differ between two recordings of Murano, too.
_EACH_TIME: Final = "RECORDING.md: "
_TEST: Final = "test_exchanges_go_as_recorded"
_TEXT: Final = """# The v1 API

`/v1` is Murano's API. What Murano 14 answered to {count} requests was recorded; a test sends the same requests to Vetro
and compares status, types and names of all fields, values, and the headers that clients look at. {same} are answered as
Murano answered them; the others are answered otherwise on purpose, and all of these are listed.
[A decision](decisions/0011-the-recorded-api.md) says which reasons count. What Murano never had is in `/v2`.

`[12]` is the thirteenth exchange of [a file](../tests/acceptance/golden/exchanges).
[Here](../tests/acceptance/golden/RECORDING.md) is how they were recorded;
`python -m tests.acceptance.golden` replays them and prints what differs.

## Where Vetro answers otherwise

| what Vetro does | exchanges |
|---|---|
{otherwise}

## Importing a package again

`murano package-import --exists-action u` imports; told that the package is there, it deletes it and imports once
more. That works for every version that nothing uses. While an environment uses it, a version can come back with the
files that it had, and with no others (403): then what was deleted a moment ago is put back as it was, so the catalog
is never left without both. To change such a package raise `Version` in its manifest: versions stand side by side.

## What is not compared

It differs from one run to the next, with Murano as well.

| what | exchanges |
|---|---|
{each_time}

## Which test replays what

The tests are `tests/acceptance/test_golden.py::{test}[FILE]`.

| FILE | exchanges | as recorded | otherwise |
|---|---|---|---|
{files}
"""


def text() -> str:
    """The page, from the table of deviations and the recorded files."""
    exchanges = {name: load(name) for name in files()}
    changed = {name: sum(_changed(one) for one in found) for name, found in exchanges.items()}
    count = sum(map(len, exchanges.values()))
    rows = (f"| {name} | {len(exchanges[name])} | {len(exchanges[name]) - n} | {n} |" for name, n in changed.items())
    return _TEXT.format(
        count=count,
        same=count - sum(changed.values()),
        otherwise=_table(one for one in DEVIATIONS if not one.why.startswith(_EACH_TIME)),
        each_time=_table(one for one in DEVIATIONS if one.why.startswith(_EACH_TIME)),
        test=_TEST,
        files="\n".join(rows),
    )


def _changed(exchange: deviations.Exchange) -> bool:
    found = deviations.of(exchange)
    return any(case in one.cases for one in DEVIATIONS if not one.why.startswith(_EACH_TIME) for case in found)


def _table(chosen: Iterable[Deviation]) -> str:
    return "\n".join(f"| {_sentence(one)} | {_places(one)} |" for one in chosen)


def _sentence(one: Deviation) -> str:
    words = one.why.partition(": ")[2]
    return words[0].upper() + words[1:]


def _places(one: Deviation) -> str:
    places: dict[str, set[int]] = {}
    for case in one.cases:
        for file, indexes in case.places.items():
            places.setdefault(file, set()).update(indexes)
    return ", ".join(f"{file} `{sorted(indexes)}`" for file, indexes in sorted(places.items()))
