"""What pickers offer."""

from __future__ import annotations

from typing import Any

from tests.server.catalog.archives import archive
from vetro.server.catalog.classes import implementations
from vetro.server.catalog.imports import import_packages


def test_inheritors_by_type_and_version(ann: Any, eve: Any) -> None:
    meta = "Namespaces: {=: com.example}\nName: Mark\nUsage: Meta\nCardinality: One\n"
    import_packages(
        ann.caller,
        [
            archive("com.example.Base", "1.0.0", Name="Base"),
            archive("com.example.Near", "1.0.0", Name="Z", extends="com.example.Base", Require={"com.example.Base": 1}),
            archive("com.example.Near", "1.2.0", Name="Z", extends="com.example.Base", Require={"com.example.Base": 1}),
            archive("com.example.Mark", classes={"com.example.Mark": meta}),
        ],
    )
    found = implementations(ann.caller, "com.example.Base")
    assert [(i.class_name, i.version) for i in found] == [("com.example.Base", "1.0.0"), ("com.example.Near", "1.2.0")]
    found = implementations(ann.caller, "com.example.Base", spec="1.0.0")
    assert {i.version for i in found} == {"1.0.0"} and len(found) == 2
    assert [i.class_name for i in implementations(ann.caller, "com.example.Base", search="near")] == [
        "com.example.Near"
    ]
    assert len(implementations(ann.caller, "com.example.Base", limit=1, offset=1)) == 1
    assert implementations(eve.caller, "com.example.Base") == []
    assert implementations(ann.caller, "com.example.Mark") == []
    assert {i.class_name for i in implementations(ann.caller, "io.murano.Application")} == {
        "com.example.Base", "com.example.Near",
    }  # fmt: skip
