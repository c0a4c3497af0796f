"""Who may see and change packages."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.catalog.archives import archive
from vetro.server.audit.models import AuditRecord
from vetro.server.catalog import service
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.models import Package
from vetro.server.errors import Conflict, Forbidden, Invalid, NotFound

pytestmark = pytest.mark.database


@pytest.fixture
def mine(ann: Any) -> Package:
    return import_packages(ann.caller, [archive()], categories=["Web"], tags=["t"]).packages[0]


def test_who_sees_what(ann: Any, bob: Any, eve: Any, root: Any, mine: Package) -> None:
    for person in (ann, bob, root):
        assert service.get_package(person.caller, mine.id) == mine
        assert mine in service.visible(person.caller)
    assert mine not in service.visible(eve.caller)
    assert mine not in service.visible(root.caller, everything=False)
    with pytest.raises(NotFound) as unknown:
        service.get_package(eve.caller, "nosuch")
    with pytest.raises(NotFound) as hidden:
        service.get_package(eve.caller, mine.id)
    assert unknown.value.message.replace("nosuch", mine.id) == hidden.value.message
    with pytest.raises(Forbidden):
        service.get_package(eve.caller, mine.id, reveal=True)
    with pytest.raises(Forbidden):
        service.package_row(eve.caller, mine.id)
    with pytest.raises(NotFound):
        service.package_row(ann.caller, "with\x00nul")


def test_changes(ann: Any, bob: Any, mine: Package) -> None:
    changed = service.change(
        bob.caller, mine, name="New", description="D", tags=["b", "a", "b"], categories=["SAP"], enabled=False
    )
    stored = Package.objects.get(id=mine.id)
    assert (stored.name, stored.sort_name, stored.description) == ("New", "new", "D")
    assert (stored.tag_names, stored.category_names, stored.enabled) == (["b", "a"], ["SAP"], False)
    assert set(stored.tags.values_list("tag", flat=True)) == {"a", "b"}
    assert changed.updated >= mine.updated
    assert AuditRecord.objects.get(action="package.change").user_name == "bob"


def test_what_is_refused_changes_nothing(ann: Any, eve: Any, mine: Package) -> None:
    for values in ({"name": " "}, {"name": "x" * 81}, {"categories": ["No"]}, {"tags": ["x" * 256]}):
        with pytest.raises(Invalid):
            service.change(ann.caller, mine, **values)  # type: ignore[arg-type]
    with pytest.raises(Forbidden):
        service.change(ann.caller, mine, is_public=True)
    with pytest.raises(Forbidden):
        service.change(eve.caller, mine, name="hers")
    with pytest.raises(Forbidden):
        service.delete(eve.caller, mine)
    assert Package.objects.get(id=mine.id).name == mine.name
    assert AuditRecord.objects.filter(action="package.change").count() == 0


def test_publishing_once(ann: Any, eve: Any, root: Any, mine: Package) -> None:
    other = import_packages(eve.caller, [archive()]).packages[0]
    service.change(root.caller, mine, is_public=True)
    with pytest.raises(Conflict):
        service.change(root.caller, other, is_public=True)
    assert service.get_package(eve.caller, mine.id) == mine
    with pytest.raises(Forbidden, match="not owned"):
        service.delete(eve.caller, mine)


def test_deleting(ann: Any, mine: Package) -> None:
    service.delete(ann.caller, mine)
    assert not Package.objects.filter(id=mine.id).exists()
    assert AuditRecord.objects.get(action="package.delete").target_name == "com.example.App"
    stale = Package(id=mine.id, project_id=mine.project_id, fqn=mine.fqn, version=mine.version, name="x")
    with pytest.raises(NotFound):
        service.change(ann.caller, stale, name="again")
