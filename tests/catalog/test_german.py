"""The applications of `catalog/` speak German: nothing that people read is left without it, in any version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.catalog.test_applications import CATALOG, NAMES, versions
from vetro.library import core_packages
from vetro.packages import open_package
from vetro.packages.package import LoadedPackage
from vetro.packages.texts import check_translations, missing, sources, translations

SHIPPED = [path for name in NAMES for path in versions(name)]
#: Words that German shares, and names.
_SAME = re.compile(
    r"HAProxy|MariaDB|Memcached|PostgreSQL|RabbitMQ|Redis|WordPress|Server|Status|Name|TLS|HOST:PORT|Webhook"
    r"|Git repository|Region|Image|Flavor|Host|Port|Pool"
)


def complaints(package: LoadedPackage) -> list[str]:
    said = translations(package.files)["de"]
    found = [f"{package.name} {package.version}: {source.text}" for source in missing(sources(package), said)]
    found += [str(problem) for problem in check_translations(package)]
    found += [
        f"{package.name}: {text} stays {meant}"
        for text, meant in said.items()
        if text == meant and not _SAME.fullmatch(text)
    ]
    return found


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_an_application_is_german(path: Path) -> None:
    package = open_package(path)
    assert complaints(package) == []
    assert path.is_relative_to(CATALOG) and len(sources(package)) > 5


def test_the_standard_packages_are_german() -> None:
    assert [line for package in core_packages() for line in complaints(package)] == []


def test_one_word_has_one_german_word_in_all_applications() -> None:
    found: dict[str, set[str]] = {}
    for path in SHIPPED:
        for text, meant in translations(open_package(path).files)["de"].items():
            found.setdefault(text, set()).add(meant)
    assert {text: meant for text, meant in found.items() if len(meant) > 1} == {}
