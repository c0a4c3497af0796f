"""The files of deploy/ fit this version: settings, commands and metrics that they name are there."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from tests.support.needs import need
from vetro.cli.main import main
from vetro.clouds.helper import presence
from vetro.server.config.config import Config

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
#: The folder of the socket of the cloud helper, on the machine and in containers.
HELPER_SOCKET = str(presence.address().parent)
#: What the compose specification knows of a service, as far as we use it.
_SERVICE = {
    "build", "cap_drop", "cgroup", "command", "depends_on", "deploy", "entrypoint", "environment", "extra_hosts",
    "healthcheck", "image", "mem_limit", "network_mode", "networks", "pid", "ports", "privileged", "read_only",
    "restart", "security_opt", "stop_grace_period", "tmpfs", "ulimits", "user", "volumes",
}  # fmt: skip


def composed(*names: str) -> dict[str, Any]:
    """The files as compose merges them."""
    found: dict[str, Any] = {}
    for name in names:
        found = _merged(found, yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8")))
    return found


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{name: _merged(old.get(name), value) for name, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *new]
    return new


def understood(words: list[str]) -> None:
    """The command line is one: every command, option and argument is known."""
    command: click.Command = main
    context = click.Context(main)
    rest = words
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        assert found is not None, f"there is no command {rest[0]} ({' '.join(words)})"
        command, rest = found, rest[1:]
    command.make_context(command.name, list(rest))


#: The files that compose is given together.
_GIVEN = {
    "alone": ("compose.yaml",),
    "with S3": ("compose.yaml", "compose.s3.yaml"),
    "in an OpenStack": ("compose.yaml", "compose.openstack.yaml"),
}


@pytest.fixture(params=list(_GIVEN.values()), ids=list(_GIVEN))
def compose(request: pytest.FixtureRequest) -> dict[str, Any]:
    return composed(*request.param)


def test_compose_is_whole(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name, service in services.items():
        assert set(service) <= _SERVICE, name
        tag = service["image"].rpartition(":")[2]
        assert re.match(r"local$|v?\d|RELEASE\.", tag), f"{name}: {service['image']} is not pinned"
        for other, wanted in service.get("depends_on", {}).items():
            assert other in services
            assert wanted["condition"] != "service_healthy" or "healthcheck" in services[other], other
        for mount in service.get("volumes", ()):
            source = mount["source"] if isinstance(mount, dict) else mount.split(":")[0]
            if source.startswith("/"):
                assert name == "cloud-helper" or source == HELPER_SOCKET, f"{name} sees {source} of the machine"
            elif source.startswith("./"):
                place = DEPLOY / source
                assert place.exists() or place.with_name(f"{place.name}.example").exists(), source
            else:
                assert source in compose["volumes"], source
    dashboards = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/vetro.yaml").read_text())
    path = dashboards["providers"][0]["options"]["path"]
    assert any(mount.split(":")[1] == path for mount in services["grafana"]["volumes"])
    passwords = set(re.findall(r"\$\{(\w+)(?!\w|:-)", json.dumps(compose)))
    head = "".join((DEPLOY / name).read_text() for names in _GIVEN.values() for name in names)
    assert passwords and all(f"{name}=" in head for name in passwords)


def test_only_the_cloud_helper_has_rights(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name, service in services.items():
        if service["image"] == "vetro:local" and name != "cloud-helper":
            assert service["cap_drop"] == ["ALL"] and service["read_only"] and "privileged" not in service, name
            assert f"{HELPER_SOCKET}:{HELPER_SOCKET}" in service["volumes"], name
    helper = services["cloud-helper"]
    # It is as if it ran outside of a container, and knows nothing that the others are told.
    assert helper["privileged"] and helper["user"] == "root"
    assert (helper["network_mode"], helper["pid"], helper["cgroup"]) == ("host", "host", "host")
    assert set(helper["environment"]) == {"VETRO_IMAGES"}
    assert not any(str(mount).startswith("shared:") or "vetro.toml" in str(mount) for mount in helper["volumes"])


def test_workers_know_the_addresses_of_what_they_ask(compose: dict[str, Any]) -> None:
    """They are in the machine's own network, for only that reaches servers of environments."""
    services = compose["services"]
    assert services["worker"]["network_mode"] == "host"
    told = dict(entry.split(":", 1) for entry in services["worker"]["extra_hosts"])
    fixed = {n: s["networks"]["default"]["ipv4_address"] for n, s in services.items() if "networks" in s}
    assert told == fixed
    (net,) = compose["networks"]["default"]["ipam"]["config"]
    assert all(address.rpartition(".")[0] == net["subnet"].rpartition(".")[0] for address in fixed.values())


def test_settings_of_containers_are_settings(compose: dict[str, Any], tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "compose/vetro.toml.example", tmp_path / "vetro.toml")
    seen = 0
    for name, service in compose["services"].items():
        given = {key: re.sub(r"\$\{\w+[^}]*\}", "x", str(v)) for key, v in service.get("environment", {}).items()}
        if service["image"] != "vetro:local" or name == "cloud-helper":
            assert name == "cloud-helper" or not [key for key in given if key.startswith("VETRO_")], name
            continue
        seen += 1
        assert given.pop("VETRO_CONFIG") == "/etc/vetro/vetro.toml"
        settings = Config.load(tmp_path, tmp_path / "vetro.toml", environ=given)
        named = [value for value in settings.values() if value.source.startswith("environment")]
        assert len(named) == len([key for key in given if key.startswith("VETRO_")]), name
        # A broker is for servers elsewhere: those of this machine do not reach it, and are reached by sockets.
        assert ("rabbitmq" in compose["services"]) == (settings["engine.broker"].get("host") == "rabbitmq")
        assert settings["cloud.kind"] == "auto", "the best kind that works, with the cloud helper real servers"
    assert seen == 3


def test_commands_of_containers_are_commands(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        if service["image"] == "vetro:local":
            understood(service["command"])


def test_the_image_is_built_from_what_is_here() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert len(set(bases)) == 1 and re.fullmatch(r"python:3\.11\.\d+-slim-\w+", bases[0])
    for file in re.findall(r"--requirement (\S+)", text):
        assert (ROOT / file).exists()
    understood(json.loads(re.findall(r"^CMD (.*)$", text, re.MULTILINE)[0]))
    given = dict(re.findall(r"\b(VETRO_\w+)=(\S+)", text))
    assert given.pop("VETRO_DATA") == "/var/lib/vetro"
    settings = Config.load("/nowhere", environ=given)
    # As settings, not as options of one command: `vetro doctor` in the container looks at them, too.
    assert settings["server.host"] == "0.0.0.0"
    assert len([value for value in settings.values() if value.source.startswith("environment")]) == len(given)


def commands_of(unit: str) -> Iterator[list[str]]:
    """What the unit runs of Vetro."""
    for line in (DEPLOY / "systemd" / unit).read_text().splitlines():
        if line.startswith("Exec") and "/opt/vetro/bin/vetro" in line:
            words = shlex.split(line.partition("=")[2].replace("%%", "%"))
            if words[0] == "/bin/sh":
                words = shlex.split(words[-1].replace("$(date +%F)", "today"))
            yield words[words.index("/opt/vetro/bin/vetro") + 1 :]


@pytest.mark.parametrize(
    "unit", ["vetro.service", "vetro-worker@.service", "vetro-backup.service", "vetro-cloud-helper.service"]
)
def test_units_run_commands(unit: str) -> None:
    found = list(commands_of(unit))
    assert found
    for words in found:
        understood(words)


def test_units_are_valid(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    need(None if program else "systemd-analyze")
    vetro = tmp_path / "bin" / "vetro"
    vetro.parent.mkdir()
    vetro.touch(mode=0o755)
    names = []
    for file in (DEPLOY / "systemd").iterdir():
        if file.suffix in (".service", ".timer"):
            names.append(file.name)
            text = file.read_text().replace("/opt/vetro/bin/vetro", str(vetro))
            (tmp_path / file.name).write_text(text)

    def said() -> list[str]:
        units = [str(tmp_path / name) for name in names]
        done = subprocess.run(
            [program, "verify", "--man=no", *units], capture_output=True, text=True, timeout=60, check=False
        )
        return [line for line in done.stderr.splitlines() if "vetro" in line]  # units of the machine are its own

    assert said() == []
    broken = tmp_path / "vetro.service"
    broken.write_text(
        broken.read_text().replace("KillMode=mixed", "KillMode=gently").replace("ExecStart=/", "ExecStart=//x/")
    )
    assert len(said()) >= 2  # the check sees something


def test_the_worker_is_given_time_to_drain() -> None:
    wanted = Config.load("/nowhere", environ={})["worker.drain_seconds"]
    for unit in ("vetro.service", "vetro-worker@.service"):
        (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", (DEPLOY / "systemd" / unit).read_text(), re.MULTILINE)
        assert int(seconds) > 2 * wanted
    grace = composed("compose.yaml")["services"]["worker"]["stop_grace_period"]
    assert int(grace.removesuffix("s")) > 2 * wanted


def test_every_file_is_listed() -> None:
    text = (DEPLOY / "README.md").read_text()
    for path in DEPLOY.iterdir():
        assert path.name == "README.md" or f"]({path.name})" in text, path.name


def test_the_user_is_made() -> None:
    program = shutil.which("systemd-sysusers")
    need(None if program else "systemd-sysusers")
    file = DEPLOY / "systemd" / "vetro.sysusers"
    done = subprocess.run([program, "--dry-run", str(file)], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    unit = (DEPLOY / "systemd" / "vetro.service").read_text()
    name, home = re.findall(r'^u (\w+) - "\w+" (\S+)$', file.read_text(), re.MULTILINE)[0]
    assert f"User={name}\n" in unit and f"--data {home} " in unit
