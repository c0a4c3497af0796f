"""Files that actions are given and return: who may, how much, how long; part by part over /v2."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vetro.clouds.interface import Owner
from vetro.server import setup
from vetro.server.audit.models import AuditRecord
from vetro.server.config.file_folders import folder_of, host_setting
from vetro.server.requests.streams import open_streams
from vetro.server.servers import files

pytestmark = pytest.mark.django_db


def settings(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    values = {f"files.{name}": value for name, value in changed.items()}
    monkeypatch.setattr(setup, "_current", setup.config().changed(values))


@pytest.fixture
def environment(ann: Any) -> str:
    return str(ann.post("/v2/environments", {"name": "e"}).json()["id"])


def put(person: Any, environment: str, file: str, data: bytes, offset: int, kind: str = "octet-stream") -> Any:
    path = f"/v2/environments/{environment}/files/{file}?offset={offset}"
    return person.put(path, data=data, content_type=f"application/{kind}")


def begun(person: Any, environment: str) -> str:
    answer = person.post(f"/v2/environments/{environment}/files")
    assert answer.status_code == 201, answer.content
    assert answer.json()["size"] == 0 and answer.json()["part"] == 4 << 20
    return str(answer.json()["file"])


def content(person: Any, environment: str, file: str) -> bytes:
    answer = person.get(f"/v2/environments/{environment}/files/{file}")
    assert answer.status_code == 200, answer
    assert answer["Content-Type"] == "application/octet-stream"
    return b"".join(answer.streaming_content)


def test_parts_come_one_after_the_other_and_go_out_as_one(ann: Any, bob: Any, environment: str) -> None:
    file, data = begun(ann, environment), os.urandom(5000)
    assert put(ann, environment, file, data[:3000], 0).json()["size"] == 3000
    assert put(ann, environment, file, data[:3000], 0).json()["size"] == 3000  # its answer was lost
    wrong = put(ann, environment, file, data[:1], 2000)
    assert (
        wrong.status_code == 409
        and "3000 bytes: that is where the next part begins" in wrong.json()["error"]["message"]
    )
    assert put(bob, environment, file, data[3000:], 3000).json()["size"] == 5000
    assert content(ann, environment, file) == content(bob, environment, file) == data
    place = Path(host_setting(setup.config(), Owner(ann.caller.project_id, environment, "u"))["folder"])
    assert (place / file).read_bytes() == data and (place / file).stat().st_mode & 0o777 == 0o600
    assert place.stat().st_mode & 0o777 == 0o700
    assert ann.request("DELETE", f"/v2/environments/{environment}/files").status_code == 204
    assert ann.get(f"/v2/environments/{environment}/files/{file}").status_code == 404
    # Who brought them and who removed them is in the audit.
    found = AuditRecord.objects.filter(action__startswith="environment.file").order_by("id")
    assert [(one.action, one.target_id, one.details) for one in found] == [
        ("environment.file.begin", environment, {"file": file}), ("environment.file.remove", environment, {}),
    ]  # fmt: skip


def test_what_is_no_part_is_refused(ann: Any, environment: str) -> None:
    file = begun(ann, environment)
    assert put(ann, environment, file, b"{}", 0, "json").status_code == 415
    assert put(ann, environment, file, b"x" * ((4 << 20) + 1), 0).status_code == 413
    for name in ("0" * 32, "..%2flock", "lock", "x"):
        assert put(ann, environment, name, b"x", 0).status_code == 404, name
        assert ann.get(f"/v2/environments/{environment}/files/{name}").status_code == 404
    assert put(ann, environment, file, b"x", -1).status_code == 400


@pytest.mark.attack("routes", "files of another project, and of another environment")
def test_files_are_those_of_one_environment(ann: Any, eve: Any, environment: str) -> None:
    file = begun(ann, environment)
    put(ann, environment, file, b"secret", 0)
    theirs = str(eve.post("/v2/environments", {"name": "e"}).json()["id"])
    ours = str(ann.post("/v2/environments", {"name": "f"}).json()["id"])
    for person, where in ((eve, environment), (eve, theirs), (ann, ours)):
        assert person.get(f"/v2/environments/{where}/files/{file}").status_code == 404
        assert put(person, where, file, b"x", 6).status_code == 404
    assert eve.post(f"/v2/environments/{environment}/files").status_code == 404
    assert eve.request("DELETE", f"/v2/environments/{environment}/files").status_code == 404
    assert content(ann, environment, file) == b"secret"


@pytest.mark.attack("quotas", "files of a project, in several environments, until the disk is full")
def test_a_project_has_so_much_room(ann: Any, eve: Any, environment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings(monkeypatch, each_project_mib=1)
    other = str(ann.post("/v2/environments", {"name": "f"}).json()["id"])
    first, second = begun(ann, environment), begun(ann, other)
    assert put(ann, environment, first, b"x" * (700 << 10), 0).status_code == 200
    refused = put(ann, other, second, b"x" * (700 << 10), 0)
    assert refused.status_code == 413 and "at most 1 MiB together" in refused.json()["error"]["message"]
    theirs = str(eve.post("/v2/environments", {"name": "e"}).json()["id"])
    assert put(eve, theirs, begun(eve, theirs), b"x" * (700 << 10), 0).status_code == 200
    monkeypatch.setattr(files, "MOST", 2)
    # All are looked at with each part: 1000 in each of 100 environments took 1.2 s, in which others of it waited.
    for one in (environment, other):
        assert ann.post(f"/v2/environments/{one}/files").status_code == 429
    begun(eve, theirs)


def test_files_go_when_they_are_a_day_old(ann: Any, environment: str) -> None:
    old, young = begun(ann, environment), begun(ann, environment)
    folder = folder_of(setup.config(), ann.caller.project_id, environment)
    os.utime(folder / old, (time.time() - 90_000,) * 2)
    assert files.sweep(setup.config()) == 1
    assert [path.name for path in folder.iterdir()] == [young]


@pytest.mark.attack("quotas", "files of environments that are gone, which nobody can remove, fill a project's room")
def test_files_of_an_environment_go_with_it(
    ann: Any, environment: str, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    put(ann, environment, begun(ann, environment), b"secret", 0)
    folder = folder_of(setup.config(), ann.caller.project_id, environment)
    assert folder.is_dir()
    with django_capture_on_commit_callbacks(execute=True):
        assert ann.request("DELETE", f"/v2/environments/{environment}?abandon=true").status_code < 300
    assert ann.get(f"/v2/environments/{environment}").status_code == 404
    assert not folder.exists()
    # What a server sent after that goes later, with its folder.
    folder.mkdir()
    (folder / ("0" * 32)).write_bytes(b"x")
    os.utime(folder / ("0" * 32), (time.time() - 90_000,) * 2)
    assert files.sweep(setup.config()) == 1 and not folder.exists()


@pytest.mark.attack("bodies", "slow-reader")
def test_files_that_nobody_reads_hold_as_many_threads_as_streams_may(
    ann: Any, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """120 of them kept everybody else from the service: each held a thread of those that answer."""
    monkeypatch.setattr(setup, "_current", setup.config().changed({"server.streams": 2}))
    file = begun(ann, environment)
    put(ann, environment, file, b"x" * 600_000, 0)
    address = f"/v2/environments/{environment}/files/{file}"
    unread = [ann.get(address) for _ in range(2)]
    assert [answer.status_code for answer in unread] == [200, 200]
    refused = ann.get(address)
    assert refused.status_code == 429 and "save one file after the other" in refused.json()["error"]["hint"]
    # What is added while it goes out is no part of it.
    put(ann, environment, file, b"y", 600_000)
    assert all(b"".join(answer.streaming_content) == b"x" * 600_000 for answer in unread)
    assert content(ann, environment, file)[-1:] == b"y" and open_streams() == 0


@pytest.mark.attack("data", "files that go while they are added to, read and swept")
def test_what_goes_meanwhile_is_told(ann: Any, environment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file, path_of = begun(ann, environment), files._path_of
    put(ann, environment, file, b"abc", 0)

    def gone(*args: Any) -> Path:
        path = path_of(*args)
        path.unlink(missing_ok=True)
        return path

    monkeypatch.setattr(files, "_path_of", gone)
    assert put(ann, environment, file, b"x", 3).status_code == 404
    again = begun(ann, environment)
    assert ann.get(f"/v2/environments/{environment}/files/{again}").status_code == 404
    assert not list(folder_of(setup.config(), ann.caller.project_id, environment).iterdir())


def test_projects_of_any_name_have_folders_of_their_own() -> None:
    places = {folder_of(setup.config(), name, "e") for name in ("a", "..", "../a", "a/b", ".61", "A")}
    root = setup.config().data / "files"
    assert len(places) == 6 and all(path.parent.parent == root and ".." not in path.parts for path in places)
