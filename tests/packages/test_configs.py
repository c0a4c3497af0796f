from __future__ import annotations

from pathlib import Path

import pytest

from vetro.muranopl.declarations.versions import Version
from vetro.muranopl.errors import DeclarationError
from vetro.packages.configs import ClassConfigs, ConfigError, Configs, MemoryConfigs
from vetro.yaql.errors import kind_of


def test_the_most_specific_file_counts_alone(tmp_path: Path) -> None:
    for name, text in {
        "t.Main-1.2.3.yaml": "a: 123",
        "t.Main-1.2.yaml": "a: 12",
        "t.Main-1.2.json": '{"a": "json first"}',
        "t.Main-1.yaml": "a: 1\nb: 1",
        "t.Main.yaml": "a: any",
    }.items():
        (tmp_path / name).write_text(text)
    configs: Configs = ClassConfigs(tmp_path)
    versions = ("1.2.3", "1.2.9", "1.9.0", "2.0.0", "0.4.0", "1.2.3-rc.1")
    assert [configs.get("t.Main", Version(v)).get("a") for v in versions] == [123, "json first", 1, None, "any", 123]
    assert configs.get("t.Other", Version("0.0.0")) == {}
    assert configs.get("t.Main", Version("1.9.0")) is configs.get("t.Main", Version("1.8.0"))


def test_no_folder_no_configurations(tmp_path: Path) -> None:
    assert ClassConfigs(tmp_path / "no").get("t.Main", Version("0.0.0")) == {}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("yaml", "a: [", "not valid YAML"),
        ("yaml", "[1]", "has to be a mapping"),
        ("yaml", "1: x", "has to be a mapping of property names"),
        ("yaml", "a: !x 1", "unknown tag"),
        ("json", "{", "not valid JSON"),
        ("json", "[" * 100_000, "not valid JSON"),
        ("json", "[]", "has to be a mapping"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / f"t.Main.{name}").write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        ClassConfigs(tmp_path).get("t.Main", Version("0.0.0"))
    assert f"t.Main.{name}" in f"{caught.value.position} {caught.value.message}"
    assert kind_of(caught.value) == "value-error"


def test_empty_files_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.Main.yaml").write_text("")
    assert ClassConfigs(tmp_path).get("t.Main", Version("0.0.0")) == {}


def test_configurations_in_memory_follow_the_same_rule() -> None:
    configs = MemoryConfigs(
        [
            {"class": "t.Main", "values": {"c": 0}},
            {"class": "t.Main", "version": 2, "values": {"c": 2}},
            {"class": "t.Main", "version": "2.3", "values": {"c": 23}},
            {"class": "t.Other"},
        ]
    )
    versions = ("0.1.0", "1.0.0", "2.0.0", "2.3.1")
    assert [configs.get("t.Main", Version(v)).get("c") for v in versions] == [0, None, 2, 23]
    assert configs.get("t.Other", Version("0.0.0")) == {}
    with pytest.raises(DeclarationError):
        MemoryConfigs([{"class": "t.Main", "version": "x"}])
