"""A hostile archive that took over what examines it reaches nothing: it is the operating system that refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.natives import hostile_natives as hostile
from tests.engine.taskworld import NATIVES
from tests.server.catalog.archives import archive
from tests.support.installation import compiled
from vetro.engine.query.sandboxed_worker import sandboxed_worker
from vetro.engine.sandbox import LAYERS
from vetro.engine.sandbox.identity import TASK_ID
from vetro.engine.task.launcher import Launcher
from vetro.muranopl.code_cache import file_of, key_of_file
from vetro.packages.cache import DiskCache
from vetro.server import sandboxed_workers
from vetro.server.catalog import blobs
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.inspection import client, protocol
from vetro.server.catalog.inspection.pool import Pool
from vetro.server.errors import Invalid
from vetro.server.sandboxed_workers import compiled_folder
from vetro.server.setup import config

pytestmark = pytest.mark.attack("uploads", "walls of examiners")

LIMITS = {"archive": 1 << 20, "entries": 10, "file": 1 << 20, "total": 1 << 20, "ratio": 100}


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    here = str(Path(__file__).parent)
    with Launcher(cache=compiled(), path=[str(NATIVES), here], answering=["examine=bad_checker:answerer"]) as made:
        yield made


@pytest.fixture
def bad(launcher: Launcher, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """Questions, to a checker that does what the archive says."""
    monkeypatch.setattr(sandboxed_workers, "launcher", lambda: launcher)
    found = Pool(1)
    monkeypatch.setattr(client, "pool", lambda: found)
    yield found
    found.close()


def ask(bad: Pool, seconds: float = 30.0, readable: list[str] | None = None, **wanted: Any) -> Any:
    head = {"op": "read", "location": "x", "strict": True, "limits": LIMITS}
    return bad.ask("p", head, [json.dumps(wanted).encode()], seconds, readable or [])[0]["facts"]


def test_everything_is_refused_inside(bad: Pool, tmp_path: Path) -> None:
    """The attempts are those on tasks; tests/engine/test_sandbox.py shows that they work outside."""
    (tmp_path / "journal.db").write_text("the secret of another tenant")
    (tmp_path / "journal.db").chmod(0o666)
    tmp_path.chmod(0o777)
    said = ask(bad, what="attempt", names=[*hostile.IN_FOLDER, *hostile.INSIDE], where=str(tmp_path))
    assert set(said) == {*hostile.IN_FOLDER, *hostile.INSIDE}
    assert {name: result for name, result in said.items() if not result.startswith("refused E")} == {}
    assert os.listdir(tmp_path) == ["journal.db"]
    assert (tmp_path / "journal.db").read_text() == "the secret of another tenant"


def test_other_processes_are_out_of_reach(bad: Pool, launcher: Launcher) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert other.stdin is not None
        for pid in (os.getpid(), launcher.pid, other.pid):
            said = ask(bad, what="attempt", names=sorted(hostile.ON_PROCESS), where=str(pid))
            assert {name: result for name, result in said.items() if not result.startswith("refused E")} == {}
        other.stdin.close()


def test_no_wall_is_missing(launcher: Launcher) -> None:
    assert [layer["name"] for layer in launcher.layers() if layer["active"]] == list(LAYERS)
    with sandboxed_worker(launcher, "examine", memory_mib=64, cpu_seconds=1) as process:
        status = Path(f"/proc/{process.pid}/status").read_text()
    assert "\nSeccomp:\t2\n" in status and "\nNoNewPrivs:\t1\n" in status


def test_it_has_no_environment_and_one_pipe(bad: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = ask(bad, what="look")
    assert not [name for name in seen["environment"] if name not in ("LC_CTYPE",)]
    assert len(seen["descriptors"]) == 4
    assert seen["user"] == (TASK_ID if os.geteuid() == 0 else os.geteuid())


def test_it_reads_what_the_catalog_names_and_nothing_beside_it(bad: Pool, tmp_path: Path) -> None:
    named, beside = tmp_path / "named.zip", tmp_path / "beside.zip"
    for file in (named, beside):
        file.write_bytes(b"12345")
        file.chmod(0o600)
    assert ask(bad, what="open", where=str(named), readable=[str(named)]) == {"bytes": 5}
    for readable in ([str(named)], []):
        with pytest.raises(Invalid, match="PermissionError"):
            ask(bad, what="open", where=str(beside), readable=readable)


@pytest.mark.parametrize(
    ("what", "seconds", "text"),
    [("loop", 1.0, r"more than \d+ seconds"), ("memory", 30.0, "more memory"), ("flood", 30.0, "more memory")],
)
def test_bombs_refuse_the_package_only(
    bad: Pool, what: str, seconds: float, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "LARGEST_HEAD", 1 << 20)
    with pytest.raises(Invalid, match=text):
        ask(bad, seconds, what=what)
    assert ask(bad, what="look")["descriptors"]


@pytest.mark.parametrize("name", sorted(hostile.DEADLY))
def test_the_worst_is_deadly(bad: Pool, name: str) -> None:
    with pytest.raises(Invalid):
        ask(bad, what="attempt", names=[name], where=str(os.getpid()))


def test_uploads_are_answered_with_a_report(bad: Pool, ann: Any) -> None:
    for wanted in ({"what": "memory"}, {"what": "open", "where": "/etc/passwd"}):
        answer = ann._client.post(
            "/v2/packages", {"archive": _part(json.dumps(wanted).encode())}
        )  # fmt: skip
        assert answer.status_code == 400, answer.content
        assert answer.json()["error"]["message"].startswith("Couldn't load package from file: ")


def _part(data: bytes) -> Any:
    from django.core.files.uploadedfile import SimpleUploadedFile

    return SimpleUploadedFile("a.zip", data)


def test_code_is_kept_for_the_archive_that_was_examined_only(bad: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VETRO_CACHE")
    own, other = "/blobs/own", "/blobs/other"
    keys = {file: key_of_file(f"{file}/Classes/x.yaml", f"{file} test") for file in (own, other, "/blobs/own2")}
    keys["short"] = "0" * 64
    data = json.dumps({"keys": list(keys.values())}).encode()
    client.check_archives("p", [(data, own)], [], shared=[own])
    cache = DiskCache(compiled_folder(config()))
    assert not any(cache.get(key) for key in keys.values())
    client.check_archives("p", [(data, own)], [])
    assert {file: cache.get(key) for file, key in keys.items()} == {
        own: b"code", other: None, "/blobs/own2": None, "short": None
    }  # fmt: skip


@pytest.mark.django_db
def test_tasks_find_the_code_of_what_was_imported(
    ann: Any, eve: Any, root: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled inside, carried out, and written where task processes look for it."""
    monkeypatch.delenv("VETRO_CACHE")
    written: list[str] = []
    put = DiskCache.put

    def noted(self: DiskCache, key: str, data: bytes) -> None:
        written.append(key)
        put(self, key, data)

    monkeypatch.setattr(DiskCache, "put", noted)
    data = archive("com.example.Compiled")
    package = import_packages(ann.caller, [data]).packages[0]
    place = str(blobs.location_of(package.digest))
    *code, mark = written
    assert {file_of(key) for key in code} == {f"{place}/Classes/com.example.Compiled.yaml"}
    assert file_of(mark) == f"{place}/"
    cache = DiskCache(compiled_folder(config()))
    keys = written.copy()
    assert len(code) == 2 and all(cache.get(key) for key in keys)
    # Whatever this process may have become: the code is that of tasks of the first project.
    import_packages(eve.caller, [data])
    assert written == keys
    # Whoever makes it public trusts nothing that others have left there.
    DiskCache(compiled_folder(config()), writable=True).put(keys[0], b"poison")
    assert cache.get(keys[0]) == b"poison"
    import_packages(root.caller, [data], is_public=True)
    assert set(written[4:]) == set(keys) and b"poison" not in [cache.get(key) for key in keys]
