"""`vetro package` against a running service."""

from __future__ import annotations

import threading
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import write_package
from tests.cli.remotekit import Remote
from vetro.cli.client import progress

LIBRARY = """\
Namespaces: {=: p.lib}
Name: Base
Methods:
  greet: {Body: {Return: hello}}
"""
APPLICATION = """\
Namespaces: {=: p.app, std: io.murano, lib: p.lib}
Name: App
Extends: [std:Application, lib:Base]
Methods:
  deploy: {Body: [$.greet()]}
"""


def test_publish_uploads_what_is_missing_and_only_that(remote: Remote, tmp_path: Path) -> None:
    write_package(tmp_path / "apps" / "lib", {"p.lib.Base": LIBRARY}, name="p.lib")
    needs = "Require: {p.lib: '>=1.0'}\n"
    write_package(tmp_path / "apps" / "app", {"p.app.App": APPLICATION}, name="p.app", extra=needs)
    # Alone the application is refused, and nothing is stored.
    said = remote.refused("package", "publish", str(tmp_path / "apps" / "app"), "--no-check")
    assert "p.lib" in said
    assert "there is no package 'p.app'" in remote.refused("package", "show", "p.app")
    apps = str(tmp_path / "apps")
    tried = remote.ok("package", "publish", apps, "--dry-run").stdout
    assert tried.count("to be published") == 2
    done = remote.data("package", "publish", apps, "--tag", "mine", "--category", "Web")
    assert sorted(p["fqn"] for p in done["imported"]) == ["p.app", "p.lib"]
    again = remote.data("package", "publish", apps)
    assert (again["imported"], len(again["present"])) == ([], 2)
    assert remote.ok("package", "publish", apps).stdout.count("was there") == 2
    shown = remote.data("package", "show", "p.app")
    assert (shown["tags"], shown["categories"], shown["requires"]) == (["mine"], ["Web"], {"p.lib": ">=1.0"})
    assert "p.app.App" in remote.ok("package", "show", "p.app", "--classes").stdout
    assert "p.app" in remote.ok("package", "show", "p.lib", "--usage").stdout
    # What it requires is now the server's: the application alone is checked and published with it.
    write_package(tmp_path / "two", {"p.app.App": APPLICATION}, name="p.app", version="2.0.0", extra=needs)
    assert "which is newer" not in remote.ok("package", "publish", str(tmp_path / "two")).output
    # Who publishes behind a newer version hears that nobody sees it.
    write_package(tmp_path / "late", {"p.app.App": APPLICATION}, name="p.app", version="1.5.0", extra=needs)
    said = " ".join(remote.ok("package", "publish", str(tmp_path / "late")).output.split())
    assert "p.app 1.5.0 is not what the catalog shows: it has 2.0.0 (" in said, said
    remote.ok("package", "delete", "p.app/1.5.0")
    assert remote.data("package", "show", "p.app")["version"] == "2.0.0"
    assert remote.data("package", "show", "p.app/1.0.0")["version"] == "1.0.0"
    assert "there are 1.0.0, 2.0.0" in remote.refused("package", "show", "p.app/3.0.0")
    assert "say which" in remote.refused("package", "delete", "p.app")
    assert "p.app" in remote.refused("package", "delete", "p.lib")
    remote.ok("package", "delete", "p.app/1.0.0", "p.app/2.0.0")
    remote.ok("package", "delete", "p.lib")
    assert "nothing is found" in remote.ok("package", "search", "p.app").stderr


def test_published_versions_do_not_change(remote: Remote, tmp_path: Path) -> None:
    folder = write_package(tmp_path / "p", {"c.One": "Name: One\nNamespaces: {=: c}\n"}, name="c")
    remote.ok("package", "publish", str(folder))
    (folder / "Classes" / "One.yaml").write_text("Name: One\nNamespaces: {=: c}\nProperties: {}\n")
    said = remote.refused("package", "publish", str(folder))
    assert "has c 1.0.0 with other content" in said
    assert "raise 'Version'" in said


def test_the_same_files_are_the_same_package_however_they_are_packed(remote: Remote, tmp_path: Path) -> None:
    folder = write_package(tmp_path / "p", {"packing.One": "Name: One\nNamespaces: {=: packing}\n"}, name="packing")
    with zipfile.ZipFile(tmp_path / "other.zip", "w", zipfile.ZIP_STORED) as packed:
        for path in sorted((p for p in folder.rglob("*") if p.is_file()), reverse=True):
            packed.write(path, path.relative_to(folder))
    assert len(remote.data("package", "publish", str(tmp_path / "other.zip"))["imported"]) == 1
    done = remote.data("package", "publish", str(folder))
    assert (done["imported"], done["present"]) == ([], [{"fqn": "packing", "version": "1.0.0"}])


def test_mistakes_are_shown_before_anything_is_uploaded(remote: Remote, tmp_path: Path) -> None:
    wrong = "Name: One\nNamespaces: {=: w}\nExtends: Nothing\n"
    folder = write_package(tmp_path / "p", {"w.One": wrong}, name="w")
    said = remote.refused("package", "publish", str(folder))
    assert "One.yaml:3" in said
    assert "nothing was uploaded" in said
    # Where the check is left to the server, it says the same.
    said = remote.refused("package", "publish", str(folder), "--no-check")
    assert "One.yaml:3" in said
    assert "there is no package" in remote.refused("package", "show", "w")
    assert remote.run("package", "publish", str(tmp_path / "nothing")).exit_code == 2


def test_what_is_required_and_nowhere_is_said_so_that_one_can_act(remote: Remote) -> None:
    package = remote.box(name="lone", extra="Require: {com.example.Nowhere: '>=2'}\n")
    said = " ".join(remote.refused("package", "publish", package).split())
    assert "com.example.Nowhere" in said and "publish with --allow-missing" in said
    assert "--require" not in said
    assert "--require" not in remote.ok("package", "publish", "--help").stdout  # which is why
    assert "lone" in remote.ok("package", "publish", package, "--allow-missing").stdout


def test_lists_and_changes(remote: Remote, tmp_path: Path) -> None:
    for version in ("1.0.0", "1.1.0"):
        folder = tmp_path / version
        write_package(folder, {"l.Lister": "Name: Lister\nNamespaces: {=: l}\n"}, name="l", version=version)
        remote.ok("package", "publish", str(folder))
    assert [p["version"] for p in remote.data("package", "list") if p["fqn"] == "l"] == ["1.1.0"]
    both = [p["version"] for p in remote.data("package", "list", "--all-versions") if p["fqn"] == "l"]
    assert sorted(both) == ["1.0.0", "1.1.0"]
    assert [p["fqn"] for p in remote.data("package", "list", "--class", "l.Lister")] == ["l"]
    changed = remote.data("package", "change", "l", "--title", "The Lister", "--tag", "a", "--category", "Web")
    assert (changed["name"], changed["tags"], changed["categories"]) == ("The Lister", ["a"], ["Web"])
    assert [p["name"] for p in remote.data("package", "search", "lister")] == ["The Lister"]
    assert [p["fqn"] for p in remote.data("package", "list", "--tag", "a", "--category", "Web")] == ["l"]
    remote.ok("package", "change", "l", "--disable")
    assert [p["version"] for p in remote.data("package", "list") if p["fqn"] == "l"] == ["1.0.0"]
    assert "1.1.0" in remote.ok("package", "list", "--disabled", "--search", "lister").stdout
    assert remote.run("package", "change", "l").exit_code == 2
    # What requires it is not enabled without it, unless that is forced.
    folder = tmp_path / "m"
    write_package(folder, {"m.User": "Name: User\nNamespaces: {=: m}\n"}, name="m", extra="Require: {l: 1}\n")
    remote.ok("package", "publish", str(folder))
    remote.ok("package", "change", "m", "--disable")
    remote.ok("package", "change", "l/1.0.0", "--disable")
    assert "requires l 1; there is none" in remote.refused("package", "change", "m/1.0.0", "--enable")
    assert remote.data("package", "change", "m/1.0.0", "--enable", "--force")["enabled"] is True
    remote.ok("package", "change", "m", "--disable")
    remote.ok("package", "change", "l/1.0.0", "--enable")
    # Others do not see it.
    eve = Remote(remote.installation, remote.folder, "eve")
    assert "there is no package 'l'" in eve.refused("package", "show", "l")
    assert yaml.safe_load(remote.ok("package", "show", "l/1.0.0", "-o", "yaml").stdout)["enabled"] is True


def test_download_and_import(remote: Remote, tmp_path: Path) -> None:
    remote.ok("package", "publish", remote.box(name="d"))
    path = remote.ok("package", "download", "d").stdout.strip()
    assert path == "d-1.0.0.zip"
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == ["Classes/Box.yaml", "manifest.yaml"]
    assert "is there already" in remote.refused("package", "download", "d")
    remote.ok("package", "download", "d", "--force")
    # The archive is the same package.
    assert remote.data("package", "publish", path)["imported"] == []
    said = remote.refused("package", "import", "https://packages.example.com/x.zip")
    assert "may not be imported from packages.example.com" in said
    assert "packages.import_hosts" in said


def test_a_terminal_shows_what_becomes_of_an_upload(remote: Remote, tmp_path: Path) -> None:
    write_package(tmp_path / "one", {"p.shown.Base": LIBRARY.replace("p.lib", "p.shown")}, name="p.shown")
    with remote.terminal("package", "publish", str(tmp_path / "one")) as child:
        child.expect("sending 1 package, 1 KiB")
        child.expect(r"p\.shown +1\.0\.0 +published")
    assert "sending" not in remote.ok("package", "publish", str(tmp_path / "one")).output


def test_the_stages_of_an_import_are_followed(remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, stored = list[str](), threading.Event()

    class Terminal(progress.Progress):
        def step(self, text: str) -> None:
            steps.append(text)
            if text.startswith("storing"):
                stored.set()

    monkeypatch.setattr(progress, "Progress", Terminal)
    monkeypatch.setattr(progress, "at_terminal", lambda: True)
    monkeypatch.setattr(progress, "_BEGIN", 60.0)  # a busy machine may take its time
    write_package(tmp_path / "two", {"p.staged.Base": LIBRARY.replace("p.lib", "p.staged")}, name="p.staged")
    remote.ok("package", "publish", str(tmp_path / "two"))
    assert stored.wait(60)
    stages = ["reading 1 package, 0 are read", "checking 1 package", "storing 1 package"]
    assert steps == ["sending 1 package, 1 KiB", *stages]


FIXTURE = """\
Namespaces: {=: p.tested, t: io.murano.test, lib: p.needed}
Name: Works
Extends: t:TestFixture
Methods:
  testIt:
    Body:
      - $.assertEqual(hello, new(lib:Base).greet())
"""


def test_tests_find_required_packages_on_the_server(remote: Remote, tmp_path: Path) -> None:
    write_package(tmp_path / "lib", {"p.needed.Base": LIBRARY.replace("p.lib", "p.needed")}, name="p.needed")
    needs = "Require: {p.needed: '>=1.0'}\n"
    write_package(tmp_path / "tested", {"p.tested.Works": FIXTURE}, name="p.tested", extra=needs)
    tested = str(tmp_path / "tested")
    assert "p.needed" in remote.run("test", tested).output
    remote.ok("package", "publish", str(tmp_path / "lib"))
    assert "1 passed, 0 failed" in remote.ok("test", tested).output
    assert "p.needed" in remote.run("test", tested, "--context", "local").output
    remote.ok("package", "delete", "p.needed")
