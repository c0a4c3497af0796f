"""Images: the recipe, the host's package sources, the store, archives from elsewhere, builds that are killed."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.needs import need
from tests.support.servers import image_store
from vetro.clouds.drivers.errors import HostFailed, ImageBuildFailed, ImageBusy, ImageDamaged, ImageMissing
from vetro.clouds.guest import first_files
from vetro.clouds.images import build as building
from vetro.clouds.images import shift
from vetro.clouds.images.build import build, import_archive
from vetro.clouds.images.recipe import RECIPES
from vetro.clouds.images.sources import apt_sources, keyrings
from vetro.clouds.images.store import ImageStore, use
from vetro.clouds.nspawn.kind import KIND as NSPAWN

PARTS = ("usr/lib/systemd/systemd", "usr/bin/python3", "bin/sh")


def archive(path: Path, *names: str, extra: dict[str, bytes] | None = None, device: str | None = None) -> Path:
    """A small root file system as a tar archive."""
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            info = tarfile.TarInfo(f"./{name}")
            info.mode = 0o4755
            tar.addfile(info)
        for name, data in (extra or {}).items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        if device:
            info = tarfile.TarInfo(f"./{device}")
            info.type, info.devmajor, info.devminor = tarfile.BLKTYPE, 8, 0
            tar.addfile(info)
    return path


def tree_of(store: ImageStore, name: str) -> Path:
    image = store.get(name)
    return image.shifted if image.shifted.is_dir() else store.plain(image)


def test_an_archive_becomes_an_image(tmp_path: Path) -> None:
    store = ImageStore(tmp_path / "images")
    steps: list[str] = []
    made = import_archive(store, archive(tmp_path / "a.tgz", *PARTS), "mine", title="Mine", progress=steps.append)
    assert [image.name for image in store.list()] == ["mine"]
    record = made.record()
    assert (record["serves"], record["info"]) == (["mine"], {"title": "Mine", "type": "linux"})
    assert "unpacking" in steps
    store.verify(made)
    assert store.find({"name": "mine"}).folder == made.folder
    made.tar.write_bytes(b"changed")
    with pytest.raises(ImageDamaged, match="another checksum"):
        store.verify(made)
    store.remove("mine")
    assert store.list() == []
    assert [path.name for path in store.folder.iterdir()] == [".lock-mine"]


@pytest.mark.parametrize("missing", PARTS)
def test_an_archive_that_cannot_boot_is_refused(tmp_path: Path, missing: str) -> None:
    store = ImageStore(tmp_path / "images")
    parts = [part for part in PARTS if part != missing]
    with pytest.raises(ImageDamaged, match=f"none of .*/{missing}"):
        import_archive(store, archive(tmp_path / "a.tgz", *parts), "mine")
    assert store.list() == []
    assert [path.name for path in store.folder.iterdir()] == [".lock-mine"]


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    store = ImageStore(tmp_path / "images")
    (tmp_path / "text").write_text("no archive")
    for path, message in ((tmp_path / "text", "no tar archive"), (tmp_path / "none", "there is no file")):
        with pytest.raises(ImageDamaged, match=message):
            import_archive(store, path, "mine")
    with pytest.raises(ImageDamaged, match="no name of an image"):
        import_archive(store, archive(tmp_path / "a.tgz", *PARTS), "../up")
    assert not (tmp_path / "up").exists()


def test_an_archive_stays_in_its_folder_and_brings_no_devices(tmp_path: Path) -> None:
    store = ImageStore(tmp_path / "images")
    extra = {"../../../escaped": b"x", "/absolute-escape-of-vetro": b"x", "./etc/ok": b"y"}
    with pytest.raises(ImageDamaged, match="cannot be unpacked"):
        import_archive(store, archive(tmp_path / "bad.tgz", *PARTS, extra=extra), "bad")
    import_archive(store, archive(tmp_path / "a.tgz", *PARTS, device="disk", extra={"/abs/file": b"z"}), "mine")
    tree = tree_of(store, "mine")
    assert not os.path.lexists(tree / "disk")
    assert (tree / "abs/file").read_bytes() == b"z"
    assert not list(tmp_path.rglob("escaped")) and not Path("/absolute-escape-of-vetro").exists()
    assert not Path("/abs").exists()


def test_used_images_are_not_removed_and_old_versions_go_after_their_last_server(tmp_path: Path) -> None:
    store = ImageStore(tmp_path / "images")
    first = import_archive(store, archive(tmp_path / "a.tgz", *PARTS), "mine")
    server = tmp_path / "server"
    server.mkdir()
    use(first, server)
    with pytest.raises(ImageBusy, match="1 server"):
        store.remove("mine")
    second = import_archive(store, archive(tmp_path / "b.tgz", *PARTS, extra={"./new": b"1"}), "mine")
    assert first.folder.is_dir() and store.get("mine").folder == second.folder
    server.rmdir()
    third = import_archive(store, archive(tmp_path / "b.tgz", *PARTS, extra={"./new": b"2"}), "mine")
    # The newest that nobody uses stays: somebody may be about to make a server of it.
    assert not first.folder.exists() and second.folder.is_dir() and third.folder.is_dir()
    server.mkdir()
    use(third, server)
    fourth = import_archive(store, archive(tmp_path / "d.tgz", *PARTS, extra={"./new": b"3"}), "mine")
    fifth = import_archive(store, archive(tmp_path / "e.tgz", *PARTS, extra={"./new": b"4"}), "mine")
    assert third.folder.is_dir() and fourth.folder.is_dir() and fifth.folder.is_dir()
    server.rmdir()
    with store.locked("mine"):
        store.tidy()
    assert third.folder.is_dir(), "whoever builds it has it now"
    store.tidy()
    assert not third.folder.exists() and fourth.folder.is_dir() and store.get("mine").folder == fifth.folder
    use(fifth, server)
    store.tidy()
    assert fifth.folder.is_dir()


def test_images_are_found_for_records_of_the_catalog(tmp_path: Path) -> None:
    store = ImageStore(tmp_path / "images")
    with pytest.raises(ImageMissing) as missing:
        store.find({"name": "debian-12-murano"})
    assert missing.value.hint == "make it: vetro image build debian-12"
    made = import_archive(store, archive(tmp_path / "a.tgz", *PARTS), "debian-12")
    for name in ("debian-12", "debian-12-murano", "ubuntu14.04-x64"):
        assert store.find({"name": name}).folder == made.folder
    for info in ({"type": "windows.2012"}, '{"type": "linux.docker"}'):
        with pytest.raises(ImageMissing, match="which this machine cannot run"):
            store.find({"name": "x", "properties": {"murano_image_info": info}})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_owners_are_moved_and_special_bits_kept(tmp_path: Path) -> None:
    (tmp_path / "su").write_text("")
    (tmp_path / "link").symlink_to("/etc/passwd")
    before = os.stat("/etc/passwd").st_uid
    os.chown(tmp_path / "su", 3, 70000)
    (tmp_path / "su").chmod(0o4755)
    assert shift.shift(str(tmp_path)) == 2
    info = os.lstat(tmp_path / "su")
    assert (info.st_uid, info.st_gid, info.st_mode & 0o7777) == (shift.BASE + 3, shift.BASE + 65534, 0o4755)
    assert os.lstat(tmp_path / "link").st_uid == shift.BASE and os.stat("/etc/passwd").st_uid == before
    assert shift.BASE % shift.RANGE == 0


class TestSources:
    """Package sources of a machine, in both forms."""

    def folder(self, tmp_path: Path, **files: str) -> Path:
        (tmp_path / "sources.list.d").mkdir()
        for name, text in files.items():
            place = tmp_path if name == "main" else tmp_path / "sources.list.d"
            (place / ("sources.list" if name == "main" else name.replace("_", "."))).write_text(text)
        return tmp_path

    def test_only_those_of_the_suite_are_taken(self, tmp_path: Path) -> None:
        key = tmp_path / "key.gpg"
        key.touch()
        modern = (
            "# a\nTypes: deb deb-src\nURIs: http://mirror/debian\nSuites: bookworm bookworm-updates\n"
            f"Components: main\nSigned-By: {key}\n\nTypes: deb\nEnabled: no\nURIs: http://off\nSuites: bookworm\n"
            "Components: main\n"
        )
        classic = f"deb [arch=amd64 signed-by={key}] http://sec bookworm-security main contrib # c\n"
        other = "Types: deb\nURIs: http://n\nSuites: nodistro\n"
        more = {"a_sources": modern, "main": classic + "deb http://x trixie main\n", "c_sources": other}
        folder = self.folder(tmp_path, **more)
        text = apt_sources("bookworm", folder)
        assert text.count("URIs:") == 2
        assert (
            "http://mirror/debian" in text
            and "URIs: http://sec\nSuites: bookworm-security\nComponents: main contrib" in text
        )
        assert keyrings(text) == [key]

    def test_a_machine_without_them_is_told_what_to_do(self, tmp_path: Path) -> None:
        with pytest.raises(HostFailed, match="no Debian suite 'bookworm'") as error:
            apt_sources("bookworm", self.folder(tmp_path))
        assert error.value.hint is not None and "vetro image import" in error.value.hint


def test_unknown_recipes_and_missing_tools_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImageMissing, match="no recipe 'debian-99'; there are: debian-12"):
        build(ImageStore(tmp_path), "debian-99")
    monkeypatch.setattr(building, "which", lambda tool: None)
    with pytest.raises(ImageBuildFailed, match="no 'mmdebstrap'"):
        build(ImageStore(tmp_path))


def test_a_cache_of_packages_that_this_machine_asks_is_asked_by_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What apt here is told of proxies, each server is told that is made then, and nothing else of it."""
    said = 'Acquire::http::Proxy "http://cache.example.org:3142";\nAPT::Get::Assume-Yes "true";\n'
    monkeypatch.setattr(first_files.sources, "run", lambda words: said)
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(first_files.sources, "apt_sources", lambda suite: "Suites: bookworm\n")
    image = SimpleNamespace(name="debian-12", manifest={"recipe": "x"})
    files = first_files.outside_files(image)  # type: ignore[arg-type]
    assert files["etc/apt/apt.conf.d/61vetro-host"][1] == b'Acquire::http::Proxy "http://cache.example.org:3142";\n'


def test_packages_that_lie_ready_are_fetched_and_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Enough(Exception):
        pass

    def follow(argv: list[str], *more: object) -> None:
        asked.extend(argv)
        raise Enough

    monkeypatch.setattr(building, "which", lambda tool: f"/usr/bin/{tool}")
    monkeypatch.setattr(building.sources, "apt_sources", lambda suite: "")
    monkeypatch.setattr(building, "_follow", follow)
    for ready, wanted in ((), False), (("redis-server", "nginx"), True):
        asked.clear()
        with pytest.raises(Enough):
            build(ImageStore(tmp_path / "images"), ready=ready)
        fetches = [word for word in asked if "--download-only install -- redis-server nginx" in word]
        assert bool(fetches) is wanted and ("--skip=cleanup/apt/cache" in asked) is wanted
    with pytest.raises(ImageBuildFailed, match="is no name of a Debian package"):
        build(ImageStore(tmp_path / "images"), ready=["-oDpkg::Pre-Invoke::=id"])


def test_a_failed_build_says_why_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("mmdebstrap is not installed" if shutil.which("mmdebstrap") is None else None)
    nowhere = "Types: deb\nURIs: http://127.0.0.1:9/debian\nSuites: bookworm\nComponents: main\n"
    monkeypatch.setattr(building.sources, "apt_sources", lambda suite: nowhere)
    store = ImageStore(tmp_path / "images")
    with pytest.raises(ImageBuildFailed, match="mmdebstrap ended with status") as error:
        build(store)
    assert "127.0.0.1" in error.value.message and error.value.hint is not None
    assert [path.name for path in store.folder.iterdir()] == [".lock-debian-12"]


def test_the_same_recipe_is_not_built_twice_and_the_image_has_what_it_says() -> None:
    need(NSPAWN.missing())
    store = image_store()
    steps: list[str] = []
    image = build(store, progress=steps.append)
    assert steps == []
    tree = image.shifted
    assert os.readlink(tree / "usr/bin/python") == "python3"
    assert not (tree / "usr/sbin/policy-rc.d").exists()  # services start on installation
    assert (tree / "etc/machine-id").read_text() == ""
    assert "Package: php5-mysql\n" in (tree / "usr/share/vetro/packages/Packages").read_text()
    for unit in ("apt-daily.timer", "apt-daily-upgrade.timer"):
        assert os.readlink(tree / "etc/systemd/system" / unit) == "/dev/null"
    assert os.lstat(tree / "usr/bin/sudo").st_mode & 0o4000
    assert os.lstat(tree / "usr/bin/sudo").st_uid == image.uid
    assert json.loads((image.folder / "manifest.json").read_text())["serves"] == list(RECIPES["debian-12"].serves)


@pytest.mark.campaign
def test_a_killed_build_leaves_nothing_half_made(tmp_path: Path) -> None:
    need(NSPAWN.missing())
    program = (
        "import sys; from pathlib import Path; from vetro.clouds.images.build import build; "
        "from vetro.clouds.images.store import ImageStore; "
        "build(ImageStore(Path(sys.argv[1])), progress=lambda text: print(text, flush=True))"
    )
    folder = tmp_path / "images"
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith("extracting"):
            child.send_signal(signal.SIGKILL)
            break
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    store = ImageStore(folder)
    assert store.list() == []
    assert list(folder.glob(".new-*"))
    import_archive(store, archive(tmp_path / "a.tgz", *PARTS), "debian-12")
    assert not list(folder.glob(".new-*"))
    assert str(folder) not in Path("/proc/self/mounts").read_text()
