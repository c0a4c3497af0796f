"""Mutation of our packages: each operator's verdict is known, and no break may be called safe."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.packages.compat.mutations import OPERATORS, Mutant, files_of, loaded, mutants
from vetro import library
from vetro.muranopl import Engine
from vetro.packages.compat.comparison import compare
from vetro.packages.compat.findings import Comparison, Level
from vetro.packages.errors import PackageError
from vetro.packages.extensions.plugins import required_extensions
from vetro.packages.package import LoadedPackage
from vetro.yaql.errors import VetroError

ROOT = Path(library.__file__).parent
EXAMPLES = Path(__file__).parents[3] / "examples"
FOLDERS = [path.parent for root in (EXAMPLES, ROOT) for path in sorted(root.rglob("manifest.yaml"))]
#: What all operators came to.
TOGETHER: Counter[str] = Counter()
#: Places at which an operator is tried, of one package.
PLACES = 3


@cache
def packages() -> list[tuple[dict[str, Any], LoadedPackage]]:
    found = []
    for folder in FOLDERS:
        files = files_of(folder)
        try:
            found.append((files, loaded(files)))
        except PackageError:  # a format of a plug-in
            continue
    return found


@cache
def linked(package: LoadedPackage) -> Any:
    """Where the classes of a package are linked."""
    mates = [other for _, other in packages() if other.name != package.name]
    extensions = required_extensions([package, *mates])
    return Engine([package, *mates, *extensions.packages], natives=extensions.natives).session()


def outcome(before: LoadedPackage, mutant: Mutant) -> Comparison | None:
    """The comparison; None where the mutant is no package any more."""
    mates = [other for _, other in packages() if other.name != before.name]
    try:
        return compare(before, loaded(mutant.files), mates)
    except VetroError:
        return None


def judged(mutant: Mutant, done: Comparison) -> str:
    """``found``, ``missed`` or ``safe``: a break of which nobody says anything."""
    element = mutant.element
    about = [one for one in done.findings if "/" in element or one.element.startswith(element)]
    if mutant.level is Level.PATCH:
        return "found" if not [one for one in about if one.level > Level.PATCH] else "missed"
    levels = {one.level for one in about}
    if mutant.level in levels and (mutant.level is Level.MAJOR or Level.MAJOR not in levels):
        return "found"
    return "safe" if mutant.level is Level.MAJOR and Level.UNKNOWN not in levels else "missed"


@pytest.mark.campaign
def test_packages_written_anew_are_the_same() -> None:
    assert len(packages()) >= 15
    for files, package in packages():
        others = [other for _, other in packages() if other.name != package.name]
        assert not compare(package, loaded(files), others).findings


@pytest.mark.campaign
@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_is_seen_for_what_it_is(name: str) -> None:
    counted: Counter[str] = Counter()
    told = []
    chance = random.Random(name)
    for files, package in chance.sample(packages(), len(packages())):
        makers = list(mutants(files, package, linked(package), OPERATORS[name]))
        for make in chance.sample(makers, min(PLACES, len(makers))):
            mutant = make()
            done = outcome(package, mutant)
            if done is None:
                continue
            verdict = judged(mutant, done)
            counted[verdict] += 1
            if verdict != "found":
                told.append((verdict, mutant.element, [(one.element, one.code, one.level) for one in done.findings]))
    print(name, dict(counted))
    assert counted.total() > 0, "nowhere to be applied"
    assert counted["safe"] == 0, told
    assert counted["found"] >= 0.9 * counted.total(), (counted, told)
    TOGETHER.update(counted)


@pytest.mark.campaign
def test_nearly_all_is_found() -> None:
    """After all operators: the tests of a file run in its order."""
    assert TOGETHER["safe"] == 0
    assert TOGETHER["found"] >= 0.95 * TOGETHER.total(), TOGETHER


def test_there_are_enough_operators() -> None:
    assert len(OPERATORS) >= 30
