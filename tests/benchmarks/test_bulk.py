"""Rows that are made for measurements are such as the service writes."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from benchmarks import bulk, service_catalog

pytestmark = pytest.mark.django_db


def test_packages_are_as_the_service_would_have_written_them() -> None:
    from vetro.server.catalog.models import Package, PackageClass, PackageText
    from vetro.server.catalog.storage import texts

    service_catalog.fill(30)
    service_catalog.fill(40, first=30)
    made = {facts["fqn"]: facts for facts in service_catalog.made_up(40)}
    rows = {row.fqn: row for row in Package.objects.prefetch_related("classes", "tags", "requirements", "categories")}
    assert rows.keys() == made.keys()
    for fqn, facts in made.items():
        row = rows[fqn]
        assert (row.tag_names, row.required, row.supplier, row.size) == (facts["tags"], {"io.murano": "0"}, {}, 0)
        assert (row.is_public, row.enabled, row.usable) == (facts["public"], True, True)
        assert sorted(c.name for c in row.classes.all()) == sorted(row.class_names) == sorted(facts["classes"])
        assert sorted(t.tag for t in row.tags.all()) == sorted(facts["tags"])
        assert [c.name for c in row.categories.all()] == row.category_names == [facts["category"]]
        assert PackageText.objects.values(*texts(row)).get(package=row) == texts(row)
    assert all(c.ancestors.get().name == "io.murano.Object" for c in PackageClass.objects.all())


def test_the_database_goes_on_counting_after_given_numbers() -> None:
    from vetro.server.catalog.models import Package, PackageClass

    service_catalog.fill(2)
    last = PackageClass.objects.order_by("id").values_list("id", flat=True).last()
    package = Package.objects.first()
    assert last is not None and package is not None
    added = PackageClass.objects.create(package=package, name="com.example.More")
    assert added.id == last + 1 == bulk.next_number(PackageClass) - 1


@pytest.mark.parametrize("word", ["database", "ki"])
def test_what_was_written_is_found(word: str) -> None:
    from vetro.server.caller import Caller
    from vetro.server.catalog.search import Query, page

    service_catalog.fill(300)
    project = service_catalog.PROJECTS[0]
    seen = [facts for facts in service_catalog.made_up(300) if facts["public"] or facts["project"] == project]
    having = {
        facts["fqn"]
        for facts in seen
        if word in repr([value for name, value in facts.items() if name not in ("public", "project")]).lower()
    }
    found = {row[1] for row in page(Caller("u", "u", project, "p"), Query(search=word, limit=400))}
    assert found == having and found


def test_settings_last_as_long_as_the_filling() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("settings of PostgreSQL")

    def shown() -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('synchronous_commit'), current_setting('gin_pending_list_limit')")
            return cursor.fetchone()

    before = shown()
    with bulk.settings():
        assert shown() == ("off", "1GB") != before
    assert shown() == before
