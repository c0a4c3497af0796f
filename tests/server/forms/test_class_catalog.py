"""What classes of the catalog are called where somebody chooses one for a field."""

from __future__ import annotations

from typing import Any

from tests.server.catalog.archives import archive
from vetro.server.catalog import service
from vetro.server.forms.class_catalog import catalog_of, describer_for

BASE = "Namespaces: {=: a}\nName: Store\n"
HEIR = "Namespaces: {=: %s, a: a}\nName: %s\nExtends: a:Store\n"


def test_a_class_is_called_what_it_is_and_by_its_package_where_others_are_called_so(installed: None, ann: Any) -> None:
    """A consumer had to choose 'Vetro building blocks for applications: Server' for a server."""
    packages = [
        archive("a", Name="Building blocks", classes={"a.Store": BASE, "a.Shelf": HEIR % ("a", "Shelf")}),
        archive("b", Name="Barn", Require={"a": ">=0"}, classes={"b.Barn": HEIR % ("b", "Barn")}),
        archive("c.Barn", Name="Red barn", Require={"a": ">=0"}, classes={"c.Barn": HEIR % ("c", "Barn")}),
        archive("d", Name="Dairy", Require={"a": ">=0"}, classes={"d.Barn": HEIR % ("d", "Barn")}),
    ]
    service.import_packages(ann.caller, packages)
    found = catalog_of(describer_for(ann.caller.project_id, "street", ())).inheritors("a.Store", None)
    assert sorted(one.title for one in found.items) == ["Barn", "Dairy: Barn", "Red barn", "Shelf", "Store"]
