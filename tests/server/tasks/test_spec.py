"""What tasks and their hosts are told of the broker, and what becomes of an environment's login there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.tasks import shop
from vetro.agent.broker_accounts import BrokerAccounts
from vetro.agent.hidden_password import PLACEHOLDER, SERVER_PLACEHOLDER
from vetro.packages.configs import ConfigError
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.config.config import ConfigError as SettingWrong
from vetro.server.operations.doctor import variables
from vetro.server.tasks import spec
from vetro.server.tasks.models import Task

BROKER = {"host": "mq", "login": "vetro", "password": "S3CRET", "management": {"url": "http://mq:15672"}}
OPENSTACK = {"auth_url": "http://keystone/v3", "username": "vetro", "password": "x", "project_name": "p"}


def config(folder: Path, **more: Any) -> Config:
    given = {"cloud.kind": "openstack", "cloud.openstack": OPENSTACK, "engine.broker": BROKER}
    return Config.load(folder, environ={}, overrides={**given, **{key.replace("__", "."): more[key] for key in more}})


#: What tells servers how their own logins are called.
OWN = {
    "server_login": "vetro-env.{server}",
    "server_password": SERVER_PLACEHOLDER,
    "server_exchange": "vetro-answers-{server}",
}


def test_tasks_do_not_see_the_broker_s_password(tmp_path: Path) -> None:
    told = spec.engine_settings(config(tmp_path), "Env")
    assert told["rabbitmq"] == {
        "host": "mq",
        "login": "vetro-env",
        "virtual_host": "vetro-env",
        "password": PLACEHOLDER,
        **OWN,
    }
    assert "S3CRET" not in str(told)


def test_what_servers_are_told_can_be_changed_but_for_the_login(tmp_path: Path) -> None:
    mine = {"rabbitmq": {"host": "from.outside", "login": "me", "ca_certs": "TEXT"}, "file_server": "f"}
    told = spec.engine_settings(config(tmp_path, engine__settings=mine), "env")
    assert told["rabbitmq"] == {
        "host": "from.outside", "ca_certs": "TEXT", "login": "vetro-env", "virtual_host": "vetro-env",
        "password": PLACEHOLDER, **OWN,
    }  # fmt: skip
    assert told["file_server"] == "f"


def test_regions_of_the_local_cloud_reach_tasks_and_cloud(tmp_path: Path) -> None:
    more = {"engine__home_region": "RegionOne", "cloud__settings": {"regions": ["RegionTwo"]}}
    local = config(tmp_path, cloud__kind="local", cloud__driver="record", **more)
    told = spec.engine_settings(local, "env")
    assert (told["home_region"], told["regions"]) == ("RegionOne", ["RegionTwo"])
    settings = cloud_settings.cloud(local)["settings"]
    assert (settings["home_region"], settings["regions"]) == ("RegionOne", ["RegionTwo"])
    assert "regions" not in spec.engine_settings(config(tmp_path), "env")


def test_tasks_know_what_networks_of_clouds_around_drivers_offer(tmp_path: Path) -> None:
    """An OpenStack is asked, and so is a cloud of another kind that an environment was deployed in."""
    local = config(tmp_path, cloud__kind="local", cloud__driver="record")
    told = spec.engine_settings(local, "env")["networking"]["extensions"]
    assert "security-group" in told
    assert "extensions" not in spec.engine_settings(config(tmp_path), "env")["networking"]
    assert "extensions" not in spec.engine_settings(local, "env", {"kind": "openstack"})["networking"]
    assert "extensions" not in spec.engine_settings(local, "env", {"kind": "gone"})["networking"]


def test_logins_of_environments_are_for_an_openstack(tmp_path: Path) -> None:
    """Local servers speak through sockets, and nothing would put their password in."""
    local = config(tmp_path, cloud__kind="local", cloud__driver="record")
    assert spec.engine_settings(local, "env")["rabbitmq"] == {"host": "mq", "login": "vetro", "password": "S3CRET"}
    assert "broker" not in cloud_settings.cloud(local)
    assert cloud_settings.cloud(config(tmp_path))["broker"] == BROKER


@pytest.mark.django_db
def test_servers_that_are_only_written_down_are_not_reached_through_a_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would answer there: the recorder does itself."""
    monkeypatch.setattr(spec, "secret_keys", lambda _: [])
    task = Task(id="t", project_id="p", environment_id="env", user_id="u", kind="deploy", spec={})
    for driver, broker in (("record", None), ("proot", "mq")):
        made = config(tmp_path, cloud__kind="local", cloud__driver=driver)
        found = spec.host_config(made, task)["broker"]
        assert (found and found["host"]) == broker


@pytest.mark.parametrize("management", [{"login": "x"}, {"url": "mq"}, {"url": "http://mq", "colour": 1}, "http://mq"])
def test_wrong_settings_of_the_broker_stop_the_start(tmp_path: Path, management: Any) -> None:
    cloud_settings.check_cloud(config(tmp_path))
    with pytest.raises(SettingWrong, match=r"engine\.broker"):
        cloud_settings.check_cloud(config(tmp_path, engine__broker={**BROKER, "management": management}))


@pytest.mark.django_db
def test_the_login_goes_with_its_environment(
    ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    removed: list[Any] = []
    monkeypatch.setattr(BrokerAccounts, "remove", lambda accounts, owner: removed.append(owner))
    monkeypatch.setattr(cloud_settings, "broker_settings", lambda given: BROKER)
    monkeypatch.setattr(spec, "host_config", _without_broker(spec.host_config))
    package = shop.add_package(ann.caller)
    environment = shop.add_environment(ann.caller)
    shop.deploy(ann.caller, environment, package)
    assert drain() == 1 and removed == []
    environment.refresh_from_db()
    shop.enqueue(ann.caller, environment, package, environment.states.latest("number").model, "destroy")
    assert drain() == 1
    assert [(owner.project, owner.environment) for owner in removed] == [(ann.caller.project_id, environment.id)]


def _without_broker(host_config: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    return lambda *given: {**host_config(*given), "broker": None}


def test_class_configurations_are_a_folder_or_rows(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "t.Box-1.json").write_text('{"least": 7}', encoding="utf-8")
    rows = [{"class": "t.Box", "version": "1", "values": {"least": 7}}]
    assert spec.class_configs(Config.load(tmp_path, environ={})) == []
    assert spec.class_configs(config(tmp_path, engine__class_configs="configs")) == rows
    assert spec.class_configs(config(tmp_path, engine__class_configs=rows)) == rows
    # The same of the file and of a variable, which is what child processes get.
    text = "[[engine.class_configs]]\nclass = 't.Box'\nversion = '1'\nvalues = {least = 7}\n"
    (tmp_path / "vetro.toml").write_text(text, encoding="utf-8")
    assert spec.class_configs(Config.load(tmp_path, environ={})) == rows
    environ = config(tmp_path, engine__class_configs=rows).as_environment()
    assert spec.class_configs(Config.load(tmp_path, environ=environ)) == rows


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"values": {}}, "each row is a table with 'class'"),
        ({"class": "t.Box", "value": {}}, "there is no 'value'"),
        ({"class": "t.Box", "values": []}, "must be a table"),
        ({"class": "t.Box", "version": 1}, "must be text"),
        ({"class": "t.Box", "version": "x"}, "'x'"),
    ],
)
def test_rows_that_are_none_are_named(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        spec.class_configs(config(tmp_path, engine__class_configs=[row]))
    found = [
        one for one in variables.examine(config(tmp_path, engine__class_configs=[row]), {}) if one.severity == "error"
    ]
    assert len(found) == 1
    assert said in found[0].message
