"""`vetro deploy` without a server, into an OpenStack that the workspace's settings name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import write_package
from tests.cli.deploykit import Place
from tests.plugins.openstack.fake import Fake
from tests.plugins.openstack.strict import Strict

SITE = """\
Namespaces: {=: t, std: io.murano}
Name: Site
Extends: std:Application
Properties:
  word: {Contract: $.string().notNull()}
  said: {Contract: $.string(), Usage: Out}
Methods:
  deploy:
    Body:
      - $stack: $.find(std:Environment).stack
      - $stack.updateTemplate(dict(
          resources => dict(a => dict(type => 'OS::Heat::Value', properties => dict(value => $.word))),
          outputs => dict(o => dict(value => $.word))))
      - $stack.push()
      - $.said: $stack.output().get(o)
"""

FARM = """\
Namespaces: {=: t, std: io.murano}
Name: Farm
Extends: std:Application
Properties:
  flavor: {Contract: $.string().notNull()}
Methods:
  deploy:
    Body:
      - $stack: $.find(std:Environment).stack
      - $stack.updateTemplate(dict(resources => dict(web => dict(type => 'OS::Nova::Server', properties => dict(
          name => web, image => 'ubuntu-24', key_name => ops, flavor => $.flavor,
          networks => list(dict(network => corp)))))))
      - $stack.push()
"""


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake("network") as found:
        found.lists["neutron"] = {"/extensions": {"extensions": [{"alias": "security-group"}]}}
        yield found


@pytest.fixture
def place(here: Path, fake: Fake) -> Place:
    write_package(here / "site", {"t.Site": SITE})
    return workspace(here, fake)


def workspace(here: Path, fake: Fake) -> Place:
    made = Place(here)
    made.root.mkdir()
    (made.root / "vetro.toml").write_text(
        "[cloud.openstack]\n"
        f"auth_url = '{fake.url}'\nusername = 'worker'\npassword = '{fake.password}'\nproject_name = 'p'\n"
    )
    return made


@pytest.mark.campaign  # tests/plugins/openstack asks the kind
def test_stacks_are_made_in_the_openstack(place: Place, fake: Fake) -> None:
    command = ["deploy", str(place.folder / "site"), "--env", "e"]
    place.ok(*command, "--set", "word=one")
    (stack,) = fake.stacks.values()
    assert stack["stack_status"] == "CREATE_COMPLETE"
    place.ok(*command, "--set", "word=two")
    (stack,) = fake.stacks.values()
    assert (stack["stack_status"], stack["body"]["template"]["outputs"]["o"]["value"]) == ("UPDATE_COMPLETE", "two")
    place.ok("env", "destroy", "e", "--yes")
    assert fake.stacks == {}


def test_an_openstack_that_nobody_named(place: Place, fake: Fake) -> None:
    command = ["deploy", str(place.folder / "site"), "--set", "word=one", "--env"]
    place.ok("env", "create", "e")
    settings = place.root / "vetro.toml"
    text = settings.read_text()
    settings.write_text("")
    assert "cloud.openstack" in place.refused(*command, "e")
    assert "knows no OpenStack" in place.refused(*command, "f", "--driver", "openstack")
    settings.write_text(text.replace("username", "user_name"))
    assert "username" in place.refused("env", "resume", "e")
    settings.write_text(text)
    place.ok("env", "resume", "e")
    (stack,) = fake.stacks.values()
    assert stack["body"]["template"]["outputs"]["o"]["value"] == "one"


@pytest.mark.campaign  # tests/plugins/openstack/test_plans.py asks the kind
def test_a_plan_names_what_the_openstack_has(here: Path) -> None:
    with Strict() as fake:
        place = workspace(here, fake)
        write_package(here / "farm", {"t.Farm": FARM})
        command = ["deploy", str(here / "farm"), "--env", "e", "--set"]
        for flavor, told, done in (
            ("gp1.small", "+ web  (OS::Nova::Server)", ("created", ())),
            ("gp1.large", "~ web  (OS::Nova::Server): flavor", ("changed", ("flavor",))),
        ):
            asked = len(fake.asked)
            said = place.ok(*command, f"flavor={flavor}", "--plan").output
            assert told in said, said
            assert {method for method, _ in fake.asked[asked:]} == {"GET"}
            place.ok(*command, f"flavor={flavor}")
            assert fake.done[-1]["web"] == done
        for options in (["--plan"], []):
            assert "m1.tiny" in place.refused(*command, "flavor=m1.tiny", *options)
        assert len(fake.done) == 2
