"""vetro-openstack as a distribution: its wheel brings the kind, and Vetro without it says what to install."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugins.conftest import Own, Run

#: A machine on which the distribution is not installed: neither its entry points nor its modules are there.
WITHOUT = """\
import importlib.metadata as metadata
import sys

there = metadata.entry_points


def entry_points(**wanted):
    found = there(**wanted)
    if wanted.get("group") != "vetro.clouds":
        return found
    return metadata.EntryPoints(point for point in found if point.dist.name != "vetro-openstack")


metadata.entry_points = entry_points
sys.modules["vetro_openstack"] = None
"""
SECTION = """\
[cloud.openstack]
auth_url = "http://127.0.0.1:9/v3"
username = "w"
password = "p"
project_name = "p"
"""
INSTALL = "pip install 'vetro[openstack]'"


@pytest.fixture
def without(tmp_path: Path) -> Path:
    folder = tmp_path / "without"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(WITHOUT)
    return folder


def test_its_wheel_brings_the_kind(own: Own, run: Run) -> None:
    site = own("vetro-openstack")
    ask = (
        "from vetro.clouds import kinds; import vetro_openstack as v; print(kinds.find('openstack').title, v.__file__)"
    )
    done = run("-c", ask, see=[site])
    assert done.stdout.split() == ["OpenStack", str(site / "vetro_openstack/__init__.py")], done.stderr


@pytest.mark.campaign
def test_a_server_without_it_says_what_to_install(run: Run, without: Path, tmp_path: Path) -> None:
    (tmp_path / "vetro.toml").write_text('[cloud]\nkind = "openstack"\n' + SECTION)
    options = ("--data", str(tmp_path / "data"), "--config", str(tmp_path / "vetro.toml"))
    assert run("-m", "vetro", "db", "migrate", *options, see=[without]).returncode == 0
    for command in (("serve", "--port", "0", "--workers", "0"), ("doctor",)):
        done = run("-m", "vetro", *command, *options, see=[without])
        said = " ".join((done.stdout + done.stderr).split())
        assert done.returncode != 0, said
        assert "there is no cloud of kind 'openstack'" in said and INSTALL in said, said


@pytest.mark.campaign
@pytest.mark.parametrize("named", ["by a section", "by a word", "by an option"])
def test_a_deployment_without_it_says_what_to_install(run: Run, without: Path, tmp_path: Path, named: str) -> None:
    words = {"by a section": SECTION, "by a word": '[cloud]\nkind = "openstack"\n', "by an option": ""}[named]
    (tmp_path / "vetro.toml").write_text(words)
    (tmp_path / "Classes").mkdir()
    (tmp_path / "Classes/Hello.yaml").write_text(
        "Name: Hello\nExtends: io.murano.Application\nMethods: {deploy: {Body: [$this]}}\n"
    )
    (tmp_path / "manifest.yaml").write_text("FullName: t.Hello\nType: Application\nClasses: {t.Hello: Hello.yaml}\n")
    option = ["--driver", "openstack"] if named == "by an option" else []
    done = run("-m", "vetro", "deploy", str(tmp_path), "--workspace", str(tmp_path), *option, see=[without])
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0 and "there is no cloud of kind 'openstack'" in said and INSTALL in said, said


def test_vetro_works_without_it(run: Run, without: Path) -> None:
    done = run("-m", "vetro", "cloud", "status", see=[without])
    assert done.returncode == 0, done.stderr
