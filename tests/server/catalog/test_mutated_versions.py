"""Versions of the examples whose number is too low for what was changed in them, brought to a service that warns and to
one that refuses: each operator of `tests.packages.compat.mutations`, with its known verdict.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.packages.compat.mutations import OPERATORS, Mutant, mutants
from tests.packages.compat.mutations.sites import Files, put
from tests.packages.compat.test_mutations import linked, packages
from tests.server.catalog.archives import zipped
from tests.server.catalog.test_compatibility import Settings
from tests.server.catalog.test_compatibility import settings as settings  # a fixture
from tests.support.fuzzing import every
from vetro.packages.compat.findings import Level
from vetro.packages.package import STANDARD, LoadedPackage
from vetro.server.catalog.compatibility import NumberTooLow
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.models import Package
from vetro.server.catalog.verdicts import verdict_of

pytestmark = pytest.mark.django_db

#: Findings about values: each comes with one.
OF_VALUES = frozenset({"CMP112"})
#: Operators that find no place in examples that stand alone; `tests.packages.compat.test_mutations` applies them to
#: the standard packages, which a service has already.
NOWHERE = frozenset({"contract_takes_no_null", "contract_takes_null_only", "internal_property_removed"})


def archive(files: Files, version: str) -> bytes:
    """The package in a version."""
    (tree,) = yaml.compose_all(yaml.serialize_all(files["manifest.yaml"]))
    put(tree, "Version", version)
    return zipped(
        {
            name: yaml.serialize_all(value, width=100_000) if isinstance(value, list) else value
            for name, value in {**files, "manifest.yaml": [tree]}.items()
        }
    )


def examples() -> Iterator[tuple[Files, LoadedPackage]]:
    """Those that stand alone."""
    for files, package in packages():
        if package.name not in STANDARD and set(package.requirements) <= {*STANDARD}:
            yield files, package


def mutant_of(name: str) -> tuple[Files, LoadedPackage, Mutant] | None:
    """What an operator makes of some example; None where it finds no place in any."""
    chance = random.Random(f"import {name}")
    known = list(examples())
    for files, package in chance.sample(known, len(known)):
        makers = list(mutants(files, package, linked(package), OPERATORS[name]))
        if makers:
            return files, package, chance.choice(makers)()
    return None


@pytest.mark.campaign
@pytest.mark.parametrize("name", sorted(NOWHERE))
def test_what_is_not_tried_here_has_no_place_here(name: str) -> None:
    assert mutant_of(name) is None


@pytest.mark.parametrize("name", every(6, sorted({*OPERATORS} - NOWHERE)))
def test_a_number_that_is_too_low(name: str, ann: Any, settings: Settings) -> None:
    found = mutant_of(name)
    assert found is not None, "the operator finds no place in the examples"
    files, package, mutant = found
    import_packages(ann.caller, [archive(files, "1.0.0")], strict=False)
    data = archive(mutant.files, "1.0.1")
    settings(versioning="refuse")
    if mutant.level is Level.MAJOR:
        with pytest.raises(NumberTooLow, match=r"needs 2\.0\.0 after 1\.0\.0") as caught:
            import_packages(ann.caller, [data], strict=False)
        told = caught.value.details["compatibility"]
        breaks = [one for one in told["findings"] if one["level"] == "major"]
        assert breaks and "Version: 2.0.0" in str(caught.value.hint)
        assert all(one["witness"] for one in breaks if one["code"] in OF_VALUES), breaks
        assert all(one["old"] or one["new"] for one in breaks if "/" not in mutant.element), breaks
        assert Package.objects.filter(fqn=package.name).count() == 1
    settings(versioning="warn")
    row = Package.objects.get(id=import_packages(ann.caller, [data], strict=False).packages[0].id)
    compat: Any = row.compat
    required = {Level.MAJOR: "2.0.0", Level.MINOR: "1.1.0", Level.PATCH: "1.0.1"}[mutant.level]
    assert (compat["against"]["version"], compat["required"]) == ("1.0.0", required)
    assert compat["sufficient"] is (mutant.level is Level.PATCH)
    assert (verdict_of(compat) == "breaking") is (mutant.level is Level.MAJOR)
