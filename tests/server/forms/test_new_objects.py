"""New objects that a form begins with, since nobody could decide otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.catalog.archives import archive
from vetro.server.catalog import service
from vetro.server.environments import drafts, sessions
from vetro.server.environments.models import Environment
from vetro.server.forms import cloud_lists, form_session

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


POOL = """
Namespaces: {=: c, std: io.murano, res: io.murano.resources, v: io.vetro.forms}
Name: Pool
Extends: std:Application
Meta:
  - v:Preset:
      name: small
      title: Small
      values: {server: {'?': {type: io.murano.resources.LinuxMuranoInstance}, flavor: m1.small}}
  - v:Preset:
      name: large
      title: Large
      values: {server: {'?': {type: io.murano.resources.LinuxMuranoInstance}, flavor: m1.large}}
Properties:
  name: {Contract: $.string().notNull()}
  server: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
"""
#: Sizes of a cloud that calls them otherwise.
SIZES = [
    {"id": "1", "name": "c1", "vcpus": 1, "ram": 1024, "disk": 10},
    {"id": "2", "name": "c2", "vcpus": 1, "ram": 2048, "disk": 20},
    {"id": "8", "name": "c8", "vcpus": 4, "ram": 8192, "disk": 0},
]

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


def test_names_and_sizes_are_there_as_the_command_chooses_them(
    installed: None, ann: Any, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`vetro deploy` chose the size and the name of a server; the form asked for both, and for the application's."""
    monkeypatch.setattr(cloud_lists, "choices", lambda *given, **more: SIZES if "flavors" in given else [])
    data = archive("c.Pool", Name="Pool", classes={"c.Pool": POOL}, Require={"io.vetro": ">=0"})
    (row,) = service.import_packages(ann.caller, [data]).packages
    shown = form_session.begin(ann.caller, environment_id=environment, package=row.id)
    name = Environment.objects.get(id=environment).name
    fields = {field.name: field.value for field in shown.form.pages[0].fields()}
    assert fields["name"] == "pool"
    assert (fields["server"]["name"], fields["server"]["flavor"]) == (f"{name}-1", "c2")
    assert shown.form.preset == "small"
    shown = form_session.evaluate(ann.caller, shown.id, {}, partial=True, preset="large")
    fields = {field.name: field.value for field in shown.form.pages[0].fields()}
    assert (fields["server"]["name"], fields["server"]["flavor"]) == (f"{name}-1", "c8")
    assert shown.form.preset == "large"  # it is the one whose values the object has, as this cloud calls them
    turn = form_session.submit(ann.caller, shown.id, {}, partial=True)
    assert turn.outcome == "ready", turn.problems
