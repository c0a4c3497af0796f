"""From the service's settings to an effects host with an OpenStack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.plugins.openstack.fake import Fake
from vetro.clouds.interface import Message, NotAvailable, Owner, StackChange
from vetro.clouds.kinds import KindMissing
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
