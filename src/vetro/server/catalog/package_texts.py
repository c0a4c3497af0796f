"""What packages of the catalog say in other languages: their texts with translations, which pages and answers choose
from (`vetro.server.language`)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from vetro.library import core_packages
from vetro.packages.texts import Translations, authored, translations
from vetro.server.catalog.models import Package


@cache
def standard() -> Translations:
    """Those of the standard packages, together."""
    found: dict[str, dict[str, str]] = {}
    for package in core_packages():
        _add(found, translations(package.files))
    return found


def texts_of(packages: Iterable[Package]) -> Translations:
    """Those of some packages and of the standard packages, together. Of what several translate the first one counts."""
    rows = list(packages)
    deferred = [row.id for row in rows if "texts" in row.get_deferred_fields()]
    found = dict(Package.objects.filter(id__in=deferred).values_list("id", "texts")) if deferred else {}
    return together(found.get(row.id, {}) if row.id in deferred else row.texts for row in rows)


def texts_of_package(id: str) -> Translations:
    """Those of a package of the catalog and of the standard packages; where there is none with this id, of these."""
    return together(Package.objects.filter(id=id).values_list("texts", flat=True))


def together(several: Iterable[Translations]) -> Translations:
    """The same, of what is known of the packages."""
    found: dict[str, dict[str, str]] = {language: dict(entries) for language, entries in standard().items()}
    for one in reversed(list(several)):
        _add(found, one)
    return found


def worded(package: Package, text: str) -> str:
    """A text of a package with its translations."""
    return authored(text, package.texts)


def _add(found: dict[str, dict[str, str]], more: Translations) -> None:
    for language, entries in more.items():
        found.setdefault(language, {}).update(entries)
