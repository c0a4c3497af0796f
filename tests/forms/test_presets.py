"""Presets: named values of a class, with which a form begins, and which one chooses and adjusts."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from tests.forms.world import describer, package
from vetro.forms.objects import Objects
from vetro.forms.sessions import ClassFormSession, FormFailed
from vetro.library import core_packages
from vetro.packages.checks.classes import check_classes

BASE = """
Namespaces: {=: p, v: io.vetro.forms}
Name: Base
Meta:
  - v:Preset: {name: small, title: Small, values: {seats: 2}}
  - v:Preset: {name: huge, values: {seats: 100}}
Properties:
  seats: {Contract: $.int().notNull(), Default: 1}
  server: {Contract: $.class(Server)}
"""
SHOP = """
Namespaces: {=: p, v: io.vetro.forms, m: io.murano.metadata, f: io.murano.metadata.forms}
Name: Shop
Extends: Base
Meta:
  - v:Preset:
      name: small
      title: Small
      description: For trying out
      values: {seats: 5, server: {size: m1.small}, pin: wonder, unknown: 3}
  - v:Preset:
      name: large
      title: Large
      values: {seats: 80, server: {'?': {type: p.Rack}, size: m1.large, slots: 4}, plan: fixed}
      default: true
  - v:Preset: {name: nothing, values: {unknown: 1}}
Properties:
  plan: {Contract: $.string(), Usage: Const}
  pin: {Contract: $.string(), Meta: {f:Secret: {}}}
  title: {Contract: $.string().notNull()}
"""
SERVER = """
Namespaces: {=: p}
Name: Server
Properties:
  size: {Contract: $.string().notNull()}
  label: {Contract: $.string()}
"""
RACK = """
Namespaces: {=: p}
Name: Rack
Extends: Server
Properties:
  slots: {Contract: $.int().notNull()}
"""
PACKAGE = package(
    {"p.Base": BASE, "p.Shop": SHOP, "p.Server": SERVER, "p.Rack": RACK}, name="p", require={"io.vetro": "1"}
)
DESCRIBER = describer(PACKAGE, *core_packages())


def session(**more: Any) -> ClassFormSession:
    ids = count()
    shop = DESCRIBER.of("p.Shop")
    assert shop is not None
    return ClassFormSession(DESCRIBER, shop, Objects([], DESCRIBER), new_id=lambda: f"n{next(ids)}", **more)


def test_presets_of_a_class_are_those_that_set_what_its_form_asks() -> None:
    shop = DESCRIBER.of("p.Shop")
    assert shop is not None
    assert [(one.name, one.title, one.description, one.default, set(one.values)) for one in shop.form.presets] == [
        ("huge", "huge", "", False, {"seats"}),
        ("small", "Small", "For trying out", False, {"seats", "server"}),  # no secrets, and nothing unknown
        ("large", "Large", "", True, {"seats", "server", "plan"}),
    ]
    assert shop.form.schema is not None
    assert [one["name"] for one in shop.form.schema["formPresets"]] == ["huge", "small", "large"]


def test_a_new_form_begins_with_the_default_and_changes_to_another() -> None:
    form_session = session()
    work = form_session.begin()
    assert work["value"]["seats"] == 80 and work["value"]["plan"] == "fixed"
    assert work["value"]["server"]["?"]["type"].startswith("p.Rack/") and work["value"]["server"]["slots"] == 4
    assert form_session.form(work).preset == "large"
    work = form_session.evaluate(work, {"title": "Corner", "server": {**work["value"]["server"], "label": "left"}})
    work = form_session.preset(work, "small")
    server = work["value"]["server"]
    # The object stays with what the preset says nothing of.
    assert (work["value"]["seats"], work["value"]["title"], server["size"], server["label"]) == (
        5, "Corner", "m1.small", "left",
    )  # fmt: skip
    assert form_session.form(work).preset == "small"
    adjusted = form_session.evaluate(work, {"seats": 6}, partial=True)
    assert form_session.form(adjusted).preset == ""
    with pytest.raises(FormFailed, match="There is no preset 'tiny'; there is: huge, small, large"):
        form_session.preset(work, "tiny")


def test_objects_of_presets_are_of_the_class_that_the_package_means() -> None:
    shop = DESCRIBER.of("p.Shop")
    assert shop is not None
    large = next(one for one in shop.form.presets if one.name == "large")
    # Without a version a type is one of version 0 for a catalog, which it need not have.
    assert large.values["server"] == {"?": {"type": "p.Rack/1.2.0@p"}, "size": "m1.large", "slots": 4}


def test_what_a_deployment_fixed_and_what_is_edited_stay() -> None:
    form_session = session(fixed=lambda id: id == "s")
    stored = {"?": {"type": "p.Shop", "id": "s"}, "title": "Old", "plan": "mine", "seats": 3}
    work = form_session.begin(stored)
    assert work["value"] == stored and form_session.form(work).preset == ""
    work = form_session.preset(work, "large")
    assert (work["value"]["plan"], work["value"]["seats"]) == ("mine", 80)


def test_the_check_of_packages_says_what_a_preset_cannot_set() -> None:
    found = [(one.code, one.message) for one in check_classes(PACKAGE)]
    assert [text for code, text in found if code == "CHK105"] == [
        "preset 'small' sets no property of the class: 'unknown'",
        "preset 'nothing' sets no property of the class: 'unknown'",
    ], found
