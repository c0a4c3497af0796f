"""Default networks by configuration (API.md 5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vetro.server.config.config import Config, ConfigError
from vetro.server.environments import networks


def settings(folder: Path, **values: Any) -> Config:
    return Config.load(folder, overrides={f"networking.{k}": v for k, v in values.items()}, environ={})


@pytest.mark.parametrize(
    ("driver", "name"), [("", "NeutronNetwork"), ("neutron", "NeutronNetwork"), ("nova", "NovaNetwork")]
)
def test_the_driver_chooses_the_class(tmp_path: Path, driver: str, name: str) -> None:
    made = networks.default_networks(settings(tmp_path, driver=driver), "env")
    assert made["environment"]["?"]["type"] == f"io.murano.resources.{name}"
    assert (made["environment"]["name"], made["flat"]) == ("env-network", None)


FILE = """\
environment:
  '?': {type: io.murano.resources.ExistingNeutronNetwork, id: fixed}
  internalNetworkName: net-%ENV%
  list: [x-%ENV%-%ENV%, 5, {'?': {type: T}}]
flat: null
"""


def test_a_file_gives_objects_with_fresh_ids_and_the_name(tmp_path: Path) -> None:
    (tmp_path / "nets.yaml").write_text(FILE)
    config = settings(tmp_path, config_file="nets.yaml")
    one, other = networks.default_networks(config, "a"), networks.default_networks(config, "b")
    assert one["environment"]["internalNetworkName"] == "net-a"
    assert one["environment"]["list"][:2] == ["x-a-a", 5]
    ids = {n["environment"]["?"]["id"] for n in (one, other)} | {
        n["environment"]["list"][2]["?"]["id"] for n in (one, other)
    }
    assert len(ids) == 4 and "fixed" not in ids


def test_the_usual_file_counts_when_it_is_there_and_changes_are_seen(tmp_path: Path) -> None:
    config = settings(tmp_path)
    assert networks.default_networks(config, "a")["flat"] is None
    path = tmp_path / "netconfig.yaml"
    path.write_text("flat: {'?': {type: my.Net}}\n")
    assert networks.default_networks(config, "a")["flat"]["?"]["type"] == "my.Net"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: b: c\n", ":1"),
        ("- 1\n", ":1"),
        ("environment: null\nother: 1\n", ":2:1"),
        ("environment: 5\n", ":1:14"),
        ("environment: {name: x}\n", ":1:14"),
        ("environment:\n  '?': {id: x}\n", ":2:8"),
        ("environment:\n  '?': {type: T}\n  [1]: 2\n", ":3:3"),
    ],
)
def test_a_broken_file_is_told_with_its_line(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "nets.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        networks.check(settings(tmp_path, config_file="nets.yaml"))
    assert f"{path}{place}" in raised.value.message


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        networks.check(settings(tmp_path, config_file="nosuch.yaml"))
    networks.check(settings(tmp_path))
