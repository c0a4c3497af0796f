"""The settings file of a workspace: those of a server, checked before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from vetro.server.config.config import ConfigError
from vetro.server.local.workspace import Workspace

FULL = """
[engine]
home_region = "north"
signing_key = "keys/plans.pem"
plugins = ["vetro-tosca"]
broker = {host = "mq", login = "vetro", ca_certs = "/etc/ca.pem"}
settings = {engine = {agent_timeout = 60}}

[[engine.class_configs]]
class = "com.example.Web"
version = "1.2"
values = {port = 8080}

[cloud.settings]
external_network = "outside"
dns_ipv4 = ["9.9.9.9"]

[task]
cpu_seconds = 30
memory_mib = 256
steps = 1000
"""


def write(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "vetro.toml").write_text(text, encoding="utf-8")
    return folder


def test_without_a_file_everything_is_as_usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VETRO_TASK__STEPS", "7")  # for servers on this machine
    config = Workspace(tmp_path).config
    assert (config["task.steps"], config["engine.plugins"]) == (0, ["*"])
    assert config.path("cloud.directory") == tmp_path / "cloud"


def test_settings_are_those_of_a_server(tmp_path: Path) -> None:
    config = Workspace(write(tmp_path / "ws", FULL)).config
    assert config.path("engine.signing_key") == tmp_path / "ws" / "keys" / "plans.pem"
    assert config["engine.class_configs"] == [{"class": "com.example.Web", "version": "1.2", "values": {"port": 8080}}]
    assert (config["task.steps"], config["task.memory_mib"], config["engine.home_region"]) == (1000, 256, "north")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[engine", "Expected"),
        ("[engin]", "there is no setting 'engin'; did you mean 'engine'?"),
        ("engine = 1", "'engine' must be a section"),
        ("[engine]\nplugin = []", "there is no setting 'engine.plugin'; did you mean 'engine.plugins'?"),
        ("[engine]\nplugins = 'x'", "'engine.plugins' must be list"),
        ("[engine]\nclass_configs = [{values = {}}]", "a table with 'class'"),
        ("[engine]\nclass_configs = [{class = 'a', version = 'x'}]", "engine.class_configs"),
        ("[engine]\nclass_configs = [{class = 'a', port = 1}]", "there is no 'port'"),
        ("[engine]\nclass_configs = 'nowhere'", "the folder of class configurations"),
        ("[engine.broker]\nhots = 'x'", "engine.broker: "),
        ("[cloud.settings]\nrouters = 'x'", "cloud.settings: a cloud of this kind has no setting 'routers'"),
        ("[cloud.openstack]\nuser_name = 'x'", "cloud.openstack: "),
        ("[task]\nmemory_mib = 0", "'task.memory_mib' must be at least 64"),
        ("[task]\nmemory_mib = true", "'task.memory_mib' must be int"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Workspace(write(tmp_path, text)).config  # noqa: B018
    assert said in caught.value.message and str(tmp_path / "vetro.toml") in caught.value.message
