"""What `vetro doctor` sees of settings, folders and addresses."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from vetro.diagnostics import Diagnostic
from vetro.server.config.config import Config
from vetro.server.errors import Unavailable
from vetro.server.operations.doctor import address, folder, storage, variables

Make = Callable[..., Config]


def problems(found: Iterable[Diagnostic]) -> list[tuple[str, str]]:
    kept = [finding for finding in found if finding.severity != "ok"]
    assert all(finding.hint for finding in kept)
    return [(finding.severity, finding.message) for finding in kept]


def test_variables_that_mean_nothing(settings: Make) -> None:
    meant = {"VETRO_DATABASE_URL": "x", "VETRO_SERVR__PORT": "1"}
    environ = {**meant, "VETRO_WORKER__TASKS": "2", "VETRO_WORKSPACE": "/w", "HOME": "/"}
    found = list(variables.examine(settings(), environ))
    assert [(f.message.split()[2], f.hint) for f in found if f.severity == "warning"] == [
        ("VETRO_DATABASE_URL", "it is called VETRO_DATABASE__URL"),
        ("VETRO_SERVR__PORT", "it is called VETRO_SERVER__PORT"),
    ]


def test_files_that_settings_name(settings: Make, tmp_path: Path) -> None:
    config = settings(accounts_policy_file="rules.yaml")
    ((level, text),) = problems(variables.examine(config, {}))
    assert level == "error" and text == f"'accounts.policy_file' names {tmp_path}/data/rules.yaml, which does not exist"
    (tmp_path / "data" / "rules.yaml").touch()
    assert problems(variables.examine(config, {})) == []


def test_a_folder_in_order(settings: Make) -> None:
    assert problems(folder.examine(settings())) == []


def test_a_folder_that_others_read(settings: Make, tmp_path: Path) -> None:
    config = settings()
    config.data.chmod(0o755)
    assert problems(folder.examine(config)) == [("warning", f"others may look into {tmp_path}/data")]


def test_a_file_of_settings_with_a_password(tmp_path: Path) -> None:
    file = tmp_path / "etc" / "vetro.toml"
    file.parent.mkdir()
    file.write_text('[database]\nurl = "postgresql://vetro:hunter2@db/vetro"\n')
    (tmp_path / "data").mkdir(mode=0o700)
    file.chmod(0o644)
    config = Config.load(tmp_path / "data", file, environ={})
    ((level, text),) = problems(folder.examine(config))
    assert level == "warning" and "database.url may hold passwords" in text and "hunter2" not in text
    for mode, folder_mode in ((0o600, 0o755), (0o640, 0o755), (0o644, 0o750)):  # the group is that of the service
        file.chmod(mode)
        file.parent.chmod(folder_mode)
        assert problems(folder.examine(config)) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_settings_for_another_group(tmp_path: Path) -> None:
    file = tmp_path / "vetro.toml"
    file.write_text('[database]\nurl = "postgresql://vetro:hunter2@db/vetro"\n')
    (tmp_path / "data").mkdir(mode=0o700)
    file.chmod(0o640)
    os.chown(file, -1, 65534)
    config = Config.load(tmp_path / "data", file, environ={})
    assert [level for level, _ in problems(folder.examine(config))] == ["warning"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_things_of_others(settings: Make) -> None:
    config = settings()
    (config.data / "vetro.db-writers").touch()
    os.chown(config.data, 65534, 65534)
    found = [finding for finding in folder.examine(config) if finding.severity == "error"]
    assert "1 things in it do not belong to nobody" in found[0].message and "vetro.db-writers" in found[0].message
    assert found[0].hint == f"chown -R nobody: {config.data}"
    os.chown(config.data, 0, 0)


@pytest.mark.parametrize(
    ("free", "files", "level"),
    [(100 << 20, 1 << 20, "error"), (500 << 20, 1 << 20, "warning"), (9 << 30, 5, "warning")],
)
def test_little_room(settings: Make, monkeypatch: Any, free: int, files: int, level: str) -> None:
    class Disk:
        f_bavail, f_frsize, f_files, f_favail = free // 4096, 4096, 1 << 21, files

    monkeypatch.setattr(folder.os, "statvfs", lambda _: Disk)
    ((found, _),) = problems(folder.room(settings().data))
    assert found == level


def test_sqlite_over_the_network(settings: Make, tmp_path: Path, monkeypatch: Any) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nfar:/x {tmp_path}/data nfs4 rw 0 0\nfar:/y {tmp_path}/da nfs rw 0 0\n")
    config = settings()
    assert folder.file_system(config.data, str(mounts)) == "nfs4"
    assert folder.file_system(tmp_path, str(mounts)) == "ext4"
    monkeypatch.setattr(folder, "file_system", lambda _: "nfs4")
    ((level, text),) = problems(folder.examine(config))
    assert level == "error" and "nfs4" in text
    assert problems(folder.examine(settings(database_url="postgresql://db/vetro"))) == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, []),
        ({"server_allowed_hosts": ["*"]}, [("warning", "it answers to any name")]),
        ({"server_host": "0.0.0.0"}, [("warning", "it listens on 0.0.0.0 without TLS")]),
        ({"server_public_url": "http://127.0.0.1:9000"}, []),
        ({"server_public_url": "http://vetro.example.org"}, [("warning", "passwords go unencrypted")]),
        ({"server_public_url": "vetro.example.org"}, [("error", "'server.public_url' is no address")]),
        ({"server_public_url": "https://v.example.org"}, [("warning", "the proxy is not believed")]),
        ({"server_public_url": "https://v.example.org", "server_trusted_proxies": ["10.0.0.0/8"]}, []),
        ({"server_trusted_proxies": ["0.0.0.0/0"]}, [("error", "0.0.0.0/0 lets every client say")]),
        (
            {"server_public_url": "https://v.example.org", "server_trusted_proxies": ["10.1.1.1"],
             "server_allowed_hosts": ["other.example.org"]},
            [("error", "'server.allowed_hosts' (other.example.org) does not hold")],
        ),
        (
            {"server_public_url": "https://v.example.org", "server_trusted_proxies": ["10.1.1.1"],
             "server_allowed_hosts": [".example.org"]},
            [],
        ),
    ],
)  # fmt: skip
def test_addresses(settings: Make, values: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    found = problems(address.examine(settings(**values)))
    assert [
        (level, text[: len(wanted)]) for (level, text), (_, wanted) in zip(found, expected, strict=True)
    ] == expected


def test_the_port_that_a_running_service_took(settings: Make) -> None:
    config = settings()
    run = config.data / "run" / str(os.getpid())
    run.mkdir(parents=True)
    (run / "address").write_text('{"url": "http://127.0.0.1:9123", "port": 9123}')
    (found,) = [f.message for f in address.examine(config) if "listens" in str(f.message)]
    assert found == "it listens on 127.0.0.1:9123 (--port; the settings say 8082), for users the same"


def test_a_store_that_is_a_folder(settings: Make, monkeypatch: Any) -> None:
    config = settings()
    assert problems(storage.examine(config)) == []
    place = config.data / "blobs"
    place.mkdir()
    assert problems(storage.examine(config)) == [] and list(place.iterdir()) == []

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", full)
    assert problems(storage.examine(config)) == [("error", f"{place} cannot be written: No space left on device")]


def test_a_store_that_is_away(settings: Make, monkeypatch: Any) -> None:
    def refuse(_: bytes) -> str:
        raise Unavailable("the blob store cannot be written: refused")

    monkeypatch.setattr(storage.blobs, "put", refuse)
    found = problems(storage.examine(settings(storage_blobs="s3://bucket/x")))
    assert found == [("error", "s3://bucket/x: the blob store cannot be written: refused")]
