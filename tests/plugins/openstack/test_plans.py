"""Plans of an OpenStack are true: names are those of the real cloud, and what was planned is what Heat does."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies

from tests.plugins.openstack.keeping import Keeping
from tests.plugins.openstack.strict import Strict
from tests.support.fuzzing import examples
from vetro.clouds.interface import Cloud, CloudError, Owner, StackChange
from vetro.diagnostics import decode_messages
from vetro.engine.host.config import cloud_of
from vetro.engine.outcome import Outcome
from vetro.engine.planning import recorder, report
from vetro.library.stackdata import Parts, difference, digest_of, parts_of
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config

OWNER = Owner("project", "Env")
NET, WEB = "OS::Neutron::Net", "OS::Nova::Server"


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vetro_openstack.stack_progress._FIRST", 0.001)


def settings_of(fake: Strict, folder: Path) -> dict[str, Any]:
    own = {"auth_url": fake.url, "username": "worker", "password": "secret", "project_name": "p"}
    overrides = {"cloud.kind": "openstack", "cloud.openstack": own, "networking.router_name": "edge"}
    return cloud_settings.cloud(Config.load(folder, environ={}, overrides=overrides))


def server(**more: Any) -> dict[str, Any]:
    named = {"flavor": "gp1.small", "image": "ubuntu-24", "key_name": "ops", "networks": [{"network": "corp"}]}
    return {"type": WEB, "properties": {"name": "web-1", **named, **more}}


def template(**resources: Any) -> Parts:
    return parts_of({"heat_template_version": "2016-10-14", "resources": resources})


def push(cloud: Cloud, parts: Parts) -> None:
    put, _ = difference({}, parts)
    cloud.push_stack(OWNER, "", "web", StackChange(digest_of(parts), None, put, ()))


def planned(real: dict[str, Any], parts: Parts) -> dict[str, tuple[str, tuple[str, ...]]] | str:
    """What a plan tells of each resource, or why it fails."""
    with TemporaryDirectory() as folder:
        cloud = recorder.make({"folder": folder, "real": real}, OWNER)
        try:
            push(cloud, parts)
            told = report._stacks(recorder.before(Path(folder)), recorder.content_of(cloud, OWNER))  # type: ignore[arg-type]
            return {
                one["name"]: (one["what"], tuple(one["properties"])) for stack in told for one in stack["resources"]
            }
        except CloudError as error:
            return str(error)
        finally:
            cloud.close()


NAMES = {
    "flavor": ("gp1.small", "gp1.large", "8", "m1.small"),
    "key_name": ("ops", "win", "default"),
    "network": ("corp", "a1f0c7f0-0000-4000-8000-000000000002", "ext-net"),
}
SERVERS = strategies.builds(
    lambda flavor, key, network, name: server(flavor=flavor, key_name=key, networks=[{"network": network}], name=name),
    *(strategies.sampled_from(values) for values in NAMES.values()),
    strategies.sampled_from(["web-1", "web-2"]),
)
NETWORKS = strategies.sampled_from(["shop", "other"]).map(lambda name: {"type": NET, "properties": {"name": name}})
WANTED = strategies.dictionaries(strategies.sampled_from(["a", "b"]), SERVERS | NETWORKS)


@settings(max_examples=examples(100), deadline=None)
@given(strategies.lists(WANTED, min_size=1, max_size=4))
@example([{"a": server(), "b": server()}, {}])  # two servers of one name
@example([{"a": server()}, {"a": {"type": NET, "properties": {"name": "shop"}}}])
def test_what_is_planned_is_what_heat_does(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    """Also what it refuses: a name that the cloud does not have. Plans ask, and change nothing."""
    with Strict() as fake:
        real = settings_of(fake, tmp_path_factory.mktemp("real"))
        cloud = cloud_of(real, OWNER)
        try:
            for step in steps:
                parts = template(**step)
                before = len(fake.asked)
                told = planned(real, parts)
                assert {method for method, _ in fake.asked[before:]} <= {"GET"}
                done = len(fake.done)
                try:
                    push(cloud, parts)
                except CloudError as error:
                    assert "Heat refuses (400)" in str(error)
                    assert isinstance(told, str), f"planned {told}, and Heat refused: {error}"
                    assert "there is no" in told
                    continue
                did: dict[str, Any] = {}
                for each in fake.done[done:]:
                    did |= each
                assert told == did
        finally:
            cloud.close()


def test_everything_that_the_cloud_has_can_be_named(tmp_path: Path) -> None:
    """By name and by id: router, networks beyond it whose subnets nobody sees, groups, zones; and what is gone."""
    with Strict() as fake:
        real = settings_of(fake, tmp_path)
        cloud = cloud_of(real, OWNER)
        net, sub, port = ({"get_resource": name} for name in ("net", "sub", "port"))
        edge = {"router": "a1f0c7f0-0000-4000-8000-000000000005", "subnet": sub}
        made: dict[str, tuple[str, dict[str, Any]]] = {
            "net": (NET, {"name": "shop"}),
            "sub": ("OS::Neutron::Subnet", {"network": net, "cidr": "10.8.0.0/24"}),
            "way": ("OS::Neutron::RouterInterface", edge),
            "port": ("OS::Neutron::Port", {"network": net}),
            "out": ("OS::Neutron::FloatingIP", {"floating_network": "internet", "port_id": port}),
        }
        more = {name: {"type": kind, "properties": properties} for name, (kind, properties) in made.items()}
        parts = template(web=server(security_groups=["default"], availability_zone="az-1"), **more)
        told = planned(real, parts)
        assert told == dict.fromkeys(["web", *made], ("created", ()))
        push(cloud, parts)
        # Neutron has a server of its own in each network; the plan's recorder does not.
        (shop,) = [row for row in fake.lists["neutron"]["/networks"]["networks"] if row["name"] == "shop"]
        dhcp = {"id": "d1", "network_id": shop["id"], "device_owner": "network:dhcp", "device_id": "d", "fixed_ips": []}
        fake.lists["neutron"]["/ports"]["ports"] += [dhcp, {**dhcp, "id": "d2", "device_owner": "compute:nova"}]
        assert planned(real, parts) == {}
        assert planned(real, template(web=server())) == {
            **dict.fromkeys(made, ("deleted", ())),
            "web": ("replaced", ("availability_zone", "security_groups")),
        }
        # An image goes from the catalog, and servers made of it run on; no others are made.
        fake.lists["glance"]["/images"]["images"].clear()
        assert planned(real, parts) == {}
        assert "there is no image 'ubuntu-24'" in planned(real, template(other=server()))
        cloud.close()


def test_a_cloud_that_does_not_answer_is_no_cloud_without_flavors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vetro_openstack.link.PAUSES", (0.0, 0.0, 0.0))
    with Strict() as fake:
        real = settings_of(fake, tmp_path)
        fake.trouble = [("GET", "/flavors", 503)] * 50
        told = planned(real, template(web=server()))
        assert "Nova is in trouble (503)" in told and "there is no flavor" not in told


def test_servers_that_would_be_replaced_are_told_to_have_no_way_back(tmp_path: Path) -> None:
    """What Heat replaces or deletes no snapshot can hold; what it changes in place, one can."""
    with Keeping() as fake:
        real = settings_of(fake, tmp_path)
        with closing(cloud_of(real, OWNER)) as cloud:
            push(cloud, template(web=server(), other=server(name="web-2")))
            assert told_of_plan(real, template(web=server(flavor="gp1.large"), other=server(name="web-2"))) == []
            for changed in ({"web": server(key_name="win"), "other": server(name="web-2")},
                            {"other": server(name="web-2")}):  # fmt: skip
                assert told_of_plan(real, template(**changed)) == [
                    "server 'web-1' would be gone: this cloud cannot bring it back as it was"
                ]


def told_of_plan(real: dict[str, Any], parts: Parts) -> list[str]:
    """What the plan of a deployment that pushes these says of ways back."""
    journal: Any = SimpleNamespace(notes=lambda kind: [], entries=list)
    with TemporaryDirectory() as folder:
        with closing(recorder.make({"folder": folder, "real": real}, OWNER)) as cloud:
            push(cloud, parts)
        done = Outcome("done", model={"Objects": None})
        made = report.told(done, journal, model={}, owner=OWNER, real=real, folder=folder).result
    return [str(text) for text in decode_messages(made).get("no_way_back", [])]
