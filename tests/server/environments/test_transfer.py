"""Environments as archives, between servers and workspaces."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.server.environments.conftest import exported, plant
from vetro.server.environments import drafts, history, imports, limits, queries
from vetro.server.environments.errors import NotYours
from vetro.server.environments.models import EnvironmentPackage
from vetro.server.errors import Conflict, Invalid
from vetro.server.local.old_folders import OldTask, answer


def test_an_archive_is_an_environment_of_the_first_versions_of_workspaces(planting: Any, tmp_path: Path) -> None:
    garden = planting(plant())
    data = exported(garden.caller, garden.id)
    target = tmp_path / "environments" / "garden"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(target)
    head, blobs = answer(target)
    numbers = head["numbers"]
    models = dict(zip(numbers, (json.loads(zlib.decompress(blob)) for blob in blobs), strict=False))
    assert (head["id"], head["name"], max(models)) == (garden.id, "garden", 1)
    assert [app["name"] for app in models[1]["Objects"]["applications"]] == ["p1"]
    assert all((target / "packages" / f"{entry['digest']}.zip").exists() for entry in head["packages"])
    (task,) = (OldTask.loads(blob) for blob in blobs[len(numbers) :])
    assert task.task is not None and task.task["kind"] == "deploy"
    assert "growing" in [entry["text"] for entry in task.reports]


def test_an_environment_comes_back_as_it_was(planting: Any, eve: Any) -> None:
    garden = planting(plant())
    data = exported(garden.caller, garden.id)
    made = imports.import_environment(eve.caller, data)  # the package comes along
    new = str(made["environment_id"])
    found = queries.get(eve.caller, new, model=True)
    assert (found.name, found.version, found.status) == ("garden", 1, "ready")
    assert new != garden.id and found.model is not None and found.model["Objects"]["?"]["id"] == new
    other = type(garden)(eve.caller, new, garden.drain)
    assert other.deploy(other.open()).state == "done"
    assert other.plant("p1")["height"] == 2
    assert EnvironmentPackage.objects.filter(environment_id=new).count() == 1


def test_a_fresh_one_is_a_draft(planting: Any) -> None:
    garden = planting(plant())
    data = exported(garden.caller, garden.id)
    made = imports.import_environment(garden.caller, data, name="other", fresh=True)
    shown = drafts.show(garden.caller, str(made["environment_id"]), str(made["session_id"]))
    assert (shown["version"], shown["status"]) == (0, "pending")
    assert "height" not in shown["services"][0] and shown["services"][0]["?"]["id"] != "p1"
    with pytest.raises(Conflict):
        imports.import_environment(garden.caller, data)


def test_an_archive_is_for_the_own_project(planting: Any, eve: Any) -> None:
    garden = planting()
    with pytest.raises(NotYours):
        exported(eve.caller, garden.id)


def packed(**files: Any) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, value in files.items():
            archive.writestr(name.replace("__", "."), value if isinstance(value, str) else json.dumps(value))
    return buffer.getvalue()


HEAD = {"format": 1, "name": "e", "id": "x", "packages": []}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04 no archive",
        packed(),
        packed(environment__json="{"),
        packed(environment__json=[]),
        packed(environment__json=HEAD),
        packed(environment__json={**HEAD, "format": 99}, **{"model-0__json": {}}),
        packed(environment__json={**HEAD, "name": ""}, **{"model-0__json": {}}),
        packed(environment__json=HEAD, **{"model-0__json": {"Objects": 5}}),
        packed(environment__json=HEAD, **{"model-0__json": "[" * 100_000}),
        packed(environment__json={**HEAD, "packages": [5]}, **{"model-0__json": {"Objects": None}}),
        packed(
            environment__json={**HEAD, "packages": [{"name": "n", "version": "1", "digest": "../../etc/passwd"}]},
            **{"model-0__json": {"Objects": None}},
        ),
    ],
)
def test_bad_archives_are_refused_and_leave_nothing(ann: Any, data: bytes) -> None:
    with pytest.raises(Invalid):
        imports.import_environment(ann.caller, data)
    assert queries.of_project(ann.caller.project_id) == []


def test_bombs_are_refused_before_they_are_unpacked(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LARGEST_ARCHIVE", 1000)
    with pytest.raises(Invalid, match="holds more than"):
        imports.import_environment(ann.caller, packed(environment__json=HEAD, big="x" * 2000))


def test_states_keep_their_numbers(planting: Any, eve: Any) -> None:
    garden = planting(plant())
    garden.deploy(garden.open())
    made = imports.import_environment(eve.caller, exported(garden.caller, garden.id))
    listed = history.states(eve.caller, str(made["environment_id"]))
    assert [s["number"] for s in listed] == [2, 1, 0]


@pytest.mark.attack("database", "M6")
def test_of_thousands_of_states_the_newest_are_imported(planting: Any, eve: Any) -> None:
    """As many as would be kept: nobody waits for the others to be written."""
    from vetro.server.environments.models import State

    garden = planting(plant())
    data = io.BytesIO(exported(garden.caller, garden.id))
    with zipfile.ZipFile(data, "a") as archive:
        model = archive.read("model-1.json")
        for number in range(2, 3000):
            archive.writestr(f"model-{number}.json", model)
    made = imports.import_environment(eve.caller, data.getvalue())
    numbers = State.objects.filter(environment_id=made["environment_id"]).order_by("number")
    assert list(numbers.values_list("number", flat=True)) == list(range(2900, 3000))
    assert queries.get(eve.caller, str(made["environment_id"])).version == 2999


def test_an_import_says_what_it_leaves_out(ann: Any) -> None:
    model = {"Objects": {"?": {"id": "e", "type": "io.murano.Environment"}, "name": "e"}}
    files = {f"model-{n}__json": model for n in range(103)}
    more = {"tasks/1/task__json": {}, "tasks/1/outcome__json": {}, "tasks/2/task__json": {}, "notes__txt": "x"}
    data = packed(environment__json=HEAD, reports__jsonl="", **files, **more)

    def brought(**given: str) -> list[str]:
        answer = ann._client.post("/v2/environments/import", {"archive": SimpleUploadedFile("e.zip", data), **given})
        assert answer.status_code == 201, answer.content
        return list(answer.json()["notes"])

    older, history, others = brought()
    assert older == "older states were left out: 3; the newest are imported: 100"
    assert "tasks was left out: 2" in history and others.endswith("left out: notes.txt")
    assert brought(name="f", fresh="true")[0] == "older states were left out: 102; the newest are imported: 1"
