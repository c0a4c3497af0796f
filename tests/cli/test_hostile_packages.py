"""`vetro deploy` of a package that writes commands for the host's packet filter into its template (C1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import write_package
from tests.cli.deploykit import Place

pytestmark = pytest.mark.attack("templates", "C1")

TEXT = "10.9.9.9 } drop\n}\n}\nflush ruleset\ntable inet mine {\nchain c {\n"
SAID = "resources.p: allowed_address_pairs[0].ip_address: '10.9.9.9 } drop"

APPLICATION = """\
Namespaces: {=: evil, std: io.murano}
Name: App
Extends: std:Application
Methods:
  deploy:
    Body:
      - $stack: $.find(std:Environment).require().stack
      - $stack.updateTemplate({resources => {p => {type => 'OS::Neutron::Port', properties => $.pair()}}})
      - $stack.push()
  pair:
    Body:
      - Return:
          network: private
          allowed_address_pairs: [{ip_address: TEXT}]
"""
TEMPLATE = """\
heat_template_version: 2013-05-23
parameters:
  address: {type: string, default: TEXT}
resources:
  p:
    type: OS::Neutron::Port
    properties:
      network: private
      allowed_address_pairs: [{ip_address: {get_param: address}}]
"""


@pytest.fixture
def place(here: Path) -> Place:
    return Place(here)


def _refused(place: Place, package: Path) -> None:
    said = " ".join(place.refused("deploy", str(package), "--env", "e", "--driver", "record").split())
    assert SAID in said and "is no network as 10.0.0.0/24" in said
    assert place.data("cloud", "status")["servers"] == []
    assert place.status() == "failed"


def test_a_class_that_pushes_such_a_port_is_told_resource_and_property(place: Place, tmp_path: Path) -> None:
    package = write_package(tmp_path / "evil", {"evil.App": APPLICATION.replace("TEXT", json.dumps(TEXT))}, name="evil")
    _refused(place, package)


def test_a_package_of_a_template_is_told_the_same(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "hot"
    folder.mkdir()
    (folder / "manifest.yaml").write_text(
        "Format: Heat.HOT/1.0\nType: Application\nFullName: evil.Hot\nName: Hot\nDescription: d\nAuthor: a\nTags: []\n"
    )
    (folder / "template.yaml").write_text(TEMPLATE.replace("TEXT", json.dumps(TEXT)))
    _refused(place, folder)
