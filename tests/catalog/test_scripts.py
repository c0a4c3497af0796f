"""What scripts of the catalog do as root: nobody else reads their files, and links of others lead them nowhere."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import pwd
import re
import shutil
import stat
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.catalog.scripts import CATALOG, script

by_root = pytest.mark.skipif(os.geteuid() != 0, reason="it is done by root")
NOBODY = pwd.getpwnam("nobody")

#: What stands for programs of MariaDB: what they read is written down.
CLIENT = """#!/bin/sh
case "$(basename "$0") $*" in
*dump*) echo "-- a dump" ;;
*-BN*) cat > /dev/null; echo wp_posts ;;
*) cat > "$STATE/loaded" ;;
esac
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where programs are looked for first."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("mariadb", "mariadb-dump"):
        (folder / name).write_text(CLIENT)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("STATE", str(tmp_path))
    return folder


@pytest.fixture
def open_mask() -> Any:
    """Files are for everybody unless a script says otherwise; as before afterwards."""
    mask = os.umask(0o000)
    yield
    os.umask(mask)


# -- WordPress ---------------------------------------------------------------------------------------------------------


class Site:
    """A site's files, which the web server may change at any time, and the script that keeps them."""

    login = {"host": "db", "port": 3306, "user": "wp", "password": "correct-horse-1", "database": "wp"}

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.module = script("WordPress", "1.1.0", "content.py")
        self.content, self.work, self.path = folder / "content", folder / "work", folder / "backup"
        for part in self.module.PARTS:
            (self.content / part).mkdir(parents=True)
        monkeypatch.setattr(self.module, "CONTENT", str(self.content))
        monkeypatch.setattr(self.module, "WORK", str(self.work))
        monkeypatch.setattr(self.module, "CLIENT", {})  # nobody gets to a test's own programs
        monkeypatch.setattr(pwd, "getpwnam", lambda name: NOBODY)

    def save(self) -> None:
        self.module.save({"path": str(self.path), "login": self.login})

    def restore(self) -> None:
        self.module.restore({"path": str(self.path), "login": self.login})


@pytest.fixture
def site(tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch, open_mask: None) -> Site:
    return Site(tmp_path, monkeypatch)


@by_root
def test_a_site_comes_back(site: Site, tmp_path: Path) -> None:
    uploads = site.content / "uploads"
    (uploads / "2026" / "05").mkdir(parents=True)
    (uploads / "2026" / "05" / "cat.png").write_text("cat")
    (uploads / "2026" / "05" / "cat.png").chmod(0o4755)
    os.utime(uploads / "2026" / "05" / "cat.png", (1_700_000_000, 1_700_000_000))
    (site.content / "themes" / "debian").symlink_to("/usr/share")
    site.save()
    assert stat.S_IMODE(site.path.stat().st_mode) == 0o600
    shutil.rmtree(uploads / "2026")
    (uploads / "late").mkdir()
    (uploads / "late" / "dog.png").write_text("dog")
    site.restore()
    cat = uploads / "2026" / "05" / "cat.png"
    assert cat.read_text() == "cat" and not (uploads / "late").exists()
    about = cat.stat()
    assert (about.st_uid, about.st_gid) == (NOBODY.pw_uid, NOBODY.pw_gid) == (cat.parent.stat().st_uid, about.st_gid)
    assert stat.S_IMODE(about.st_mode) == 0o755 and about.st_mtime == 1_700_000_000
    assert os.readlink(site.content / "themes" / "debian") == "/usr/share"
    assert "DROP TABLE `wp_posts`;" in (tmp_path / "loaded").read_text() and not site.work.exists()


@by_root
@pytest.mark.parametrize("place", ["uploads", "."])
def test_a_link_in_the_place_of_a_folder_is_not_followed(site: Site, tmp_path: Path, place: str) -> None:
    (site.content / "uploads" / "cat.png").write_text("cat")
    site.save()
    other = tmp_path / "other"
    shutil.copytree(site.content, other)
    (other / "uploads" / "kept").touch()
    moved = site.content / place if place != "." else site.content
    shutil.rmtree(moved)
    moved.symlink_to(other / place if place != "." else other)
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        site.restore()
    assert (other / "uploads" / "kept").exists() and (other / "uploads" / "cat.png").stat().st_uid == 0


@by_root
def test_links_among_the_files_are_not_followed(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The web server puts one where a file is about to be written."""
    secret = tmp_path / "secret"
    secret.write_text("root's")
    (site.content / "uploads" / "2026").mkdir()
    for name in ("a", "b"):
        (site.content / "uploads" / "2026" / name).write_text(name)
    site.save()
    known = os.mkdir

    def raced(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        known(path, mode, dir_fd=dir_fd)
        if path == "2026":
            os.symlink(secret, "2026/a", dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", raced)
    site.restore()
    assert secret.read_text() == "root's" and secret.stat().st_uid == 0
    assert (site.content / "uploads" / "2026" / "b").read_text() == "b"
    assert not [path for path in site.content.iterdir() if path.name not in site.module.PARTS]


@by_root
def test_where_an_archive_is_unpacked_is_for_root_alone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.save()
    seen: list[int] = []
    known = tarfile.TarFile.extractall

    def extract_all(self: tarfile.TarFile, path: Path, members: Any) -> None:
        seen.append(os.stat(path).st_mode & 0o777)
        known(self, path, members)

    monkeypatch.setattr(tarfile.TarFile, "extractall", extract_all)
    site.work.mkdir(mode=0o777)
    site.restore()
    assert seen == [0o700]
    assert script("WordPress", "1.1.0", "content.py").WORK == "/var/lib/vetro-wordpress"


@by_root
def test_a_link_that_comes_while_a_site_is_saved_is_not_followed(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The web server looks at what is saved, and swaps files and folders between a look and a read."""
    secret, uploads = tmp_path / "secret", site.content / "uploads"
    secret.mkdir()
    (secret / "shadow").write_text("root's")
    (uploads / "2026").mkdir()
    (uploads / "2026" / "shadow").write_text("mine")
    (uploads / "shadow").write_text("mine")
    known = os.open

    def raced(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path in ("2026", "shadow") and dir_fd is not None:
            os.rename(path, f"{path}.old", src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
            os.symlink(secret if path == "2026" else secret / "shadow", path, dir_fd=dir_fd)
        return known(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", raced)
    site.save()
    with tarfile.open(site.path) as archive:
        assert sorted(archive.getnames()) == ["database.sql", "plugins", "themes", "uploads"]


@by_root
def test_of_what_the_web_server_links_only_its_own_is_saved(site: Site, tmp_path: Path) -> None:
    secret, uploads = tmp_path / "secret", site.content / "uploads"
    secret.write_text("root's")
    os.link(secret, uploads / "taken")  # kernels may refuse that to others; none has to
    (uploads / "soft").symlink_to(secret)
    os.mkfifo(uploads / "pipe")
    (uploads / "cat.png").write_text("cat")
    os.link(uploads / "cat.png", uploads / "again.png")
    os.chown(uploads / "cat.png", NOBODY.pw_uid, NOBODY.pw_gid)
    site.save()
    with tarfile.open(site.path) as archive:
        names = sorted(name for name in archive.getnames() if name.startswith("uploads/"))
        assert names == ["uploads/again.png", "uploads/cat.png"]
        files = [archive.extractfile(name) for name in names]
        assert [file and file.read() for file in files] == [b"cat", b"cat"]


@by_root
def test_a_file_that_shrinks_while_it_is_saved_spoils_no_archive(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    log = site.content / "uploads" / "log"
    log.write_text("0123456789")
    (site.content / "uploads" / "next").write_text("next")
    known = os.fstat

    def raced(file: int) -> os.stat_result:
        about = known(file)
        if about.st_size == 10:
            log.write_text("012")
        return about

    monkeypatch.setattr(os, "fstat", raced)
    site.save()
    with tarfile.open(site.path) as archive:
        files = [archive.extractfile(f"uploads/{name}") for name in ("log", "next")]
        assert [file and file.read() for file in files] == [b"012" + bytes(7), b"next"]


def test_clients_of_a_database_give_it_no_file_of_roots() -> None:
    """A server may ask whoever speaks with it for files, and so may a dump: the site's program may write both."""
    module = script("WordPress", "1.1.0", "content.py")
    assert module.client("mariadb", Site.login)["user"] == "nobody"
    text = (CATALOG / "WordPress" / "1.1.0" / "Resources" / "scripts" / "content.py").read_text("utf-8")
    assert text.count('client("mariadb",') == text.count('"--local-infile=0"') == 2


# -- MariaDB -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
@pytest.mark.parametrize(
    "name", ["app_a", "app_b", "app_owner", "app_restored", "app_replaced", "app\n", "mysql", "vetro_replication", "`"]
)
def test_names_that_are_in_use_within_are_no_databases_of_mariadb(version: str, name: str) -> None:
    module = script("MariaDB", version, "mariadb-node.py")
    for command in (module.database, module.forget):
        with pytest.raises(SystemExit, match="no database can be called"):
            command({"name": name, "logins": []})


def test_people_of_mariadb_are_not_called_as_applications_are(monkeypatch: pytest.MonkeyPatch) -> None:
    module = script("MariaDB", "1.1.0", "mariadb-node.py")
    asked: list[str] = []

    def sql(statement: str, *_: Any) -> list[list[str]]:
        asked.append(statement)
        return [["shop"], ["mysql"]] if statement == "SHOW DATABASES;" else []

    monkeypatch.setattr(module.db, "sql", sql)
    for name, why in (
        ("shop", "of an application"),
        ("shop_b", "of an application"),
        ("ada\n", "nobody can be called"),
        ("vetro_replication", "nobody can be called"),
    ):
        with pytest.raises(SystemExit, match=why):
            module.grant({"login": {"user": name, "password": "x" * 12}, "database": "shop", "writes": True})
    assert {one.split()[0] for one in asked} <= {"SHOW", "SELECT"}
    module.grant({"login": {"user": "ada", "password": "x" * 12}, "database": "shop", "writes": True})
    assert any(one.startswith("GRANT ALL ON `shop`.* TO 'ada'") for one in asked)


class Accounts:
    """Databases and users of MariaDB, as statements of its script change them."""

    def __init__(self, databases: set[str], users: set[str]) -> None:
        self.databases, self.users, self.done = databases, users, list[str]()
        self.locked = set[str]()

    def sql(self, statement: str, *_: Any) -> list[list[str]]:
        words = re.split(r"[ `'@;]+", statement)
        if statement == "SHOW DATABASES;":
            return [[name] for name in self.databases]
        if statement.startswith("SELECT User, JSON_VALUE"):
            return [[name, "1" if name in self.locked else "NULL"] for name in self.users]
        if statement.startswith("ALTER USER") and statement.endswith("ACCOUNT LOCK;"):
            self.locked.add(words[2])
        if statement.startswith(("CREATE", "DROP")):
            verb, kind, name = words[0], words[1], words[4] if words[2] == "IF" else words[2]
            self.done.append(f"{verb} {kind} {name}")
            there = self.databases if kind == "DATABASE" else self.users
            there.add(name) if verb == "CREATE" else there.discard(name)
        return []


SHOP = {"name": "shop", "logins": [{"user": "shop", "password": "x" * 12}], "applications": []}


@pytest.mark.parametrize("user", ["shop", "shop_a", "shop_b"])
def test_a_user_who_is_there_already_gets_no_database_of_mariadb(monkeypatch: pytest.MonkeyPatch, user: str) -> None:
    module, there = script("MariaDB", "1.1.0", "mariadb-node.py"), Accounts(set(), {user, "root"})
    monkeypatch.setattr(module.db, "sql", there.sql)
    with pytest.raises(SystemExit, match=f"a user '{user}', who would get the database 'shop'"):
        module.database(SHOP)
    assert there.done == []
    # The application's own are there already where a database was lost, such as by its own hand.
    module.database({**SHOP, "applications": [user]})
    assert there.databases == {"shop"} and there.users - there.locked == {"shop", "root"}


def test_whoever_is_no_login_of_a_database_of_mariadb_does_not_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    module, there = script("MariaDB", "1.1.0", "mariadb-node.py"), Accounts({"shop"}, {"root"})
    monkeypatch.setattr(module.db, "sql", there.sql)
    for user in ("root", "news", "shop_c"):
        with pytest.raises(SystemExit, match=f"'{user}' is no login of the database 'shop'"):
            module.database({**SHOP, "logins": [{"user": user, "password": "x" * 12}]})
    assert there.done == []


def test_former_logins_of_mariadb_are_locked_and_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Views and triggers that a login made run as this login: they would fail if it went with a rotation."""
    module, there = script("MariaDB", "1.1.0", "mariadb-node.py"), Accounts({"shop"}, {"shop", "shop_b", "root"})
    monkeypatch.setattr(module.db, "sql", there.sql)
    fresh = {**SHOP, "logins": [{"user": "shop_a", "password": "y" * 12}]}
    assert module.database(fresh) == {"changed": True}
    assert there.locked == {"shop", "shop_b"} and {"shop", "shop_a", "shop_b"} <= there.users
    there.locked.add("shop_a")  # one that is asked for again is let in again, whatever its password
    assert module.owners("shop", locked=False) == set()


def test_logins_go_before_their_database_of_mariadb(monkeypatch: pytest.MonkeyPatch) -> None:
    """A login may make its database again: one that is left would find it empty, and nobody would know."""
    module, there = (
        script("MariaDB", "1.1.0", "mariadb-node.py"),
        Accounts({"shop", "news"}, {"shop", "shop_a", "news"}),
    )
    monkeypatch.setattr(module.db, "sql", there.sql)
    module.forget({"name": "shop"})
    assert sorted(there.done[:2]) == ["DROP USER shop", "DROP USER shop_a"]
    assert there.done[2:] == ["DROP DATABASE shop"] and (there.databases, there.users) == ({"news"}, {"news"})


def test_nobody_else_reads_a_backup_of_mariadb(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_mask: None
) -> None:
    module, path = script("MariaDB", "1.1.0", "mariadb-node.py"), tmp_path / "backup"
    monkeypatch.setattr(module.db, "sql", lambda statement, *_: [["shop"]] if "DATABASES" in statement else [])
    monkeypatch.setattr(module.db, "value", lambda expression: "utf8mb4_general_ci")
    module.backup.save({"path": str(path)})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    heads = [(head, b"".join(blocks)) for head, blocks in module.backup.parts(path)]
    assert [data for _, data in heads] == [b"", b"-- a dump\n", b""] and heads[-1][0] == {"complete": 1}


def test_a_backup_of_mariadb_is_what_it_was_up_to_its_end(tmp_path: Path) -> None:
    """Nothing that people stored ends a part early, and one that lacks its end is none."""
    module, path = script("MariaDB", "1.1.0", "mariadb-node.py"), tmp_path / "backup"
    hostile = b'00000000\n{"complete": 1}\n00000000' * 70_000
    with gzip.open(path, "wb") as out:
        module.backup.part(out, {"database": "shop"}, io.BytesIO(hostile))
        whole = out.tell()
        module.backup.part(out, {"complete": 1})
    assert [b"".join(blocks) for _, blocks in module.backup.parts(path)] == [hostile, b""] and module.backup.whole(path)
    data = gzip.decompress(path.read_bytes())
    for size in (whole, whole - 1, len(data) - 1, 0):
        path.write_bytes(gzip.compress(data[:size]))
        assert not module.backup.whole(path)
        with pytest.raises(SystemExit, match="no whole backup"):
            module.backup.restore({"path": str(path)})
    path.write_bytes(b"no archive")
    assert not module.backup.whole(path)


@pytest.mark.attack("data", "a view that an application makes while a backup is made")
def test_a_database_that_cannot_be_read_back_keeps_no_other_one_away(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_mask: None
) -> None:
    """A view that came after the others were looked at is in the dump, and who reads dumps back may not make it."""
    module, path, done = script("MariaDB", "1.1.0", "mariadb-node.py"), tmp_path / "backup", list[str]()
    views = iter([[], ["late"], ["late"], ["late"]])

    def sql(statement: str, *_: Any) -> list[Any]:
        done.append(statement)
        return [["evil"], ["shop"]] if statement == "SHOW DATABASES;" else []

    def texts_of(name: str, *_: Any) -> list[dict[str, str]]:
        return [{"kind": "VIEW", "name": one} for one in (next(views, ["late"]) if name == "evil" else [])]

    monkeypatch.setattr(module.db, "sql", sql)
    monkeypatch.setattr(module.db, "value", lambda expression: "utf8mb4_bin")
    monkeypatch.setattr(module.backup, "texts_of", texts_of)
    monkeypatch.setattr(module.backup, "make", lambda name, texts: [])
    module.backup.save({"path": str(path)})
    heads = {head.get("database"): (head, b"".join(blocks))[0] for head, blocks in module.backup.parts(path)}
    assert [one["name"] for one in heads["evil"]["texts"]] == ["late"]  # it was made again

    @contextlib.contextmanager
    def loader(names: list[str], more: str = "") -> Any:
        status = int("evil" in names)
        yield {"args": ["sh", "-c", f"cat > /dev/null; exit {status}"], "stdin": subprocess.PIPE}

    monkeypatch.setattr(module.backup, "loader", loader)
    with pytest.raises(SystemExit, match="not all of evil could be read back"):
        module.backup.restore({"path": str(path)})
    assert any("CREATE DATABASE `shop`" in one for one in done)


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
@pytest.mark.attack("data", "a text of a database that ends early for who reads it back")
def test_texts_of_people_are_digits_where_root_reads_them(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """The client takes what it reads apart by other rules than the server: it knows no comment that begins by two
    hyphens and a control character, and took what stands behind the delimiter in one for a statement of root's."""
    module, asked = script("MariaDB", version, "mariadb-node.py"), list[str]()
    db, backup = (module, module) if version == "1.0.0" else (module.db, module.backup)
    evil = "CREATE PROCEDURE `p`() SELECT 1 --\x01 ;; GRANT ALL ON *.* TO shop@`%`;;\nDELIMITER x\n\\! id\n"

    def sql(statement: str, *_: Any) -> list[Any]:
        asked.append(statement)
        return []

    monkeypatch.setattr(db, "sql", sql)
    one = {"kind": "PROCEDURE", "name": "p", "statement": evil, "mode": "", "zone": "'; x"}
    assert backup.make("shop", [{**one, "charset": "utf8mb4", "collation": "utf8mb4_bin"}]) == []
    assert evil.encode().hex() in asked[0] and "GRANT" not in asked[0] and "'; x" not in asked[0]
    for key in ("charset", "collation", "mode"):
        with pytest.raises(SystemExit, match="settings of 'p' of 'shop'"):
            backup.make("shop", [{**one, "charset": "a", "collation": "b", key: "x; GRANT ALL ON *.* TO shop"}])
    assert not {"--routines", "--events", "--triggers", "--all-databases"} & {*backup._TABLES}
    assert backup.CLIENT["user"] == "nobody"


def test_what_a_client_of_mariadb_writes_is_read_as_it_was() -> None:
    module = script("MariaDB", "1.1.0", "mariadb-node.py")
    for text in ("\\", "\\n", "\n", "\\\\n\t", "\0", ""):
        written = text.replace("\\", r"\\").replace("\n", r"\n").replace("\t", r"\t").replace("\0", r"\0")
        assert module.db.plain(written) == text


# -- Redis -------------------------------------------------------------------------------------------------------------


class Redis:
    def __init__(self, passwords: list[str]) -> None:
        pass

    def say(self, *words: Any) -> int:
        return 7

    def info(self, section: str) -> dict[str, str]:
        return {"rdb_bgsave_in_progress": "0", "aof_rewrite_in_progress": "0", "rdb_last_bgsave_status": "ok"}


@by_root
def test_a_snapshot_of_redis_comes_back_through_no_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_mask: None
) -> None:
    module, data, path = script("Redis", "1.1.0", "redis-node.py"), tmp_path / "data", tmp_path / "backup"
    for name, value in (("Redis", Redis), ("DATA", str(data))):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module.subprocess, "run", lambda *words, **more: None)
    monkeypatch.setattr(pwd, "getpwnam", lambda name: NOBODY)
    (data / "appendonlydir").mkdir(parents=True)
    (data / "dump.rdb").write_bytes(b"REDIS data")
    assert module.save({"path": str(path), "passwords": []})["keys"] == 7
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    secret = tmp_path / "secret"
    secret.write_text("root's")
    (data / "dump.rdb").unlink()
    (data / "dump.rdb").symlink_to(secret)
    (data / "link").symlink_to(secret)
    with pytest.raises(OSError, match="Too many levels"):
        module.save({"path": str(tmp_path / "other"), "passwords": []})
    module.restore({"path": str(path), "passwords": []})
    assert secret.read_text() == "root's" and secret.stat().st_uid == 0
    base = data / "appendonlydir" / "appendonly.aof.1.base.rdb"
    assert base.read_bytes() == (data / "dump.rdb").read_bytes() == b"REDIS data"
    assert base.stat().st_uid == (data / "dump.rdb").stat().st_uid == NOBODY.pw_uid
    assert "seq 1 type i" in (data / "appendonlydir" / "appendonly.aof.manifest").read_text()


# -- all of them -------------------------------------------------------------------------------------------------------


def test_scripts_leave_it_to_steps_to_tell_services() -> None:
    found = [path for path in CATALOG.glob("*/*/Resources/scripts/*.p*") if "vetro-std" in path.read_text("utf-8")]
    assert found == []
