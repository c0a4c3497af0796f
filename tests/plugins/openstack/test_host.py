"""From the service's settings to an effects host with an OpenStack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.plugins.openstack.fake import Fake
from vetro.clouds.interface import NotAvailable, Owner, StackChange
from vetro.clouds.kinds import KindMissing
from vetro.clouds.messages import Message
from vetro.engine.host.answer import HostConfigError
from vetro.engine.host.config import build_host, cloud_of
from vetro.engine.planning import recorder
from vetro.library.stackdata import difference, digest_of, parts_of
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro_openstack import OpenStackCloud, SettingWrong

OWNER = Owner("project", "Env")


def settings(url: str, **more: Any) -> dict[str, Any]:
    return {"auth_url": url, "username": "worker", "password": "secret", "project_name": "p", **more}


def test_a_host_pushes_stacks_into_an_openstack(tmp_path: Path) -> None:
    with Fake() as fake:
        overrides = {
            "cloud.kind": "openstack",
            "cloud.openstack": settings(fake.url),
            "networking.router_name": "edge",
        }
        wanted = cloud_settings.cloud(Config.load(tmp_path, environ={}, overrides=overrides))
        assert wanted["settings"]["router"] == "edge"
        host = build_host({"cloud": wanted, "owner": {"project": "project", "environment": "Env"}})
        try:
            parts = parts_of({"resources": {"a": {"type": "T"}}, "outputs": {"o": {"value": "1"}}})
            put, drop = difference({}, parts)
            change = {"name": "web", "digest": digest_of(parts), "base": None, "put": put, "drop": drop}
            answer = host.perform("0/1", "stack.push", change)
            assert answer["outputs"] == {"o": "1"}
            assert host.perform("0/2", "stack.read", {"name": "web"})["digest"] == digest_of(parts)
            host.perform("0/3", "stack.delete", {"name": "web"})
            assert fake.stacks == {}
        finally:
            host.close()


def test_a_plan_begins_with_what_heat_has(tmp_path: Path) -> None:
    with Fake() as fake:
        fake.regions = ["One", "Two"]
        given = settings(fake.url, region="One", regions=["Two"])
        real = cloud_settings.cloud(
            Config.load(tmp_path, environ={}, overrides={"cloud.kind": "openstack", "cloud.openstack": given})
        )
        cloud = cloud_of(real, OWNER)
        parts = parts_of({"heat_template_version": "2016-10-14", "resources": {"a": {"type": "OS::Our::Own"}}})
        put, drop = difference({}, parts)
        for region in ("One", "Two"):
            cloud.push_stack(OWNER, region, f"in {region}", StackChange(digest_of(parts), None, put, drop))
        cloud.close()
        folder = tmp_path / "plan"
        folder.mkdir()
        recorder.make({"folder": str(folder), "real": real}, OWNER).close()
        assert recorder.before(folder).stacks == {("One", "in One"): parts, ("Two", "in Two"): parts}
        assert [method for method, _ in fake.asked if method != "GET"] == ["POST", "POST"]


@pytest.mark.parametrize(("state", "seen"), [("ACTIVE", "ACTIVE"), ("SHUTOFF", "SHUTOFF"), ("ERROR", "SHUTOFF")])
def test_a_plan_of_servers_knows_them_by_their_ids_and_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, seen: str
) -> None:
    """What is planned is not another server because the recorder would have called it otherwise."""
    nova = "5f0c7a0e-5a0b-4c55-9c3b-6a2f9d1e0b11"
    server = {
        "type": "OS::Nova::Server",
        "properties": {"name": "web-1", "image": "debian-12-murano", "flavor": "m1.small"},
    }
    template = {
        "heat_template_version": "2016-10-14",
        "resources": {"web": server},
        "outputs": {"id": {"value": {"get_resource": "web"}}, "address": {"value": "192.0.2.7"}},
    }
    with Fake("compute", "image") as fake:
        fake.lists = {
            "nova": {"/flavors/detail": {"flavors": [{"id": "1", "name": "m1.small"}]}},
            "glance": {"/images": {"images": [{"id": "2", "name": "debian-12-murano"}]}},
        }
        shown = Fake._shown

        def resolved(self: Fake, row: dict[str, Any]) -> dict[str, Any]:
            found = shown(self, row)
            for one in found.get("outputs") or ():
                one["output_value"] = nova if one["output_key"] == "id" else one["output_value"]
            return found

        monkeypatch.setattr(Fake, "_shown", resolved)
        overrides = {"cloud.kind": "openstack", "cloud.openstack": settings(fake.url)}
        real = cloud_settings.cloud(Config.load(tmp_path, environ={}, overrides=overrides))
        cloud = cloud_of(real, OWNER)
        old = parts_of(template)
        put, drop = difference({}, old)
        cloud.push_stack(OWNER, "", "web", StackChange(digest_of(old), None, put, drop))
        (row,) = fake.stacks.values()
        kind = {"resource_type": "OS::Nova::Server", "resource_status": "CREATE_COMPLETE"}
        row["resources"] = [{"resource_name": "web", "physical_resource_id": nova, **kind}]
        fake.servers = {nova: {"id": nova, "name": "web-1", "status": state}}
        folder = tmp_path / "plan"
        folder.mkdir()
        plan = recorder.make({"folder": str(folder), "real": real}, OWNER)
        try:
            first = recorder.before(folder)
            assert first.servers == {nova: seen}
            known = plan.read_stack(OWNER, "", "web")
            assert known is not None and known.outputs == {"id": nova, "address": "192.0.2.7"}
            # Nothing is to be changed.
            again = plan.push_stack(OWNER, "", "web", StackChange(digest_of(old), None, put, drop))
            assert again.outputs == known.outputs
            # Something is, and the server stays the one that it is.
            new = parts_of({**template, "resources": {"web": server, "more": {"type": "OS::Our::Own"}}})
            change = StackChange(digest_of(new), digest_of(old), *difference(old, new))
            assert plan.push_stack(OWNER, "", "web", change).outputs["id"] == nova
            then = recorder.content_of(plan, OWNER)  # type: ignore[arg-type]
            assert then.servers == {nova: seen}
            (stack,) = then.resources.values()
            assert stack["web"][0] == nova and set(stack) == {"web", "more"}
        finally:
            plan.close()
            cloud.close()
        assert [method for method, _ in fake.asked if method != "GET"] == ["POST"] and fake.acted == []


def test_wrong_settings_stop_the_start(tmp_path: Path) -> None:
    overrides = {"cloud.kind": "openstack", "cloud.openstack": {"auth_url": "https://k/v3"}}
    with pytest.raises(SettingWrong, match="credentials are missing"):
        cloud_settings.check_cloud(Config.load(tmp_path, environ={}, overrides=overrides))
    cloud_settings.check_cloud(
        Config.load(tmp_path, environ={}, overrides={**overrides, "cloud.openstack": settings("https://k")})
    )
    cloud_settings.check_cloud(Config.load(tmp_path, environ={}, overrides={"cloud.openstack": {}}))


def test_without_a_broker_agents_are_out_of_reach(tmp_path: Path) -> None:
    cloud = cloud_of({"kind": "openstack", "directory": str(tmp_path), "settings": settings("http://k")}, OWNER)
    channel = cloud.channel(OWNER)
    assert isinstance(cloud, OpenStackCloud)
    for call in (
        lambda: channel.send("eenv-h1", Message("1", "{}")),
        lambda: channel.receive("eenv-h1", 0.0),
        lambda: channel.acknowledge("eenv-h1", "1"),
    ):
        with pytest.raises(NotAvailable, match=r"engine\.broker is not set"):
            call()
    channel.close()
    cloud.close()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kind": "openstack", "driver": "record", "settings": {}}, "no setting 'driver'"),
        ({"kind": "openstack", "settings": 1}, "'settings' of the cloud must be a mapping"),
        ({"kind": "openstack", "settings": settings("http://k")}, "'directory' of the cloud must name the folder"),
        ({"kind": "mars"}, "no cloud of kind 'mars'; there are .*openstack.*record"),
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises((HostConfigError, KindMissing), match=words):
        cloud_of(wrong, OWNER)
    with pytest.raises(SettingWrong, match="auth_url"):
        cloud_of({"kind": "openstack", "directory": "x", "settings": {}}, OWNER)


def test_credentials_are_not_shown() -> None:
    from vetro.server.config.display import without_password

    given = settings("http://k", credentials={"p": {"application_credential_secret": "secret"}})
    assert "'secret'" not in str(without_password(given))
