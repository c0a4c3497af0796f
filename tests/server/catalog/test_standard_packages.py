"""The standard packages in the catalog."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.library import core_package
from vetro.server.catalog import blobs, service, standard_packages
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.models import Ancestor, Package
from vetro.server.errors import Forbidden


def test_they_are_there_with_archives_and_ancestors(db: None) -> None:
    standard_packages.ensure()
    core = Package.objects.get(fqn="io.murano")
    assert core.embedded and core.is_public and core.usable
    assert blobs.get(core.digest) == core_package().blob
    assert Ancestor.objects.filter(of__name="io.murano.Environment", name="io.murano.Object").exists()
    before = list(Package.objects.order_by("fqn").values_list("id", "updated"))
    standard_packages.ensure()
    assert list(Package.objects.order_by("fqn").values_list("id", "updated")) == before


def test_an_older_one_is_brought_up_to_date(db: None) -> None:
    standard_packages.ensure()
    Package.objects.filter(fqn="io.murano").update(digest="0" * 64, version="0.0.0-old")
    standard_packages.ensure()
    assert Package.objects.get(fqn="io.murano").digest == standard_packages.installed()[0].digest


def test_an_administrator_replaces_and_restores_them(ann: Any, root: Any) -> None:
    standard_packages.ensure()
    first = Package.objects.get(fqn="io.murano")
    with pytest.raises(Forbidden):
        service.delete(root.caller, first)
    with pytest.raises(Forbidden):
        service.change(root.caller, first, enabled=False)
    with pytest.raises(Forbidden):
        service.change(ann.caller, first, name="mine")
    data = core_package().blob
    replaced = import_packages(root.caller, [data], is_public=True).packages[0]
    assert list(Package.objects.filter(fqn="io.murano")) == [replaced]
    standard_packages.ensure()
    assert list(Package.objects.filter(fqn="io.murano")) == [replaced]
    service.delete(root.caller, replaced)
    assert Package.objects.get(fqn="io.murano").embedded
