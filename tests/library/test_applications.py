"""io.murano.applications: its own tests pass, servers are worked on at the same time, models survive."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.host import Host
from vetro.library import applications_package, core_packages
from vetro.muranopl.tools.fixtures import TestId, find_tests, run_test, test_engine
from vetro.packages.checks.paths import check_paths

PACKAGE = applications_package()
ENGINE = test_engine([])
TESTS = [found for found in find_tests(ENGINE, [PACKAGE]) if isinstance(found, TestId)]
REQUIRE = {"io.murano.applications": 0}


@pytest.mark.parametrize("test", TESTS, ids=[str(test).removeprefix("io.murano.applications.tests.") for test in TESTS])
def test_its_own_tests_pass(test: TestId) -> None:
    result = run_test(ENGINE, test)
    if result.error is not None:
        raise result.error


def test_it_has_the_tests_of_the_reference() -> None:
    assert {test.class_name.rpartition(".")[2] for test in TESTS} == {
        "TestReplication",
        "TestPoolReplicaProvider",
        "TestRoundrobinReplicaProvider",
        "TestCompositeReplicaProvider",
        "TestEvents",
        "TestMockedServerFactory",
        "TestSoftwareComponent",
    }


def test_check_finds_nothing() -> None:
    assert [str(problem) for _, problem in check_paths([str(PACKAGE.location)])] == []


def test_sessions_see_the_standard_packages() -> None:
    assert [(p.name, str(p.version), p.format, p.type) for p in core_packages()] == [
        ("io.murano", "0.0.0", (1, 4), "Library"),
        ("io.murano.applications", "0.0.0", (1, 4), "Library"),
        ("io.vetro", "1.0.0", (1, 4), "Library"),
        ("io.vetro.std", "1.0.0", (1, 4), "Library"),
    ]


#: (class, property) -> (usage, has a default)
PROPERTIES = {
    ("Event", "name"): ("In", False),
    ("CloneReplicaProvider", "template"): ("In", False),
    ("CompositeReplicaProvider", "providers"): ("In", False),
    ("PoolReplicaProvider", "pool"): ("In", False),
    ("PoolReplicaProvider", "consumedItems"): ("Out", False),
    ("RoundrobinReplicaProvider", "items"): ("In", False),
    ("ReplicationGroup", "provider"): ("In", False),
    ("ReplicationGroup", "minItems"): ("In", True),
    ("ReplicationGroup", "maxItems"): ("In", True),
    ("ReplicationGroup", "numItems"): ("InOut", True),
    ("ReplicationGroup", "items"): ("Out", False),
    ("ServerReplicationGroup", "items"): ("Out", False),
    ("TemplateServerProvider", "template"): ("In", False),
    ("TemplateServerProvider", "serverNamePattern"): ("In", False),
    ("TemplateServerProvider", "allocated"): ("Out", True),
    ("TemplateServerProvider", "capacity"): ("In", False),
    ("Installable", "allowedInstallFailures"): ("In", True),
    ("Installable", "beforeInstallEvent"): ("Runtime", True),
    ("Installable", "installServerEvent"): ("Runtime", True),
    ("Installable", "completeInstallationEvent"): ("Runtime", True),
    ("Configurable", "allowedConfigurationFailures"): ("In", True),
    ("Configurable", "preConfigureEvent"): ("Runtime", True),
    ("Configurable", "configureServerEvent"): ("Runtime", True),
    ("Configurable", "completeConfigurationEvent"): ("Runtime", True),
    ("SingleServerApplication", "server"): ("In", False),
    ("SingleServerApplication", "_serverGroup"): ("Out", False),
    ("MultiServerApplication", "servers"): ("In", False),
    ("MultiServerApplicationWithScaling", "servers"): ("In", False),
    ("MultiServerApplicationWithScaling", "scaleFactor"): ("In", True),
}


def test_properties_are_those_of_the_reference() -> None:
    session = ENGINE.session()
    found: dict[tuple[str, str], tuple[str, bool]] = {}
    for name in PACKAGE.classes:
        kind = session.types.in_package(PACKAGE, name)
        if ".tests." not in name:
            for prop in kind.own_properties.values():
                found[name.rpartition(".")[2], prop.name] = (prop.usage.value, prop.has_default)
    for key in (("ServerList", "servers"), ("SingleServerGroup", "server"), ("CompositeServerGroup", "serverGroups")):
        found.pop(key)
    assert found == PROPERTIES


CLASSES = {
    "Server": "Extends: io.murano.applications.tests.MockedServer",
    "App": """
Extends: [apps:MultiServerApplicationWithScaling, apps:OpenStackSecurityConfigurable]
Properties:
  done: {Contract: [$.string()], Usage: Out}
Methods:
  getConfigurationKey: {Body: {Return: fixed}}
  onInstallServer:
    Arguments: [{machine: {Contract: $}}, {group: {Contract: $}}]
    Body:
      - sleep(10)
      - $.done: $.done + ['install ' + $machine.name]
  onConfigureServer:
    Arguments: [{machine: {Contract: $}}, {group: {Contract: $}}]
    Body:
      - sleep(5)
      - $.done: $.done + ['configure ' + $machine.name]
""",
}


def model_of(count: int) -> dict[str, Any]:
    """An environment with an application on so many servers."""
    provider = {
        "?": {"type": "io.murano.applications.TemplateServerProvider", "id": "provider"},
        "serverNamePattern": "s-{}",
        "template": {"?": {"type": "t.Server"}, "flavor": "small", "image": "debian"},
    }
    group = {
        "?": {"type": "io.murano.applications.ServerReplicationGroup", "id": "group"},
        "numItems": count,
        "provider": provider,
    }
    return {
        "name": "env",
        "defaultNetworks": {"environment": {"?": {"type": "io.murano.test.DummyNetwork"}}, "flat": None},
        "applications": [{"?": {"type": "t.App", "id": "app"}, "servers": group}],
    }


def app(host: Host, count: int = 3, classes: dict[str, str] = CLASSES) -> Any:
    """A session over such an environment."""
    return host.load("Extends: std:Environment", classes=classes, require=REQUIRE, model=model_of(count))


@pytest.fixture(autouse=True)
def prefixes(monkeypatch: pytest.MonkeyPatch) -> None:
    import tests.support.host as support

    monkeypatch.setattr(support, "HEAD", support.HEAD + "  apps: io.murano.applications\n")


def test_servers_are_worked_on_at_the_same_time_though_hooks_are_overridden() -> None:
    host = Host()
    session = app(host, 20)
    started = host.clock.now()
    session.call("deploy")
    assert host.clock.now() - started == pytest.approx(15)


def test_a_stored_model_is_deployed_again_without_any_work() -> None:
    host = Host()
    app(host).call("deploy")
    model = host.session.finalize()
    attributes = {(row[0], row[1].split("/")[0], row[2]) for row in model["Attributes"]}
    server = model["Objects"]["applications"][0]["servers"]["items"][0]["?"]["id"]
    assert (server, "io.murano.applications.Installable", "installed") in attributes
    assert (server, "io.murano.applications.Configurable", "configuration") in attributes
    assert ("group", "io.murano.applications.Configurable", "configuration") in attributes

    again = host.engine().session()
    again.load(model)
    started = host.clock.now()
    again.call("deploy")
    assert host.clock.now() == started
    again.call("scaleOut", object_id="app")
    done = again.finalize()["Objects"]["applications"][0]["done"]
    assert done[-2:] == ["install s-4", "configure s-4"] and len(done) == 8


def test_what_older_engines_stored_counts() -> None:
    host = Host()
    app(host).call("deploy")
    model = host.session.finalize()
    for row in model["Attributes"]:
        if row[2] == "installed":
            row[3] = True
        elif row[2] == "configuration":
            row[3] = row[3]["app"]
    again = host.engine().session()
    again.load(model)
    again.call("deploy")
    assert len(again.finalize()["Objects"]["applications"][0]["done"]) == 6


def test_a_group_that_is_removed_gives_back_what_it_does_not_own() -> None:
    host = Host()
    replica = {"?": {"type": "io.murano.applications.tests.Replica", "id": "r"}}
    provider = {"?": {"type": "io.murano.applications.PoolReplicaProvider", "id": "p"}, "pool": [replica]}
    group = {"?": {"type": "io.murano.applications.ReplicationGroup", "id": "g"}, "provider": "p"}
    body = """
Properties:
  provider: {Contract: $.class(apps:ReplicaProvider)}
  group: {Contract: $.class(apps:ReplicationGroup)}
Methods:
  deploy: {Scope: Public, Body: [$.group?.deploy()]}
"""
    session = host.load(body, model={"provider": provider, "group": group}, require=REQUIRE)
    session.call("deploy")
    session.finalize()
    model = session.serialize(copy=True)
    assert model["Objects"]["provider"]["consumedItems"] == ["r"]
    model["Objects"]["group"] = None
    again = host.engine().session()
    again.load(model)
    again.cleanup()
    assert again.finalize()["Objects"]["provider"]["consumedItems"] == []


def test_a_failed_installation_says_why() -> None:
    host = Host()
    broken = CLASSES["App"].replace("- sleep(10)", "- Throw: Full\n        Message: no space")
    session = app(host, 1, {**CLASSES, "App": broken})
    with pytest.raises(Exception, match="Installation failed on 1 of 1 servers, the last was s-1, no space"):
        session.call("deploy")


def test_the_meta_of_an_overridden_method_steers_the_lock() -> None:
    host = Host()
    body = "- Parallel: [$.base.wait(1), $.base.wait(2)]"
    base = """
Methods:
  wait:
    Meta: {io.murano.metadata.engine.Synchronize: {onThis: %s, onArgs: [n]}}
    Arguments: [{n: {Contract: $}}]
    Body: []
"""
    derived = "Extends: %s\nMethods: {wait: {Arguments: [{other: {Contract: $}}], Body: sleep(3)}}"
    rest = "Properties: {base: {Contract: $.class(%s), Usage: Runtime, Default: {}}}\n"
    took = {}
    for name, on_this in (("Free", "false"), ("Locked", "true")):
        classes = {name: base % on_this, f"{name}er": derived % name}
        before = host.clock.now()
        host.run(body, classes=classes, rest=rest % f"{name}er")
        took[name] = host.clock.now() - before
    assert took == {"Free": pytest.approx(3), "Locked": pytest.approx(6)}
