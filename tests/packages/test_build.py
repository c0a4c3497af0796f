from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from vetro.packages.archive import ArchiveTree, archive_tree
from vetro.packages.build import build_archive, build_tree
from vetro.packages.checks.package import check_tree
from vetro.packages.errors import BuildError, ManifestError
from vetro.packages.files import DirectoryTree, MemoryTree
from vetro.packages.hot.package_files import build_template, title_cased
from vetro.packages.load import open_package
from vetro.packages.manifest import parse_manifest
from vetro.packages.pictures import MAX_PICTURE
from vetro.packages.scaffold import full_name_of, skeleton


def write(folder: Path, version: str | None = "1.0.0", name: str = "t.App", extra: str = "") -> Path:
    (folder / "Classes").mkdir(parents=True)
    stated = "" if version is None else f"Version: {version}\n"
    manifest = f"FullName: {name}\nType: Application\nClasses: {{{name}: App.yaml}}\n{stated}{extra}"
    (folder / "manifest.yaml").write_text(manifest)
    (folder / "Classes/App.yaml").write_text(f"Name: {name}\n")
    return folder


# -- one archive ------------------------------------------------------------------------------------------------------


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one"), write(tmp_path / "two")
    (one / "Resources").mkdir()
    (two / "Resources").mkdir()
    (one / "Resources/a.sh").write_text("a")
    (one / "Resources/b.txt").write_text("b")
    (two / "Resources/b.txt").write_text("b")
    (two / "Resources/a.sh").write_text("a")
    (two / "Resources/a.sh").chmod(0o755)
    os.utime(two / "manifest.yaml", (1, 1))
    assert build_archive(one) == build_archive(two)
    with zipfile.ZipFile(io.BytesIO(build_archive(one))) as archive:
        assert archive.namelist() == ["Classes/App.yaml", "Resources/a.sh", "Resources/b.txt", "manifest.yaml"]
        assert {i.date_time for i in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {oct(i.external_attr >> 16) for i in archive.infolist()} == {"0o100644"}


def test_an_archive_holds_what_its_folder_holds(tmp_path: Path) -> None:
    folder = write(tmp_path / "p")
    for path in (".git/config", "__pycache__/x.pyc", "Resources/.hidden", "Resources/deep/er/x"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x")
    tree = ArchiveTree(build_archive(folder))
    assert tree.paths() == ["Classes/App.yaml", "Resources/deep/er/x", "manifest.yaml"]
    assert archive_tree(tree) == archive_tree(DirectoryTree(folder))


def test_unusable_packages_are_not_built(tmp_path: Path) -> None:
    folder = write(tmp_path / "p", version="one", extra="UI: no.yaml\n")
    with pytest.raises(BuildError, match="cannot be built") as caught:
        build_archive(folder)
    assert "manifest.yaml:4:10: Version 'one' is no version" in caught.value.message
    with pytest.raises(BuildError, match=r"there is no manifest\.yaml"):
        build_archive(tmp_path)


@pytest.mark.parametrize("target", ["/etc/hostname", "nothing", "../.."])
def test_links_that_lead_to_no_file_inside_are_refused(tmp_path: Path, target: str) -> None:
    folder = write(tmp_path / "p")
    (folder / "Classes/link").symlink_to(target)
    with pytest.raises(BuildError, match="leads to no file inside the package"):
        build_archive(folder)


def test_links_to_files_inside_are_packed_as_files(tmp_path: Path) -> None:
    folder = write(tmp_path / "p")
    (folder / "Classes/link.yaml").symlink_to("App.yaml")
    assert ArchiveTree(build_archive(folder)).read("Classes/link.yaml") == b"Name: t.App\n"


# -- versioned trees --------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path / "src/App/1.0.0")
    write(tmp_path / "src/App/1.1.0", "1.1")
    write(tmp_path / "src/App/dev", "0.0.0")
    write(tmp_path / "src/Other", "3.0.0", "t.Other")
    return tmp_path / "src"


def test_each_released_folder_gives_an_archive(tree: Path, tmp_path: Path) -> None:
    built = build_tree([tree], tmp_path / "out")
    names = ["t.App.1.0.0.zip", "t.App.1.1.0.zip", "t.Other.3.0.0.zip"]
    assert sorted(os.listdir(tmp_path / "out")) == names
    assert [(b.name, str(b.version)) for b in built] == [("t.App", "1.0.0"), ("t.App", "1.1.0"), ("t.Other", "3.0.0")]
    assert open_package(built[1].path).name == "t.App"
    assert built[0].source == str(tree / "App/1.0.0")


def test_dev_is_built_only_when_asked_for(tree: Path, tmp_path: Path) -> None:
    assert len(build_tree([tree / "App"], tmp_path / "all", dev=True)) == 3
    assert [str(b.version) for b in build_tree([tree / "App/dev"], tmp_path / "one")] == ["0.0.0"]
    only = tmp_path / "only"
    write(only / "dev")
    with pytest.raises(BuildError, match="no package to build") as caught:
        build_tree([only], tmp_path / "none")
    assert "--dev" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("folder", "version"), [("1.0.0", "1.0.1"), ("1.0", "1.0.1"), ("v2", "1.0.0"), ("2.0.0-rc", "2.0.0")]
)
def test_a_folder_named_after_another_version_is_refused(tmp_path: Path, folder: str, version: str) -> None:
    write(tmp_path / "good", "5.0.0", "t.Good")
    write(tmp_path / "App" / folder, version)
    with pytest.raises(BuildError, match="the folder says version .*, its manifest " + version):
        build_tree([tmp_path / "good", tmp_path / "App"], tmp_path / "out")
    assert not (tmp_path / "out").exists(), "nothing is written before everything is checked"


@pytest.mark.parametrize(
    ("folder", "version"), [("1", "1.0.0"), ("v1.2", "1.2.0"), ("2.0.0-rc", "2.0.0-rc"), ("x1", "7")]
)
def test_folders_that_say_the_same(tmp_path: Path, folder: str, version: str) -> None:
    write(tmp_path / "App" / folder, version)
    assert len(build_tree([tmp_path / "App"], tmp_path / "out")) == 1


def test_the_same_version_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b")
    with pytest.raises(BuildError, match=r"are both t\.App 1\.0\.0"):
        build_tree([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert len(build_tree([tmp_path / "a", tmp_path / "a"], tmp_path / "out")) == 1


def test_nothing_to_build(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no such folder"):
        build_tree([tmp_path / "no"], tmp_path / "out")
    with pytest.raises(BuildError, match="there is no package to build") as caught:
        build_tree([tmp_path], tmp_path / "out")
    assert caught.value.hint is None


# -- checks -----------------------------------------------------------------------------------------------------------


def checked(manifest: str, **files: str | bytes) -> list[tuple[str, str, int]]:
    tree = MemoryTree({"manifest.yaml": "FullName: t.A\nType: Library\n" + manifest, **files}, "p")
    return [(p.severity, p.code, p.place.line) for p in check_tree(tree)]


def test_a_sound_package_has_no_problems() -> None:
    files: dict[str, str | bytes] = {"Classes/A.yaml": "", "UI/ui.yaml": "", "logo.png": b"GIF89a"}
    assert checked("Classes: {t.A: A.yaml}\nLogo: logo.png\n", **files) == []


def test_problems_of_files() -> None:
    manifest = "Classes:\n  t.A: A.yaml\n  t.B: B.yaml\nUI: f.yaml\nLogo: l.png\nSupplier:\n  Logo: s.png\nOdd: 1\n"
    files: dict[str, str | bytes] = {"Classes/A.yaml": "", "s.png": b"no picture"}
    assert checked(manifest, **files) == [
        ("error", "PKG112", 5),
        ("warning", "PKG112", 6),
        ("error", "PKG112", 7),
        ("error", "PKG113", 9),
        ("warning", "PKG111", 10),
    ]


def test_problems_of_the_whole_package() -> None:
    assert checked("Format: 9.9\n") == [("error", "PKG120", 3)]
    assert checked("Type: [") == [("error", "PKG110", 4)]
    assert checked("", **{"logo.png": bytes(MAX_PICTURE + 1)}) == [("error", "PKG113", 1)]
    assert [p.message for p in check_tree(MemoryTree({}, "p"))] == ["there is no manifest.yaml"]
    damaged = archive_tree(MemoryTree({"manifest.yaml": "FullName: t.A\nType: Library\n"}, "p"))
    tree = ArchiveTree(damaged.replace(b"PK\x03\x04", b"PK\x03\x05", 1), location="x.zip")
    assert [p.code for p in check_tree(tree)] == ["PKG130"]


# -- Heat templates ---------------------------------------------------------------------------------------------------

TEMPLATE = "heat_template_version: 2013-05-23\ndescription: A server\nresources: {s: {type: OS::Nova::Server}}\n"


def test_a_template_becomes_a_package(tmp_path: Path) -> None:
    template = tmp_path / "my-web server.yaml"
    template.write_text(TEMPLATE)
    (tmp_path / "res/HotFiles/sub").mkdir(parents=True)
    (tmp_path / "res/HotFiles/sub/x.sh").write_text("x")
    (tmp_path / "res/ignored").write_text("x")
    data = build_template(template, resources=tmp_path / "res")
    assert data == build_template(template, resources=tmp_path / "res")
    tree = ArchiveTree(data)
    assert tree.paths() == ["Resources/HotFiles/sub/x.sh", "manifest.yaml", "template.yaml"]
    assert tree.read("template.yaml").decode() == TEMPLATE
    manifest = parse_manifest(tree.read("manifest.yaml"))
    assert (str(manifest.format), manifest.type) == ("Heat.HOT/1.0.0", "Application")
    assert manifest.full_name == "io.murano.apps.generated.MyWebServer"
    assert (manifest.name, manifest.description, manifest.tags) == ("my-web server", "A server", ("Heat-generated",))
    assert manifest.warnings == ()


def test_everything_of_a_template_package_can_be_said(tmp_path: Path) -> None:
    template = tmp_path / "t.yaml"
    template.write_text(TEMPLATE)
    (tmp_path / "l.png").write_bytes(b"GIF89a")
    data = build_template(
        template,
        name="N",
        full_name="a.B",
        version="1.2",
        description="d",
        author="me",
        tags=["x"],
        logo=tmp_path / "l.png",
    )
    manifest = parse_manifest(ArchiveTree(data).read("manifest.yaml"))
    assert (manifest.name, manifest.full_name, str(manifest.version)) == ("N", "a.B", "1.2.0")
    assert (manifest.description, manifest.author, manifest.tags) == ("d", "me", ("x",))
    with pytest.raises(ManifestError):
        build_template(template, full_name="a b")


def test_what_is_no_template(tmp_path: Path) -> None:
    template = tmp_path / "t.yaml"
    for text, message in [("a: 1", "no Heat template"), ("a: [", "not valid YAML"), ("", "no Heat template")]:
        template.write_text(text)
        with pytest.raises(BuildError, match=message):
            build_template(template)
    with pytest.raises(BuildError, match="No such file"):
        build_template(tmp_path / "no.yaml")
    template.write_text(TEMPLATE)
    with pytest.raises(BuildError, match="no such folder"):
        build_template(template, resources=tmp_path / "no")
    (tmp_path / "res/HotFiles").mkdir(parents=True)
    (tmp_path / "res/HotFiles/l").symlink_to("/etc/hostname")
    with pytest.raises(BuildError, match="links are not packed"):
        build_template(template, resources=tmp_path / "res")


def test_title_case() -> None:
    assert title_cased("my-web server_x.y") == "MyWebServer_xY"
    for name in ("", "-", "1st"):
        with pytest.raises(BuildError, match="gives no class name"):
            title_cased(name)


# -- new packages -----------------------------------------------------------------------------------------------------


def test_a_new_package_is_sound(tmp_path: Path) -> None:
    written = skeleton("com.acme.Hello", tmp_path / "hello")
    assert [os.path.relpath(f, tmp_path / "hello") for f in written] == [
        *("manifest.yaml", "Classes/Hello.yaml", "Classes/HelloTest.yaml", "UI/ui.yaml")
    ]
    assert check_tree(DirectoryTree(tmp_path / "hello")) == []
    package = open_package(tmp_path / "hello")
    assert (package.name, package.type) == ("com.acme.Hello", "Application")
    assert list(package.classes) == ["com.acme.Hello", "com.acme.HelloTest"]
    assert "type: com.acme.Hello\n" in (package.ui or "")
    assert "=: com.acme\n" in package.read_class("com.acme.Hello").text


def test_names_of_new_packages() -> None:
    assert full_name_of("my app") == "com.example.MyApp"
    assert full_name_of("a.b.C") == "a.b.C"
    for name in ("a..b", "a b.c", ".a", "a.1", ""):
        with pytest.raises(BuildError):
            full_name_of(name)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")
    for target in (tmp_path, tmp_path / "x"):
        with pytest.raises(BuildError, match="there is something already"):
            skeleton("App", target)
    assert os.listdir(tmp_path) == ["x"]
