"""Environments, regions and resources: what of them works without a cloud, and what they ask of one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.host import Host
from vetro.yaql.values import thaw

APP = """
Extends: std:Application
Properties:
  text: {Contract: $.string().notNull(), Default: hello}
  done: {Contract: $.bool(), Usage: Out}
Methods:
  deploy:
    Body:
      - $environment: $.find(std:Environment).require()
      - $environment.reporter.report($this, $.text)
      - $.done: true
"""
NETWORK = """
Extends: res:Network
Properties: {size: {Contract: $.int(), Default: 3}}
Methods:
  generateSecurityGroupManager: {Body: [{Return: !yaql "new(sys:DummySecurityGroupManager, $this)"}]}
"""
THING = """
Extends: std:CloudResource
Properties: {part: {Contract: $.class(Thing)}}
Methods:
  region: {Scope: Public, Body: [{Return: $.getRegion().name}]}
"""


def load(host: Host, environment: dict[str, Any] | None = None, applications: Any = (), **more: Any) -> Any:
    """An environment as the root of a model."""
    classes = {"App": APP, "Net": NETWORK, "Thing": THING, **more.pop("classes", {})}
    host.load("Methods: {}", classes=classes, **more)
    host.session = host.engine().session()
    model = {
        "?": {"type": "io.murano.Environment", "id": "env"},
        "name": "e",
        "applications": list(applications),
        **(environment or {}),
    }
    host.session.load({"Objects": model})
    return host.session.root


def test_deploying_an_environment_deploys_its_applications() -> None:
    host = Host()
    apps = [{"?": {"type": "t.App", "id": f"a{n}"}, "text": f"app {n}"} for n in range(3)]
    load(host, applications=apps)
    host.session.call("deploy")
    assert [(r["id"], r["text"], r["environment_id"]) for r in host.inner.reports] == [
        (f"a{n}", f"app {n}", "env") for n in range(3)
    ]
    model = host.session.finalize()["Objects"]
    assert [app["done"] for app in model["applications"]] == [True] * 3


def test_a_deployed_model_can_be_deployed_again() -> None:
    host = Host()
    load(host, applications=[{"?": {"type": "t.App", "id": "a"}}])
    host.session.call("deploy")
    first = host.session.finalize()
    second = host.engine().session()
    second.load(first)
    second.call("deploy")
    assert second.finalize()["Objects"] == first["Objects"]


def test_only_applications_fit_in() -> None:
    with pytest.raises(Exception, match=r"io\.murano\.Application"):
        load(Host(), applications=[{"?": {"type": "t.Thing", "id": "x"}}])


def test_without_a_home_region_there_is_one_nameless_region() -> None:
    root = load(Host())
    assert (root.p_region, root.p_homeRegionName, list(root.p_regions)) == ("", "", [""])
    region = root.p_regions[""]
    assert root.p_stack is region.p_stack and root.p_stack is not None
    assert region._owner is root
    broker = {
        "agentRabbitMq": {
            "host": "localhost", "port": 5672, "login": "guest", "password": "guest", "virtual_host": "/",
            "ssl": False, "insecure": False,
        }
    }  # fmt: skip
    assert thaw(root.p_regionConfigs) == {"": broker}


SETTINGS = {
    "home_region": "RegionOne",
    "rabbitmq": {"host": "mq", "port": 1, "login": "l", "password": "p", "ssl": True},
}


def test_the_home_region_is_also_the_nameless_one() -> None:
    root = load(Host(settings=SETTINGS))
    assert root.p_region == "RegionOne"
    assert list(root.p_regions) == ["RegionOne", ""]
    assert root.p_regions[""] is root.p_regions["RegionOne"]
    assert thaw(root.p_regionConfigs)["RegionOne"]["agentRabbitMq"]["host"] == "mq"


def test_regions_of_the_local_cloud_are_made_with_the_usual_broker() -> None:
    """Agents there connect without a class configuration that one has to know."""
    root = load(Host(settings={**SETTINGS, "regions": ["RegionTwo"]}))
    assert sorted(root.p_regions) == ["", "RegionOne", "RegionTwo"]
    assert thaw(root.p_regionConfigs)["RegionTwo"]["agentRabbitMq"]["host"] == "mq"


def test_configured_regions_are_made_and_known_ones_kept() -> None:
    broker = {"agentRabbitMq": {"host": "far", "login": "x", "password": "y"}}
    configs = [{"class": "io.murano.Environment", "values": {"regionConfigs": {"R2": broker}}}]
    host = Host(settings=SETTINGS, configs=configs)
    known = {"R2": {"?": {"type": "io.murano.CloudRegion", "id": "r2"}, "name": "R2"}}
    root = load(host, {"region": "R2", "regions": known})
    assert root.p_region == "R2"
    assert sorted(root.p_regions) == ["", "R2", "RegionOne"]
    assert root.p_regions["R2"]._id == "r2"
    assert host.session.types.find("io.murano.CloudRegion").find_method("getConfig").invoke(root.p_regions["R2"]) == {
        "agentRabbitMq": {**broker["agentRabbitMq"], "port": 5672, "virtual_host": "/", "ssl": False, "insecure": False}
    }


@pytest.mark.attack("broker", "brokers of regionConfigs")
def test_a_model_names_no_broker_of_a_region() -> None:
    """Who fills in a form would have servers send their answers, and take their plans, where they want."""
    evil = {"agentRabbitMq": {"host": "evil.example", "login": "x", "password": "y"}}
    root = load(Host(settings=SETTINGS), {"regionConfigs": {"RegionOne": evil, "": evil, "R2": evil}})
    assert "evil.example" not in json.dumps(thaw(root.p_regionConfigs))
    assert sorted(root.p_regions) == ["", "RegionOne"]


def test_every_region_gets_networks_of_its_own() -> None:
    networks = {"environment": {"?": {"type": "t.Net", "id": "net"}, "size": 7}, "flat": None}
    root = load(Host(settings=SETTINGS), {"defaultNetworks": networks})
    network = root.p_regions[""].p_defaultNetworks["environment"]
    assert (network._type.name, network.p_size, network.p_regionName) == ("t.Net", 7, "RegionOne")
    assert network._id != "net" and network._owner is root.p_regions[""]
    assert root.p_securityGroupManager._type.name == "io.murano.system.DummySecurityGroupManager"
    assert root.p_securityGroupManager.p_defaultGroupName == root.p_regions[""]._id


def test_the_stack_keeps_its_name() -> None:
    host = Host(settings=SETTINGS)
    load(host)
    model = host.session.finalize()
    (row,) = [row for row in model["Attributes"] if row[2] == "generatedStackName"]
    assert row[1] == "io.murano.CloudRegion" and row[3].startswith("RegionOne-")
    again = host.engine().session()
    again.load(model)
    assert [r for r in again.serialize()["Attributes"] if r[2] == "generatedStackName"] == [row]


def test_a_region_that_goes_takes_its_stack_along() -> None:
    host = Host()
    load(host)
    model = host.session.finalize()
    (region,) = model["Objects"]["regions"].values()
    last = host.engine().session()
    last.load({"ObjectsCopy": model["Objects"], "Attributes": model["Attributes"], "Objects": None})
    last.cleanup()
    assert not last.alive([region["?"]["id"]])
    (deleted,) = host.performed("stack.delete")
    assert deleted["name"].startswith("murano--") and deleted["region"] is None


# -- resources ---------------------------------------------------------------------------------------------------------


def region_of(thing: dict[str, Any], object_id: str) -> str:
    host = Host(settings=SETTINGS)
    broker = {"agentRabbitMq": {"host": "far", "login": "x", "password": "y"}}
    host.options["configs"] = [{"class": "io.murano.Environment", "values": {"regionConfigs": {"R2": broker}}}]
    holder = "Extends: std:Application\nProperties: {thing: {Contract: $.class(Thing)}}\n"
    load(host, applications=[{"?": {"type": "t.Holder", "id": "h"}, "thing": thing}], classes={"Holder": holder})
    found: str = host.session.call("region", object_id=object_id)
    return found


def test_resources_take_the_nearest_region_name() -> None:
    part = {"?": {"type": "t.Thing", "id": "part"}}
    thing = {"?": {"type": "t.Thing", "id": "thing"}, "part": part}
    assert region_of(thing, "part") == "RegionOne"
    assert region_of({**thing, "regionName": "R2"}, "part") == "R2"
    assert region_of({**thing, "regionName": "R2", "part": {**part, "regionName": "RegionOne"}}, "part") == "RegionOne"


# -- AgentListener -----------------------------------------------------------------------------------------------------


def test_listeners_start_and_stop_once() -> None:
    host = Host()
    body = "- $l: new(sys:AgentListener, name => 'Stack-X')\n" + "- $l.start()\n" * 2 + "- $l.stop()\n" * 2
    assert host.run(body + "- Return: $l.queueName()") == "-execution-results-stack-x"
    assert host.performed("agent.listen") == [
        {"queue": "-execution-results-stack-x", "on": True},
        {"queue": "-execution-results-stack-x", "on": False},
    ]


def test_the_end_of_an_execution_session_makes_pushes_that_were_put_off() -> None:
    host = Host()
    host.inner.register("stack.push", lambda args: {})
    host.run(
        "- $s: new(sys:HeatStack, name => s)\n"
        '- !yaql "$s.updateTemplate({resources => {a => 1}})"\n'
        '- !yaql "$s.push(isAsync => true)"\n- $.finishEnv()',
        rest="Extends: test:TestFixture\n",
    )
    assert [record.kind for record in host.effects.records] == ["stack.read", "stack.push", "execution"]
