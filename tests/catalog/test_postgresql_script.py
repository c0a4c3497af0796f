"""What is done at a server of PostgreSQL, at a real one: backups of hostile databases, names that are taken."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.catalog.scripts import CATALOG, script
from tests.support.needs import need, needs

PASSWORD = "correct-horse-1"
#: In the place of the servers' own: it has PostgreSQL's programs find the tests' database.
RUNUSER = """#!/bin/sh
user=$2
shift 3
echo "$user $(basename "$1") $*" >> {folder}/called
export PGPORT={port} PGHOST={folder}
if [ "$(id -u)" = 0 ]; then exec {runuser} -u "$user" -- "$@"; else exec "$@"; fi
"""


class Server:
    """A PostgreSQL that lets in whom the catalog's does, and the script that looks after it."""

    def __init__(self, folder: Path, port: int, module: Any) -> None:
        self.folder, self.port, self.module = folder, port, module

    def ask(self, user: str, statement: str, database: str = "app", password: str = PASSWORD) -> list[tuple[Any, ...]]:
        """Rows, as a client gets them."""
        words = {"host": "127.0.0.1", "port": self.port, "user": user, "password": password, "dbname": database}
        with psycopg.connect(**words, autocommit=True) as connection:  # type: ignore[arg-type]
            found = connection.execute(statement)
            return found.fetchall() if found.description else []

    def database(self, name: str) -> None:
        self.module.people.database({"database": name, "logins": [{"user": name, "password": PASSWORD}]})

    def backup(self) -> str:
        path = str(self.folder / "backups" / "one")
        Path(path).unlink(missing_ok=True)
        mask = os.umask(0o022)
        try:
            self.module.backup.save({"path": path})
        finally:
            os.umask(mask)
        return path

    def there(self, role: str) -> bool:
        return bool(self.module.pg.sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{role}'"))

    def superusers(self) -> list[str]:
        return sorted(name for (name,) in self.module.pg.sql("SELECT rolname FROM pg_roles WHERE rolsuper"))


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One that other users of the machine get to; those of pytest are only for who runs it."""
    with tempfile.TemporaryDirectory(prefix="vetro-postgresql-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[tuple[Path, int, Path]]:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        need("PostgreSQL's programs")
    programs = found[-1].parent
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "bin").mkdir()
    (folder / "backups").mkdir()
    (folder / "called").touch()
    runuser = folder / "bin" / "runuser"
    runuser.write_text(RUNUSER.format(folder=folder, port=port, runuser=shutil.which("runuser")))
    runuser.chmod(0o755)
    as_postgres = []
    if os.geteuid() == 0:
        as_postgres = ["runuser", "-u", "postgres", "--"]
        shutil.chown(folder, "postgres")
    (folder / "called").chmod(0o666)

    def run(program: str, *words: str) -> None:
        subprocess.run([*as_postgres, str(programs / program), *words], check=True, capture_output=True, cwd="/")

    data = str(folder / "data")
    run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
    rules = (CATALOG / "PostgreSQL" / "1.1.0" / "Resources" / "pg_hba.conf").read_text("utf-8")
    Path(data, "pg_hba.conf").write_text(rules.replace("peer", "trust"))
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"
    run("pg_ctl", "-D", data, "-s", "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield folder, port, programs
    finally:
        run("pg_ctl", "-D", data, "-s", "-m", "immediate", "stop")


@pytest.fixture
def server(running: tuple[Path, int, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    folder, port, programs = running
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{programs}:{os.environ['PATH']}")
    module = script("PostgreSQL", "1.1.0", "postgresql.py")
    monkeypatch.setattr(module.pg, "BIN", str(programs))
    (folder / "called").write_text("")
    yield Server(folder, port, module)
    for (name,) in module.pg.sql("SELECT datname FROM pg_database WHERE NOT datistemplate AND datname <> 'postgres'"):
        module.pg.sql(f'DROP DATABASE "{name}" WITH (FORCE)')
    for (name,) in module.pg.sql("SELECT rolname FROM pg_roles WHERE rolname !~ '^(pg_|postgres$)'"):
        module.pg.sql(f'DROP OWNED BY "{name}"; DROP ROLE "{name}"')


#: Each of these runs while a dump is read back, or would if it could: with the rights of whoever reads it.
HOSTILE = """
CREATE FUNCTION take() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.seen VALUES (session_user, current_user);
    BEGIN
        SET ROLE NONE;
        SET SESSION AUTHORIZATION postgres;
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
    BEGIN
        ALTER ROLE app SUPERUSER;
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
    BEGIN
        CREATE ROLE thief SUPERUSER LOGIN PASSWORD 'correct-horse-1';
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
    RETURN 1;
END $$;
CREATE FUNCTION checked(int) RETURNS bool LANGUAGE sql AS 'SELECT public.take() = 1';
CREATE TABLE seen (session text, who text);
CREATE TABLE words (number int CHECK (checked(number)), word text);
INSERT INTO words VALUES (1, 'one');
CREATE FUNCTION fixed(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN public.take(); END $$;
CREATE INDEX taken ON words (fixed(number));
CREATE MATERIALIZED VIEW looked AS SELECT 1 AS one;
TRUNCATE seen;
"""


def test_nothing_in_a_backup_runs_as_the_superuser(server: Server) -> None:
    server.database("app")
    server.ask("app", HOSTILE)
    path = server.backup()
    server.ask("app", "DROP TABLE words")
    assert server.module.backup.restore({"path": path}) == {"changed": True, "databases": ["app"]}
    assert server.ask("app", "SELECT number, word FROM words") == [(1, "one")]
    # It ran, as nobody but the owner in a session that cannot become anything else.
    seen = set(server.ask("app", "SELECT session, who FROM seen"))
    assert seen == {("_vetro_restorer", "app_owner")}, seen
    assert server.superusers() == ["postgres"]
    assert not server.there("_vetro_restorer") and not server.there("thief")
    owners = server.ask("app", "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'")
    assert owners == [("app_owner",)]
    called = (server.folder / "called").read_text()
    assert "nobody pg_restore" in called and "postgres pg_restore" not in called and "-h 127.0.0.1" in called


@pytest.mark.campaign
def test_what_a_session_makes_as_itself_is_the_owners(server: Server) -> None:
    """A function that leaves a function of the restorer's behind: it must not come to the superuser."""
    server.database("app")
    server.ask(
        "app",
        """
        CREATE FUNCTION leave() RETURNS bool LANGUAGE plpgsql AS $f$
        BEGIN
            SET ROLE NONE;
            EXECUTE format('CREATE OR REPLACE FUNCTION public.%I() RETURNS text LANGUAGE sql SECURITY DEFINER AS %L',
                'of_' || session_user, 'SELECT current_user');
            SET ROLE app_owner;
            RETURN true;
        END $f$;
        CREATE TABLE words (number int CHECK (leave()));
        INSERT INTO words VALUES (1)
        """,
    )
    server.module.backup.restore({"path": server.backup()})
    assert server.ask("app", "SELECT of__vetro_restorer()") == [("app_owner",)]
    assert not server.there("_vetro_restorer")


def test_a_backup_that_does_not_come_back_leaves_all_as_it_was(server: Server) -> None:
    server.database("app")
    server.ask(
        "app",
        """
        CREATE FUNCTION once() RETURNS bool LANGUAGE plpgsql AS $$
        BEGIN
            RAISE NOTICE '%', repeat('x', 200000);
            IF session_user <> 'app' THEN RAISE EXCEPTION 'not for you'; END IF;
            RETURN true;
        END $$;
        CREATE TABLE words (number int CHECK (once()));
        INSERT INTO words VALUES (1);
        """,
    )
    path = server.backup()
    with pytest.raises(SystemExit, match=r"(?s)'app' stays as it is.*not for you"):
        server.module.backup.restore({"path": path})
    assert server.ask("app", "SELECT number FROM words") == [(1,)]
    assert [one["name"] for one in server.module.people.listed({})] == ["app"]
    assert server.module.pg.sql("SELECT 1 FROM pg_database WHERE datname = 'app_restored'") == []
    assert not server.there("_vetro_restorer")


def test_settings_of_people_are_no_statements(server: Server) -> None:
    """What people set for themselves is written by pg_dumpall as lines: some of them could be statements."""
    server.database("app")
    lines = "x\nCREATE ROLE ghost;\nALTER ROLE ghost LOGIN; ALTER ROLE app SUPERUSER;\n"
    server.ask("app", f"SET ROLE NONE; ALTER ROLE app SET search_path = '{lines}'")
    kept = server.ask("app", "SELECT array_to_string(rolconfig, '') FROM pg_roles WHERE rolname = 'app'")
    assert lines in kept[0][0]
    server.module.backup.restore({"path": server.backup()})
    assert server.superusers() == ["postgres"] and not server.there("ghost")


@pytest.mark.campaign
def test_people_come_back_with_what_they_may_do(server: Server) -> None:
    server.database("app")
    server.ask("app", "CREATE TABLE words (number int); INSERT INTO words VALUES (1)")
    for name, only in (("anna", True), ("bert", False)):
        server.module.people.user({"user": name, "password": PASSWORD, "database": "app", "readOnly": only})
    path = server.backup()
    for name in ("anna", "bert"):
        server.module.people.remove({"user": name})
    server.module.backup.restore({"path": path})
    assert server.ask("anna", "SELECT number FROM words") == server.ask("bert", "SELECT number FROM words") == [(1,)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        server.ask("anna", "DELETE FROM words")
    server.ask("bert", "DELETE FROM words; CREATE TABLE others (number int)")
    # Who is there keeps what is theirs, and who was not asked for comes in nowhere.
    server.module.people.login("anna", "another-horse-2")
    server.module.backup.restore({"path": path})
    assert server.ask("anna", "SELECT number FROM words", password="another-horse-2") == [(1,)]
    server.database("news")
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        server.ask("anna", "SELECT 1", "news", "another-horse-2")


def test_a_database_that_is_gone_comes_back_without_its_logins(server: Server) -> None:
    server.database("app")
    server.ask("app", "CREATE TABLE words (number int); GRANT SELECT ON words TO app")
    path = server.backup()
    server.module.people.drop({"database": "app"})
    assert not server.there("app_owner")
    server.module.backup.restore({"path": path})
    assert not server.there("app") and server.there("app_owner")
    assert server.module.pg.sql("SELECT datname FROM pg_database WHERE datname ~ '^app'") == [["app"]]


def test_nobody_else_reads_a_backup(server: Server) -> None:
    server.database("app")
    assert stat.S_IMODE(os.stat(server.backup()).st_mode) == 0o600


def test_what_is_no_backup(server: Server, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("x" * 2000)
    with pytest.raises(SystemExit, match="no backup of PostgreSQL"):
        server.module.backup.restore({"path": str(tmp_path / "one")})


@pytest.mark.parametrize("name", ["app_a", "app_b", "app_owner", "app_restored", "app_replaced", "app\n", "postgres"])
@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_names_that_are_in_use_within_are_no_databases(version: str, name: str) -> None:
    module = script("PostgreSQL", version, "postgresql.py")
    with pytest.raises(SystemExit, match="no database can be called"):
        module.people.database({"database": name, "logins": []})
    with pytest.raises(SystemExit, match="no database can be called"):
        module.people.drop({"database": name})


def test_people_are_not_called_as_applications_are(server: Server) -> None:
    server.database("app")
    for name in ("app", "app_a", "app_b"):
        for command in (server.module.people.user, server.module.people.remove):
            with pytest.raises(SystemExit, match=f"'{name}' is the user of an application, that of the database 'app'"):
                command({"user": name, "password": "another-horse-2", "database": "app", "readOnly": False})
    for name in ("app_owner", "news_owner", "replicator", "pg_monitor", "anna\n"):
        with pytest.raises(SystemExit, match="nobody can be called"):
            server.module.people.user({"user": name, "password": PASSWORD, "database": "app", "readOnly": False})
    assert server.ask("app", "SELECT 1") == [(1,)]
    # Nor does a database get the user that a person has.
    server.module.people.user({"user": "news", "password": PASSWORD, "database": "app", "readOnly": True})
    with pytest.raises(SystemExit, match="there is a user 'news'"):
        server.database("news")
    with pytest.raises(SystemExit, match="'anna' is no login of the database 'app'"):
        server.module.people.database({"database": "app", "logins": [{"user": "anna", "password": PASSWORD}]})


@pytest.mark.campaign
@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_a_database_that_its_application_dropped_is_made_anew(
    version: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An owner may drop its database. Each deployment after that finds its logins, and was refused because of them."""
    module = script("PostgreSQL", version, "postgresql.py")
    monkeypatch.setattr(module.pg, "BIN", server.module.pg.BIN)
    logins = [{"user": name, "password": PASSWORD} for name in ("app", "app_a")]
    server.database("other")
    module.people.database({"database": "app", "logins": logins})
    server.ask("app", "DROP DATABASE app", "postgres")
    assert module.people.database({"database": "app", "logins": logins}) == {"changed": True}
    assert module.people.database({"database": "app", "logins": logins}) == {"changed": False}
    server.ask("app_a", "CREATE TABLE words (number int)")
    assert server.ask("app", "SELECT count(*) FROM words") == [(0,)]
    # Its names are not free for people meanwhile.
    server.ask("app", "DROP DATABASE app", "postgres")
    with pytest.raises(SystemExit, match="'app' is the user of an application"):
        server.module.people.user({"user": "app", "password": "another-horse-2", "database": "other", "readOnly": True})
    # Who is let in by one of its logins is not the application: members of its owner are.
    module.pg.sql("DROP OWNED BY app_a; DROP ROLE app_a; CREATE ROLE app_b LOGIN; GRANT app TO app_b")
    with pytest.raises(SystemExit, match="there is a user 'app_b'"):
        module.people.database({"database": "app", "logins": logins})


@pytest.mark.skipif(os.geteuid() != 0, reason="owners are set by root")
@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_files_of_the_configuration_are_secret_from_the_first_moment(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, path = script("PostgreSQL", version, "postgresql.py"), tmp_path / "role.conf"
    (tmp_path / "role.conf.new").symlink_to(tmp_path / "elsewhere")
    opened: list[int] = []
    known = os.open

    def open_file(path: str, flags: int, mode: int) -> int:
        opened.append(mode)
        return known(path, flags, mode)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", open_file)
        assert module.put(str(path), "password\n") and not module.put(str(path), "password\n")
    assert opened == [0o600] and not (tmp_path / "elsewhere").exists()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640 and path.stat().st_uid == 0


@needs(shutil.which("runuser"), "runuser")
@pytest.mark.skipif(os.geteuid() != 0, reason="it is done by root for PostgreSQL")
@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_root_follows_no_link_of_postgresql(version: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        who = pwd.getpwnam("postgres")
    except KeyError:
        need("a user 'postgres'")
    module, top, roots = (
        script("PostgreSQL", version, "postgresql.py"),
        folder / f"of-{version}",
        folder / f"at-{version}",
    )
    (roots / "main").mkdir(parents=True)
    (roots / "main" / "kept").touch()
    top.mkdir()
    os.chown(top, who.pw_uid, who.pw_gid)
    (top / "15").symlink_to(roots)  # PostgreSQL, taken over, has put a link where root is about to write
    monkeypatch.setattr(module, "DATA", str(top / "15" / "main"))
    monkeypatch.setattr(module, "SIGNAL", str(top / "15" / "main" / "standby.signal"))
    for write in (module.begin, lambda: module.standby(module.DATA)):
        with pytest.raises(module.pg.Refused, match="Permission denied"):
            write()
    assert [one.name for one in (roots / "main").iterdir()] == ["kept"] and roots.stat().st_uid == 0


@pytest.mark.parametrize(("received", "written", "told"), [("1", 2, False), ("2", 2, True), (None, 2, False)])
def test_who_gets_only_what_was_before_the_parting_does_not_follow(
    received: str | None, written: int, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new primary sends the log of its old timeline to anybody, also to a former primary that went another way."""
    module = script("PostgreSQL", "1.1.0", "postgresql.py")
    rows = [] if received is None else [["10.0.0.2", received]]
    monkeypatch.setattr(module.pg, "sql", lambda question, **more: rows)
    monkeypatch.setattr(module.pg, "value", lambda question, **more: f"{written:08X}0000000000000004")
    given = {"follows": "10.0.0.2", "replication": PASSWORD}
    assert module.follows(given, 0) is told
    assert module.follows({**given, "follows": "10.0.0.3"}, 0) is False


def test_nobody_rewinds_before_the_primary_says_where_it_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    module = script("PostgreSQL", "1.1.0", "postgresql.py")
    control, done = "1", list[str]()
    answers = {"pg_is_in_recovery": "f", "pg_walfile_name": "000000020000000000000004"}

    def value(question: str, **more: Any) -> str:
        return next((answer for word, answer in answers.items() if word in question), control)

    monkeypatch.setattr(module.pg, "value", value)
    monkeypatch.setattr(module, "systemctl", lambda *words: done.append(words[0]))
    monkeypatch.setattr(module.pg, "as_postgres", lambda *words, **more: done.append(Path(words[0]).name))
    monkeypatch.setattr(module, "copy", lambda given: done.append("copy"))
    monkeypatch.setattr(module, "parted", lambda given, parted=module.parted: parted(given, 0))
    given = {"follows": "10.0.0.2", "replication": PASSWORD}
    module.rejoin(given)
    assert done == ["stop", "copy"]  # its control file says timeline 1, it writes timeline 2
    done.clear()
    control = "2"
    module.rejoin(given)
    assert done[:2] == ["stop", "pg_rewind"] and "copy" not in done
