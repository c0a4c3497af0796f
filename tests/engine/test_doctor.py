"""`vetro doctor`: what is there, what is missing, and what to do about it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.engine.taskworld import NATIVES
from tests.support.distribution import broken_kind
from tests.support.installation import compiled
from vetro.clouds.drivers import tools
from vetro.diagnostics import NOTE, OK, WARNING, Diagnostic
from vetro.engine import doctor
from vetro.engine.doctor import examine
from vetro.engine.sandbox import LAYERS
from vetro.engine.task.launcher import Launcher


def test_the_layers_of_the_sandbox_are_those_of_a_task() -> None:
    findings = list(doctor.sandbox())
    assert [f.subject for f in findings] == list(LAYERS)
    assert {f.severity for f in findings} <= {OK, WARNING}
    with Launcher(cache=compiled()) as launcher:
        assert [f.severity == OK for f in findings] == [layer["active"] for layer in launcher.layers()]


def test_a_missing_layer_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lacking(Launcher):
        def __init__(self) -> None:
            super().__init__(natives=["no_network_natives:register"], path=[str(NATIVES)])

    monkeypatch.setattr(doctor, "Launcher", Lacking)
    findings = {f.subject: f for f in doctor.sandbox()}
    assert findings["network"].severity == WARNING
    assert findings["network"].message == "not allowed here: no namespace: not allowed"
    assert "user namespaces" in str(findings["network"].hint)
    assert findings["calls"].severity == OK


def test_a_sandbox_that_cannot_be_tried_is_a_finding(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    class Broken(Launcher):
        def __init__(self) -> None:
            super().__init__(natives=["no_such_module:register"])

    monkeypatch.setattr(doctor, "Launcher", Broken)
    (finding,) = doctor.sandbox()
    assert (finding.severity, finding.message) == (WARNING, "the zygote could not start")
    assert "no_such_module" in capfd.readouterr().err


def test_a_kind_of_clouds_that_does_not_load_is_named(tmp_path: Path) -> None:
    with broken_kind(tmp_path) as said:
        found = {finding.subject: finding for finding in doctor.clouds()}
    assert (found["sun"].severity, found["sun"].message) == (NOTE, said)
    assert found["record"].severity == OK


def test_drivers_are_found_by_their_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tools, "PATH", str(tmp_path))
    found = {f.subject: f for f in doctor.clouds()}
    assert found["record"].severity == OK
    assert found["nspawn"].severity == NOTE  # drivers are a choice
    assert "apt install iproute2 mmdebstrap nftables systemd-container" in str(found["nspawn"].hint)
    for program in ("proot", "mmdebstrap"):
        (tmp_path / program).touch(mode=0o755)
    found = {f.subject: f for f in doctor.clouds()}
    assert found["proot"].severity == OK


def test_nspawn_is_for_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for program in ("systemd-nspawn", "mmdebstrap", "ip", "nft"):
        (tmp_path / program).touch(mode=0o755)
    monkeypatch.setattr(tools, "PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    nspawn = next(f for f in doctor.clouds() if f.subject == "nspawn")
    assert (nspawn.severity, nspawn.hint) == (NOTE, "run Vetro as root")


def test_checks_can_be_added() -> None:
    extra = Diagnostic("clouds", WARNING, "far away", "build a rocket", subject="moon")
    findings = examine([doctor.python, lambda: [extra]])
    assert findings[0].subject == "python"
    assert findings[-1] == extra
