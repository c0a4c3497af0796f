"""Each server of an environment has a name of its own: nobody replaces or removes what another component has."""

from __future__ import annotations

from typing import Any

import pytest

from tests.library.deploying import Deployed, server
from vetro.library.natives.resourceowners import ResourceTaken
from vetro.library.natives.servernames import NameTaken

pytestmark = pytest.mark.attack("templates", "D1")

ONE: dict[str, Any] = server(id="one")
TWO: dict[str, Any] = server(id="two")


def _again(deployed: Deployed, *parts: dict[str, Any]) -> None:
    """Deploys with these parts, as a task does: the model is written whatever happens."""
    deployed.load(parts=list(parts))
    try:
        deployed.session.call("deploy")
    finally:
        deployed.model = deployed.session.finalize()


def test_two_servers_of_one_name_are_refused_before_anything_happens() -> None:
    deployed = Deployed(ONE, TWO, deploy=False)
    with pytest.raises(NameTaken, match=r"t\.App .* has twice a server called web") as caught:
        _again(deployed, ONE, TWO)
    assert "another name" in str(caught.value.hint)
    assert "stack.push" not in deployed.kinds


def test_a_later_server_of_the_name_touches_nothing_and_removes_nothing() -> None:
    deployed = Deployed(ONE)
    before, pushes = deployed.resources, deployed.kinds.count("stack.push")
    assert "web" in before
    for _ in range(2):
        with pytest.raises(NameTaken):
            _again(deployed, deployed.parts[0], TWO)
    assert deployed.kinds.count("stack.push") == pushes
    _again(deployed, deployed.parts[0])
    assert deployed.resources == before
    _again(deployed, deployed.parts[0], {**TWO, "name": "db"})
    assert {"web", "db"} <= deployed.resources.keys() and deployed.resources["web"] == before["web"]


def test_a_name_is_free_again_when_its_server_is_gone() -> None:
    deployed = Deployed(ONE)
    _again(deployed, TWO)
    assert [part["?"]["id"] for part in deployed.parts] == ["two"] and "web" in deployed.resources
    assert deployed.parts[0]["openstackId"]
    _again(deployed)
    assert "web" not in (deployed.cloud.template() or {}).get("resources", {})


STEP = (
    '{$more: !yaql "new(res:LinuxMuranoInstance, $this, name => web, flavor => small, image => debian)"},'
    " {$more: $more.deploy()}"
)


def test_a_server_made_by_a_program_is_refused_when_its_name_is_taken() -> None:
    deployed = Deployed(ONE, step=STEP)
    before = deployed.resources
    deployed.load()
    with pytest.raises(NameTaken, match="a server called web"):
        deployed.session.call("run", object_id="app")
    deployed.model = deployed.session.finalize()
    _again(deployed, deployed.parts[0])
    assert deployed.resources == before


WRITER = """
Extends: std:Application
Properties:
  resource: {Contract: $.string().notNull()}
  value: {Contract: $}
  set: {Contract: $.bool().notNull(), Default: false}
Methods:
  deploy:
    Body:
      - $stack: $.find(std:Environment).require().stack
      - $template: !yaql "{resources => {$.resource => $.value}}"
      - If: $.set
        Then: [$stack.setTemplate($template)]
        Else: [$stack.updateTemplate($template)]
      - $stack.push()
"""


def _writers(*apps: dict[str, Any], deployed: Deployed | None = None) -> Deployed:
    """An environment of one server and applications that write into the template by themselves."""
    made = deployed or Deployed(ONE, classes={"Writer": WRITER})
    objects = made.model["Objects"]
    more = [{"?": {"type": "t.Writer", "id": f"w{number}"}, **app} for number, app in enumerate(apps)]
    made.model["Objects"] = {**objects, "applications": [objects["applications"][0], *more]}
    made.deploy()
    return made


def _value(value: Any, **more: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::Value", "properties": {"value": value, **more}}


def test_code_of_one_component_cannot_replace_what_another_one_brought() -> None:
    deployed = _writers({"resource": "mine", "value": _value("a")})
    assert deployed.resources["mine"] == _value("a")
    pushes = deployed.kinds.count("stack.push")
    with pytest.raises(ResourceTaken, match="changes the resource mine of t"):
        _writers(
            {"resource": "mine", "value": _value("a")}, {"resource": "mine", "value": _value("b")}, deployed=deployed
        )
    assert deployed.kinds.count("stack.push") == pushes and deployed.resources["mine"] == _value("a")


def test_nor_the_server_of_another_one_nor_drop_all() -> None:
    for app in (
        {"resource": "web", "value": {"type": "OS::Nova::Server", "properties": {"flavor": "other"}}},
        {"resource": "other", "value": _value("a"), "set": True},
    ):
        deployed = Deployed(ONE, classes={"Writer": WRITER})
        before = deployed.resources
        with pytest.raises(ResourceTaken, match="changes the resource web of t"):
            _writers(app, deployed=deployed)
        assert deployed.resources == before


def test_components_change_their_own_and_add_to_others() -> None:
    deployed = _writers({"resource": "mine", "value": _value("a")})
    _writers({"resource": "mine", "value": _value("b")}, deployed=deployed)
    assert deployed.resources["mine"] == _value("b")
    more = {"resource": "mine", "value": {"properties": {"type": "string"}}}
    _writers({"resource": "mine", "value": _value("b")}, more, deployed=deployed)
    assert deployed.resources["mine"] == _value("b", type="string")
    server = {"resource": "web", "value": {"properties": {"metadata": {"shop": "1"}}}}
    _writers({"resource": "mine", "value": _value("b")}, more, server, deployed=deployed)
    assert deployed.resources["web"]["properties"]["metadata"]["shop"] == "1"
