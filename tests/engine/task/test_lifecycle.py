"""What classes declare about the health of their objects."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vetro.engine.task.perform import Performance
from vetro.muranopl.api import Engine
from vetro.packages import open_package

MANIFEST = """
Format: "1.4"
Type: Application
FullName: com.example
Version: 1.0.0
Name: Example
Author: x
Require: {io.vetro: 1}
Classes: {com.example.App: App.yaml%s}
"""
APP = """
Namespaces: {=: com.example, std: io.murano, l: io.vetro.lifecycle}
Name: App
Extends: std:Application
Meta:
  - l:Health: {kind: http, port: 80, path: %s}
Methods:
  lag: {Meta: l:HealthCheck, Body: [Return: true]}
  other: {Body: [Return: true]}
"""
HEALTH = """
Name: io.vetro.lifecycle.Health
Usage: Meta
Cardinality: Many
Applies: Type
Properties: {kind: {Contract: $}, port: {Contract: $}, path: {Contract: $}}
"""
CHECK = """
Name: io.vetro.lifecycle.HealthCheck
Usage: Meta
Applies: Method
"""


def told(folder: Path, path: str, **classes: str) -> Any:
    (folder / "Classes").mkdir()
    listed = "".join(f", io.vetro.lifecycle.{name}: {name}.yaml" for name in classes)
    (folder / "manifest.yaml").write_text(MANIFEST % listed)
    for name, text in {"App": APP % path, **classes}.items():
        (folder / "Classes" / f"{name}.yaml").write_text(text)
    args = {"classes": [{"text": "t", "name": "com.example.App", "version": "1.0.0"}]}
    performance: Any = SimpleNamespace(task=SimpleNamespace(args=args))
    return Performance.lifecycle(performance, Engine([open_package(folder)]).session())[1]


def test_health_of_the_standard_package_is_told(tmp_path: Path) -> None:
    (found,) = told(tmp_path, "/up")["t"]["health"]
    assert (found["kind"], found["port"], found["path"], found["run"]) == ("http", 80, "/up", None)


def test_methods_that_say_how_objects_are(tmp_path: Path) -> None:
    assert told(tmp_path, "/up")["t"]["methods"] == [{"name": "lag", "every": 300, "grace": 120}]


@pytest.mark.attack("quotas", "H3")
def test_a_class_of_that_name_in_another_package_tells_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, "5", Health=HEALTH, HealthCheck=CHECK) == {}
