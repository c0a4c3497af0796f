"""MariaDB on real servers: used by an application and people, moved, killed, destroyed, restored, upgraded, gone."""

from __future__ import annotations

import hashlib
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from tests.catalog.life import action, destroy, hosts, kill, told
from tests.catalog.mysql_client import Refused, ask
from tests.cli.conftest import write_package
from tests.cli.deploykit import Place

MARIADB = Path(__file__).parents[2] / "catalog" / "MariaDB"

#: An application that uses a database of whatever kind, of its own name, and says by which login.
LEDGER = """\
Namespaces: {=: t, std: io.vetro.std, murano: io.murano}
Name: Ledger
Extends: murano:Application
Properties:
  name: {Contract: $.string().notNull()}
  database: {Contract: $.class(std:Database).notNull()}
  told: {Contract: $.int().notNull(), Default: 0, Usage: Out}
Methods:
  .init:
    Body:
      - $.database.changedEvent.subscribe($this)
  deploy:
    Body:
      - $.database.deploy()
      - $.database.createDatabase($.name)
  handleChanged:
    Arguments:
      - sender: {Contract: $.class(std:Database).notNull()}
    Body:
      - $.told: $.told + 1
  login:
    Scope: Public
    Body:
      - $login: $.database.createDatabase($.name)
      - Return: {user: $login.user, password: $login.password, host: $.database.endpoint().host, told: $.told}
"""


#: For the server a comment begins at two hyphens with a control character behind them, for its client it does not.
EVIL = (
    "CREATE PROCEDURE evil() SELECT 1 --\x01 ;; GRANT ALL ON *.* TO ledger@`%` WITH GRANT OPTION;;"
    " GRANT ALL ON *.* TO ledger_a@`%` WITH GRANT OPTION;;\nFROM entries"
)


def checksum(host: str, login: dict[str, str]) -> str:
    """Of all that the application stored."""
    return hashlib.sha256(repr(ask(host, login, "SELECT * FROM entries ORDER BY id", "ledger")).encode()).hexdigest()


def metrics(host: str) -> str:
    """What Prometheus reads of a server."""
    with urllib.request.urlopen(f"http://{host}:9104/metrics", timeout=30) as answer:
        return str(answer.read().decode())


@pytest.mark.campaign
@pytest.mark.timeout(3000)  # three dozen commands and packages of the mirror, on a machine that does other things
def test_a_life(place: Place) -> None:
    command = ["deploy", str(MARIADB / "1.0.0"), "--env", "data", "--app", "db", "--driver", "nspawn"]
    chosen = ["name=db", "bufferPool=64", "replicaCount=1", "dataSize=1", "server.flavor=m1.small"]
    place.ok(*command, *(word for one in chosen for word in ("--set", one)))
    ledger = write_package(place.folder / "ledger", {"t.Ledger": LEDGER}, extra="Require: {io.vetro.std: 1}\n")
    place.ok("deploy", str(ledger), "--env", "data", "--app", "ledger", "--set", "name=ledger", "--set", "database=db")
    first, second = hosts(place, "data")["db-1"], hosts(place, "data")["db-2"]
    login = action(place, "data", "ledger", "login")
    assert login["host"] == first and login["user"] == "ledger"
    ask(first, login, "CREATE TABLE entries (id INT PRIMARY KEY AUTO_INCREMENT, words VARCHAR(100))", "ledger")
    for number in range(100):
        ask(first, login, f"INSERT INTO entries (words) VALUES ('entry {number} \u00fc \U0001f600')", "ledger")
    before = checksum(first, login)
    at = ask(first, login, "SELECT @@global.gtid_binlog_pos")[0][0]
    assert ask(second, login, f"SELECT MASTER_GTID_WAIT('{at}', 20)") == [["0"]] and checksum(second, login) == before
    with pytest.raises(Refused, match="read-only"):
        ask(second, login, "INSERT INTO entries (words) VALUES ('x')", "ledger")
    with pytest.raises(Refused, match="denied"):
        ask(first, {**login, "password": "wrong"}, "SELECT 1")
    with pytest.raises(Refused, match="denied"):
        ask(first, login, "SELECT * FROM mysql.user")

    # Nothing to do.
    again = place.ok("env", "deploy", "data").output
    assert "the primary" not in again and "replica of" not in again and "Installing" not in again, again

    # A newer version, taken back, and taken again: data and servers stay.
    place.ok("upgrade", "data", "--to", str(MARIADB / "1.1.0"), "--hold", "1h", "--settle", "0")
    assert checksum(first, login) == before and action(place, "data", "db", "listUsers") == []
    place.ok("env", "undo", "data", "--yes")
    place.refused("env", "action", "data", "listUsers", "--app", "db")
    assert checksum(first, login) == before
    place.ok("upgrade", "data", "--to", str(MARIADB / "1.1.0"), "--no-guard")
    assert checksum(first, login) == before and hosts(place, "data")["db-1"] == first
    assert "mysql_up 1" in metrics(first) and "mysql_slave_status" not in metrics(first)
    assert "mysql_up 1" in (replica := metrics(second)) and "mysql_slave_status_slave_io_running{" in replica

    # People: who may read does not write, and who is removed does not read.
    person = action(place, "data", "db", "addUser", "--arg", "user=ada", "--arg", "database=ledger")
    assert checksum(first, person) == before
    with pytest.raises(Refused, match="denied"):
        ask(first, person, "DELETE FROM entries", "ledger")
    assert action(place, "data", "db", "listUsers") == [{"user": "ada", "databases": ["ledger"], "writes": False}]
    action(place, "data", "db", "removeUser", "--arg", "user=ada")
    with pytest.raises(Refused, match="denied"):
        checksum(first, person)

    # A text that the client of a dump would take for the end of a statement, and then for one of root's (who reads the
    # backup back, and copies a replica); and what has to go on when its maker's login is another one.
    ask(first, login, EVIL, "ledger")
    ask(first, login, "CREATE VIEW shown AS SELECT words FROM entries", "ledger")
    made = action(place, "data", "db", "backup")
    place.ok("env", "action", "data", "downloadBackup", "--app", "db", "--save", "dump.gz")
    assert hashlib.sha256((place.folder / "dump.gz").read_bytes()).hexdigest() == made["sha256"]

    # No write that was answered is lost by moving to the other server, and the application is told.
    ask(first, login, "INSERT INTO entries (words) VALUES ('late')", "ledger")
    assert action(place, "data", "db", "switchOver") == "db-2"
    moved = action(place, "data", "ledger", "login")
    assert moved["host"] == second and moved["told"] == login["told"] + 1
    assert ask(second, moved, "SELECT words FROM entries ORDER BY id DESC LIMIT 1", "ledger") == [["late"]]
    ask(second, moved, "INSERT INTO entries (words) VALUES ('later')", "ledger")
    with pytest.raises(Refused, match="read-only"):
        ask(first, moved, "INSERT INTO entries (words) VALUES ('x')", "ledger")
    now = checksum(second, moved)

    # Applications get other logins; the old ones are refused when all have taken theirs.
    assert action(place, "data", "db", "rotateLogins") == {"ledger": "ledger_a"}
    fresh = action(place, "data", "ledger", "login")
    assert fresh["user"] == "ledger_a" and fresh["told"] == moved["told"] + 1 and checksum(second, fresh) == now
    with pytest.raises(Refused, match="denied"):
        checksum(second, moved)
    assert ask(second, fresh, "SELECT count(*) FROM shown", "ledger") == [["102"]]
    assert fresh["password"] not in place.ok("env", "log", "data").output + place.ok("env", "show", "data").output

    # A killed primary is told, and comes back with what it had.
    kill(place, "db-2")
    assert "has ended by itself" in place.ok("env", "health", "data").stdout
    place.ok("env", "deploy", "data")
    assert checksum(second, fresh) == now
    states = action(place, "data", "db", "status")
    assert [(row["name"], row["role"], row["writes"]) for row in states] == [
        ("db-1", "replica", False),
        ("db-2", "primary", True),
    ]
    assert states[0]["linked"]

    # What is destroyed comes back from a backup, on the replica, too. Backups are where the primary was.
    assert action(place, "data", "db", "switchOver", "--arg", "server=db-1") == "db-1"
    ask(first, fresh, "DROP TABLE entries", "ledger")
    assert action(place, "data", "db", "restoreBackup")["name"] == made["name"]
    assert checksum(first, fresh) == before
    at = ask(first, fresh, "SELECT @@global.gtid_binlog_pos")[0][0]
    assert ask(second, fresh, f"SELECT MASTER_GTID_WAIT('{at}', 20)") == [["0"]] and checksum(second, fresh) == before

    # A replica whose data are others is made anew. Neither way made anybody more than he was.
    action(place, "data", "db", "copyReplica", "--arg", "server=db-2")
    assert checksum(second, fresh) == before
    for host in (first, second):
        assert ask(host, fresh, "SELECT count(*) FROM shown", "ledger") == [["100"]]
        for question in ("SELECT * FROM mysql.user", "CREATE DATABASE taken"):
            with pytest.raises(Refused, match=r"denied|read-only"):
                ask(host, fresh, question)

    # Who wants no metrics any more has none: neither who tells them, nor his login, nor its password in a file.
    place.ok("deploy", str(MARIADB / "1.1.0"), "--env", "data", "--app", "db", "--set", "exporter=false")
    for host in (first, second):
        with pytest.raises(OSError, match="refused"):
            metrics(host)
    for name in ("db-1", "db-2"):
        asked = "mariadb -N -e 'SHOW GRANTS FOR vetro_exporter@localhost'; ls /etc/vetro-mariadb-exporter"
        place.ok("exec", "data", name, "--", "sh", "-c", f"({asked}) > /root/said 2>&1; true")
        place.ok("cp", f"data:{name}:/root/said", str(said := place.folder / f"said-{name}"))
        assert "There is no such grant" in said.read_text() and "No such file" in said.read_text()
    destroy(place, "data")


@pytest.mark.campaign
@pytest.mark.timeout(2400)
@pytest.mark.attack("data", "views that an application makes while a backup is made, and one that is broken")
def test_views_that_cannot_be_made_keep_no_other_database_away(place: Place) -> None:
    """One application goes on making views, so one that is not known to the backup is in the dump: whoever reads dumps
    back may not make it. Another one has a view of a table that is gone."""

    command = ["deploy", str(MARIADB / "1.1.0"), "--env", "data", "--app", "db", "--driver", "nspawn"]
    chosen = ["name=db", "memory=64", "server.flavor=m1.small"]
    place.ok(*command, *(word for one in chosen for word in ("--set", one)))
    package = write_package(place.folder / "ledger", {"t.Ledger": LEDGER}, extra="Require: {io.vetro.std: 1}\n")
    for name in ("evil", "ledger"):
        place.ok(
            "deploy", str(package), "--env", "data", "--app", name, "--set", f"name={name}", "--set", "database=db"
        )
    (host,) = hosts(place, "data").values()
    evil, login = (action(place, "data", name, "login") for name in ("evil", "ledger"))
    for name, one in (("evil", evil), ("ledger", login)):
        ask(host, one, "CREATE TABLE entries (id INT PRIMARY KEY AUTO_INCREMENT, words VARCHAR(100))", name)
        ask(host, one, "INSERT INTO entries (words) VALUES ('one'), ('two')", name)
    ask(host, login, "CREATE TABLE gone (id INT)", "ledger")
    ask(host, login, "CREATE VIEW broken AS SELECT id FROM gone", "ledger")
    ask(host, login, "CREATE VIEW whole AS SELECT words FROM entries", "ledger")
    ask(host, login, "DROP TABLE gone", "ledger")
    before, stop, made = checksum(host, login), threading.Event(), list[float]()

    def views() -> None:
        while not stop.is_set():
            ask(host, evil, f"CREATE VIEW v{len(made)} AS SELECT id FROM entries", "evil")
            made.append(time.monotonic())

    maker = threading.Thread(target=views)
    maker.start()
    try:
        action(place, "data", "db", "backup")
    finally:
        stop.set()
        maker.join(60)
    said = place.ok("env", "log", "data").output
    assert "views of evil were made during the backup" in said, said[-2000:]

    ask(host, login, "DELETE FROM entries", "ledger")
    refused = place.refused("env", "action", "data", "restoreBackup", "--app", "db")
    assert "not all of evil could be read back; all other databases are as they were" in refused, refused
    assert checksum(host, login) == before
    assert ask(host, login, "SELECT words FROM whole ORDER BY 1", "ledger") == [["one"], ["two"]]
    with pytest.raises(Refused, match="doesn't exist"):
        ask(host, login, "SELECT * FROM broken", "ledger")
    assert "'broken' of 'ledger' cannot be made" in place.ok("env", "log", "data").output
    told(f"{len(made)} views were made during a backup of MariaDB; of two databases the other one came back whole")
    # Nobody has become more than he was.
    for name, one in (("evil", evil), ("ledger", login)):
        with pytest.raises(Refused, match="denied"):
            ask(host, one, "SELECT * FROM mysql.user", name)
    destroy(place, "data")
