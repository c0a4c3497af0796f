"""New objects that a form begins with, since nobody could decide otherwise."""

from __future__ import annotations

from typing import Any

from tests.server.catalog.archives import archive
from vetro.server.catalog import service
from vetro.server.environments import drafts, sessions
from vetro.server.forms import form_session

APP = """
Namespaces: {=: a, std: io.murano}
Name: App
Extends: std:Application
Properties:
  host: {Contract: $.class(Host).notNull()}
  spare: {Contract: $.class(Host)}
  store: {Contract: $.class(Store).notNull()}
  again: {Contract: $.class(App).notNull()}
"""
CLASSES = {
    "a.App": APP,
    "a.Host": "Namespaces: {=: a}\nName: Host\nProperties: {disk: {Contract: $.class(Disk).notNull()}}\n",
    "a.Disk": "Namespaces: {=: a}\nName: Disk\nProperties: {size: {Contract: $.int().notNull()}}\n",
    "a.Store": "Namespaces: {=: a}\nName: Store\n",
    "a.Shelf": "Namespaces: {=: a}\nName: Shelf\nExtends: Store\n",
}


CLASSES_OF_B = {
    "b.Box": "Namespaces: {=: b, std: io.murano}\nName: Box\nExtends: std:Application\n",
    "b.Pile": "Namespaces: {=: b, std: io.murano}\nName: Pile\nExtends: std:Application\n"
    "Properties: {box: {Contract: $.class(Box).notNull()}}\n",
}


def begun(ann: Any, environment: str) -> Any:
    (row,) = service.import_packages(ann.caller, [archive("a.App", Name="App", classes=CLASSES)]).packages
    return form_session.begin(ann.caller, environment_id=environment, package=row.id)


def test_what_has_to_be_new_and_can_be_but_one_thing_is_there(installed: None, ann: Any, environment: str) -> None:
    """Whoever wanted a Redis had to choose 'New: Server' from a list of one, and one object in it after the other."""
    shown = begun(ann, environment)
    fields = {field.name: field for field in shown.form.pages[0].fields()}
    host = fields["host"].value
    assert host["?"]["type"].startswith("a.Host/") and host["disk"]["?"]["type"].startswith("a.Disk/")
    assert "size" not in host["disk"]  # that is asked for
    assert fields["spare"].value is None and fields["store"].value is None and fields["again"].value is None


def test_what_is_there_is_to_be_chosen(installed: None, ann: Any, environment: str) -> None:
    session = sessions.open_session(ann.caller, environment)
    service.import_packages(ann.caller, [archive("b", Name="B", classes=CLASSES_OF_B)])
    drafts.add_services(ann.caller, environment, session.id, {"?": {"type": "b.Box", "id": "box"}})
    shown = form_session.begin(ann.caller, environment_id=environment, session_id=session.id, class_name="b.Pile")
    (field,) = [field for field in shown.form.pages[0].fields() if field.name == "box"]
    assert field.value is None and [choice.value for choice in field.picker.existing] == ["box"]
