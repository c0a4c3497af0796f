"""Environments as folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vetro.engine.task.task import Budget, Task
from vetro.engine.workspace import EnvironmentFolder, Workspace, default_root
from vetro.engine.workspace.files import EnvironmentBusy, NoSuchEnvironment, WorkspaceError
from vetro.packages import memory_package, open_package


def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws")


def task(id: str = "t1") -> Task:
    return Task(id, "deploy", model={"Objects": None}, budget=Budget(memory_mib=64))


def test_the_default_place_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("VETRO_WORKSPACE", raising=False)
    assert default_root() == tmp_path / "vetro"
    monkeypatch.setenv("VETRO_WORKSPACE", "/elsewhere")
    assert default_root() == Path("/elsewhere")


def test_nothing_is_made_before_it_is_needed(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    assert made.names() == []
    assert not made.root.exists()


def test_an_environment_has_an_empty_model_and_is_found_by_name_and_id(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    folder = made.create("web", driver="record")
    assert made.names() == ["web"]
    assert made.get("web").id == made.get(folder.id).id == folder.id
    assert folder.setting("driver") == "record"
    assert folder.status() == "new"
    root = folder.model().root
    assert root is not None
    assert root["?"]["id"] == folder.id


@pytest.mark.parametrize("name", ["", "../up", ".hidden", "a/b", "a" * 64, "a b", "-x"])
def test_bad_names_are_refused_and_touch_nothing(tmp_path: Path, name: str) -> None:
    made = workspace(tmp_path)
    with pytest.raises(WorkspaceError, match="cannot be the name"):
        made.create(name)
    assert not made.root.exists()
    with pytest.raises(NoSuchEnvironment):
        made.get(name)


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    first = made.create("web").id
    with pytest.raises(WorkspaceError, match="already"):
        made.create("web")
    assert made.get("web").id == first


def test_an_unknown_name_gets_the_likely_one(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    made.create("webshop")
    with pytest.raises(NoSuchEnvironment, match="no environment 'webshp'") as caught:
        made.get("webshp")
    assert caught.value.hint == "did you mean 'webshop'?"


def test_a_task_is_open_until_its_end_is_written(tmp_path: Path) -> None:
    folder = workspace(tmp_path).create("web")
    begun = folder.begin(task())
    again = EnvironmentFolder(folder.path)
    assert again.status() == "interrupted"
    found = again.open_task()
    assert found is not None
    assert found.task() == task()
    with pytest.raises(WorkspaceError, match="interrupted"):
        again.begin(task("t2"))
    folder.end(begun, {"Objects": None}, {"state": "done"})
    assert folder.open_task() is None
    assert folder.latest() == begun.number == 1
    assert folder.status() == "destroyed"


def test_a_failed_task_keeps_the_model_before(tmp_path: Path) -> None:
    folder = workspace(tmp_path).create("web")
    folder.end(folder.begin(task()), None, {"state": "failed", "error": {"message": "x"}})
    assert folder.status() == "failed"
    assert folder.latest() == 0
    assert folder.begin(task("t2")).number == 2


def test_while_somebody_works_the_environment_is_busy(tmp_path: Path) -> None:
    folder = workspace(tmp_path).create("web")
    with folder.lock():
        folder.begin(task())
        other = EnvironmentFolder(folder.path)
        assert other.status() == "deploying"
        with pytest.raises(EnvironmentBusy, match="process"), other.lock():
            raise AssertionError
    assert other.status() == "interrupted"


def test_packages_are_kept_by_content(tmp_path: Path) -> None:
    folder = workspace(tmp_path).create("web")
    one = memory_package({"name": "a", "version": "1.0.0", "format": "1.4", "classes": {"a.B": "Name: a.B"}})
    two = memory_package({"name": "a", "version": "1.0.0", "format": "1.4", "classes": {"a.C": "Name: a.C"}})
    assert folder.add_packages([one]) == ["added a 1.0.0"]
    assert folder.add_packages([one]) == []
    assert folder.add_packages([two]) == ["changed a 1.0.0"]
    assert len(folder.packages) == 1
    (path,) = EnvironmentFolder(folder.path).package_paths()
    assert Path(path).name == folder.packages[0]["digest"] + ".zip"
    assert Path(path).read_bytes() == two.blob


def test_packages_of_other_formats_are_kept_as_folders(tmp_path: Path) -> None:
    source = tmp_path / "hot"
    source.mkdir()
    (source / "manifest.yaml").write_text("Format: Heat.HOT/1.0\nType: Application\nFullName: a.Hot\n")
    (source / "template.yaml").write_text("heat_template_version: 2013-05-23\nresources: {}\n")
    made = open_package(source)
    folder = workspace(tmp_path).create("web")
    folder.add_packages([made])
    (path,) = EnvironmentFolder(folder.path).package_paths()
    assert Path(path).is_dir()
    assert open_package(path).blob
    assert sorted(p.name for p in Path(path).iterdir()) == ["manifest.yaml", "template.yaml"]


def test_reports_are_kept_once_and_a_torn_line_is_left_out(tmp_path: Path) -> None:
    folder = workspace(tmp_path).create("web")
    for key in ("0/1", "0/1", "0/2"):
        folder.report(1, key, {"text": "hello"})
    with open(folder.path / "reports.jsonl", "a") as file:
        file.write('{"task": 1, "key": "0/3", "te')
    assert [r["key"] for r in folder.reports()] == ["0/1", "0/2"]


def test_damage_is_named(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    folder = made.create("web")
    (folder.path / "model-0.json").write_text('{"Objects":')
    with pytest.raises(WorkspaceError, match=r"model-0\.json is damaged"):
        folder.model()
    with pytest.raises(WorkspaceError, match="has no model 7"):
        folder.model(7)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("environment.json", "[]", "holds no mapping"),
        ("environment.json", '{"format": 1}', "'id' is missing"),
        ("environment.json", '{"format": 1, "id": "x", "name": "web", "created": 1, "packages": [1]}', "'packages'"),
        ("model-0.json", "[1]", "holds no mapping"),
        ("model-0.json", '{"Objects": 5}', "'Objects' is no object"),
        ("tasks/1/task.json", "{}", "'id' is missing"),
        ("tasks/1/task.json", '{"id": "x", "kind": "deploy", "model": {}, "nose": 1}', "unexpected keyword"),
        ("tasks/1/outcome.json", "[]", "holds no mapping"),
    ],
)
def test_files_of_another_shape_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = workspace(tmp_path).create("web").path
    (path / "tasks" / "1").mkdir(parents=True)
    (path / "tasks" / "1" / "task.json").write_text(json.dumps(task().as_json()))
    (path / name).write_text(content)
    with pytest.raises(WorkspaceError, match=f"{name.rpartition('/')[2]} is damaged.*{message}"):
        folder = EnvironmentFolder(path)
        folder.model()
        folder.tasks()[0].task()
        folder.tasks()[0].outcome()


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    folder = workspace(tmp_path).create("web")
    folder.report(1, "0/1", {"text": "the password is x"})
    assert folder.path.stat().st_mode & 0o077 == 0
    assert (folder.path / "reports.jsonl").stat().st_mode & 0o077 == 0


def test_folders_of_newer_versions_are_refused(tmp_path: Path) -> None:
    folder = workspace(tmp_path).create("web")
    data = json.loads((folder.path / "environment.json").read_text())
    (folder.path / "environment.json").write_text(json.dumps({**data, "format": 99}))
    with pytest.raises(WorkspaceError, match="newer"):
        EnvironmentFolder(folder.path)


def test_removing_takes_the_folder_away(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    folder = made.create("web")
    made.remove("web")
    assert made.names() == []
    assert not folder.path.exists()
