"""The settings file of a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from vetro.engine.task.task import Budget
from vetro.engine.workspace import Workspace
from vetro.engine.workspace.running import host_config, new_task
from vetro.engine.workspace.settings import Settings, SettingsError, read_settings

FULL = """
[engine]
home_region = "north"
signing_key = "keys/plans.pem"
plugins = ["vetro-tosca"]
broker = {host = "mq", login = "vetro", ca_certs = "/etc/ca.pem"}
settings = {engine = {agent_timeout = 60}, rabbitmq = {port = 5671}}

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
"""


def write(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "vetro.toml").write_text(text, encoding="utf-8")
    return folder


def test_without_a_file_everything_is_as_usual(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == Settings(signing_key=str(tmp_path / "signing-key.pem"))
    assert read_settings(tmp_path / "nowhere").plugins is None
    assert read_settings(write(tmp_path, "")) == Settings(signing_key=str(tmp_path / "signing-key.pem"))


def test_all_settings_reach_tasks_and_host(tmp_path: Path) -> None:
    place = Workspace(write(tmp_path / "ws", FULL))
    folder = place.create("web", driver="nspawn", settings={"home_region": "south"})
    task = new_task(folder, "deploy", folder.model().model)
    assert task.configs == ({"class": "com.example.Web", "version": "1.2", "values": {"port": 8080}},)
    assert task.plugins == ("vetro-tosca",)
    assert task.budget == Budget(cpu_seconds=30, memory_mib=256)
    assert task.settings == {
        "home_region": "south",  # the environment's own
        "engine": {"agent_timeout": 60},
        "rabbitmq": {"host": "mq", "login": "vetro", "port": 5671},
    }
    folder.begin(task)
    begun = folder.open_task()
    assert begun is not None and begun.task() == task
    config = host_config(place, folder)
    assert config["cloud"]["settings"] == {
        "home_region": "south", "external_network": "outside", "dns_ipv4": ["9.9.9.9"],
    }  # fmt: skip
    assert config["signing_key"] == str(place.root / "keys" / "plans.pem")
    assert config["broker"] == {"host": "mq", "login": "vetro", "ca_certs": "/etc/ca.pem"}
    assert config["plugins"] == ["vetro-tosca"]


def test_class_configurations_may_be_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "configs"
    folder.mkdir()
    for name, text in (
        ("a.B.yaml", "x: 1"),
        ("a.B-0.json", '{"x": 2}'),
        ("a.B-1.2.yaml", "x: 3"),
        ("a.B-1.2.3.yaml", "x: 4"),
        ("a.C-2.json", '{"y": [1]}'),
        ("a.C-2.yaml", "y: [2]"),
        ("README", "nothing"),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    write(tmp_path, "[engine]\nclass_configs = 'configs'")
    rows = {(r["class"], r.get("version")): r["values"] for r in read_settings(tmp_path).class_configs}
    assert rows == {
        ("a.B", None): {"x": 2},  # where there is one for major 0, that is what counts
        ("a.B", "0"): {"x": 2},
        ("a.B", "1.2"): {"x": 3},
        ("a.B", "1.2.3"): {"x": 4},
        ("a.C", "2"): {"y": [1]},
    }
    (folder / "a.D.yaml").write_text("- 1", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"engine\.class_configs: .*a\.D\.yaml"):
        read_settings(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[engine", "is no TOML file"),
        ("[engin]", "there is no setting 'engin'"),
        ("engine = 1", "'engine' is no section"),
        ("[engine]\nplugin = []", "there is no setting 'engine.plugin'"),
        ("[engine]\nplugins = 'x'", "engine.plugins must be a list, not 'x'"),
        ("[engine]\nplugins = [1]", "must be a list of names"),
        ("[engine]\nclass_configs = [{values = {}}]", "a table with 'class'"),
        ("[engine]\nclass_configs = [{class = 'a', version = 'x'}]", "engine.class_configs"),
        ("[engine]\nclass_configs = 'nowhere'", "the folder of class configurations"),
        ("[engine.broker]\nhots = 'x'", "engine.broker: there is no 'hots'"),
        ("[engine.broker]\nport = 'x'", "engine.broker: port must be a whole number"),
        ("[cloud.settings]\nrouters = 'x'", "cloud.settings: the local cloud has no setting 'routers'"),
        ("[cloud.settings]\nmax_hosts = true", "max_hosts must be a whole number, not True"),
        ("[cloud.settings]\ncreate_router = 1", "create_router must be true or false"),
        ("[task]\nmemory_mib = 0", "task: memory_mib must be more than 0"),
        ("[task]\nmemory_mib = true", "task.memory_mib must be a whole number"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(write(tmp_path, text))
    assert said in caught.value.message and str(tmp_path / "vetro.toml") in caught.value.message


def test_a_slip_gets_the_likely_name(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(write(tmp_path, "[engine]\nplugin = []"))
    assert caught.value.hint == "did you mean 'engine.plugins'?"
