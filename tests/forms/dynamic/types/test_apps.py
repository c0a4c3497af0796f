from __future__ import annotations

from tests.dynamic_ui.fakes import CLOUD, FakeCatalog
from tests.forms.dynamic.making import Session, cleaned, definition
from vetro.forms.dynamic import ChoicesUnavailable


class Inheriting(FakeCatalog):
    """A catalog that knows who inherits: a package of another name with a class of its own."""

    def packages(self, class_name: str) -> list[dict[str, object]]:
        if class_name != "com.example.Server":
            return []
        return [
            {"fqn": "com.example.Tomcat", "name": "Tomcat"},
            {
                "fqn": "com.example.bundle",
                "name": "Bundle",
                "classes": ["a.X", "com.example.databases.MySql"],
            },
        ]


def test_inheritors_are_offered() -> None:
    session = Session(definition("name: a, type: com.example.Server"), catalog=Inheriting(CLOUD))
    field = session.field("a")
    assert [c.value for c in field.choices] == ["", "svc-mysql", "svc-tomcat", "svc-tomcat2"]
    assert field.picker is not None
    assert [(c.value, c.label) for c in field.picker.types] == [
        ("com.example.bundle", "Bundle"),
        ("com.example.Tomcat", "Tomcat"),
    ]


def test_version_in_the_type_of_a_service() -> None:
    field = Session(definition("name: a, type: com.example.databases.PostgreSql")).field("a")
    assert field.initial == "svc-pg"


def test_old_alias() -> None:
    field = Session(definition("name: a, type: domain, required: false")).field("a")
    assert field.widget == "error-text"
    assert field.messages["instead"].endswith("Tried: io.murano.windows.ActiveDirectory")


def test_nothing_is_null() -> None:
    assert cleaned("type: com.example.Tomcat, required: false", "") is None
    assert cleaned("type: com.example.Tomcat", "svc-tomcat") == "svc-tomcat"


def test_catalog_that_does_not_answer() -> None:
    class Broken(FakeCatalog):
        def services(self) -> list[dict[str, object]]:
            raise ChoicesUnavailable("down")

    field = Session(definition("name: a, type: com.example.Tomcat"), catalog=Broken(CLOUD)).field("a")
    assert [p.message for p in field.problems] == [ChoicesUnavailable.civil]
