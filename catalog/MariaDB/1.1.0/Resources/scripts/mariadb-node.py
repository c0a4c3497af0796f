#!/usr/bin/python3 -Es
"""What is done at a running MariaDB, as root through its socket. The commands are the functions that take ``given``.

``replication`` of the input is the login by which replicas reach the primary, and the primary asks them.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import time

import mariadb_backup as backup
import mariadb_sql as db

#: Beside the data: that they are the group's, so a replica that has them needs no copy of the primary's.
MARK = "/var/lib/mysql/vetro-member"
ROLE = "/etc/mysql/mariadb.conf.d/91-vetro-role.cnf"
#: What databases are not called: the logins of Vetro begin so, those of owners and databases under way end so.
_TAKEN = re.compile(r"vetro_.*|.*_(a|b|owner|restored|replaced)")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
#: Seconds for which a demotion waits for replicas.
PATIENCE = 20
#: What the server keeps for somebody who has the right SLAVE MONITOR on everything, and no other one.
_MONITOR = str(1 << 38)


def ready():
    """Waits until it answers: after a crash it reads its logs first."""
    end = time.monotonic() + 120
    while True:
        try:
            return db.value("1")
        except db.Failed:
            if time.monotonic() > end:
                raise
            time.sleep(0.3)


def following():
    """The state of replication as a mapping; empty where nobody is followed."""
    lines = subprocess.run(
        ["mariadb", "--batch", "--vertical", "--execute", "SHOW SLAVE STATUS"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {name.strip(): one.strip() for name, one in pairs}


def account(login, grants):
    """A user is there with its password and, when it is new, these grants; whether anything changed."""
    user, password = db.text(login["user"]), db.text(login["password"])
    digest = hashed(login["password"])
    columns = "JSON_VALUE(Priv, '$.authentication_string'), JSON_VALUE(Priv, '$.account_locked') = 1"
    found = db.sql(f"SELECT {columns} FROM mysql.global_priv WHERE User = {user} AND Host = '%';")
    if found and found[0][0] == digest and found[0][1] != "1":
        return False
    verb = "ALTER USER" if found else "CREATE USER"
    more = " ACCOUNT UNLOCK;" if found else f";GRANT {grants} TO {user}@'%';"
    db.sql(f"{verb} {user}@'%' IDENTIFIED BY {password}{more}")
    return True


def observed(given):
    """``login``: who reads metrics on this server, each server for itself; null: nobody. The rights are those for the
    state of replication; figures and settings everybody reads."""
    login, name = given["login"], "vetro_exporter"
    ours = f"{db.text(name)}@localhost"
    found = db.sql(
        "SELECT JSON_VALUE(Priv, '$.authentication_string'), JSON_VALUE(Priv, '$.access') FROM mysql.global_priv"
        f" WHERE User = {db.text(name)} AND Host = 'localhost';"
    )
    if login is None:
        if found:
            db.sql(f"SET sql_log_bin = 0; DROP USER {ours};")
        return {"changed": bool(found)}
    if found == [[hashed(login["password"]), _MONITOR]]:
        return {"changed": False}
    db.sql(
        f"SET sql_log_bin = 0; CREATE OR REPLACE USER {ours} IDENTIFIED BY {db.text(login['password'])}"
        f" WITH MAX_USER_CONNECTIONS 3; GRANT SLAVE MONITOR ON *.* TO {ours};"
    )
    return {"changed": True}


def hashed(password):
    """A password as the server keeps it."""
    return "*" + hashlib.sha1(hashlib.sha1(password.encode()).digest()).hexdigest().upper()


def member():
    """Marks the data as the group's."""
    with open(MARK, "w", encoding="ascii") as file:
        file.write("These data are those of a group of servers.\n")


def writable(yes):
    """Takes writes or refuses them, now and after the next start; whether anything changed."""
    content = f"[mariadbd]\nread_only = {int(not yes)}\n"
    with contextlib.suppress(OSError), open(ROLE, encoding="ascii") as file:
        if file.read() == content and db.value("@@global.read_only") == str(int(not yes)):
            return False
    with open(ROLE + ".new", "w", encoding="ascii") as file:
        file.write(content)
    os.rename(ROLE + ".new", ROLE)
    db.sql(f"SET SESSION lock_wait_timeout = 10; SET GLOBAL read_only = {int(not yes)};")
    return True


def primary(given):
    """It takes writes, and follows nobody."""
    ready()
    changed = bool(following())
    if changed:
        db.sql("STOP SLAVE; RESET SLAVE ALL;")
    changed = writable(True) or changed
    grants = "SELECT, RELOAD, PROCESS, LOCK TABLES, SHOW VIEW, EVENT, TRIGGER, REPLICATION SLAVE, BINLOG MONITOR ON *.*"
    changed = account(given["replication"], grants) or changed
    member()
    return {"changed": changed}


def replica(given):
    """It follows the primary, and has all that is there. What it held before it became a member goes."""
    ready()
    host, login = given["follows"], given["replication"]
    changed = writable(False)
    if given.get("anew"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(MARK)
    now = following()
    if not os.path.exists(MARK):
        backup.copy(host, login)
        now = {}
    if now.get("Master_Host") != host or now.get("Master_User") != login["user"]:
        if now:
            db.sql("STOP SLAVE; RESET SLAVE ALL;")
        elif os.path.exists(MARK):  # it was the primary: it goes on where its own log ends
            db.sql("SET GLOBAL gtid_slave_pos = @@global.gtid_current_pos;")
        db.sql(
            f"CHANGE MASTER TO MASTER_HOST = {db.text(host)}, MASTER_USER = {db.text(login['user'])},"
            f" MASTER_PASSWORD = {db.text(login['password'])}, MASTER_CONNECT_RETRY = 5, MASTER_USE_GTID = slave_pos;"
            " START SLAVE;"
        )
        member()
        changed = True
    elif "No" in (now["Slave_IO_Running"], now["Slave_SQL_Running"]):
        db.sql("START SLAVE;")
        changed = True
    end = time.monotonic() + 60
    while True:
        now = following()
        if (now["Slave_IO_Running"], now["Slave_SQL_Running"]) == ("Yes", "Yes"):
            return {"changed": changed}
        error = now.get("Last_IO_Error") or now.get("Last_SQL_Error")
        if time.monotonic() > end:
            raise SystemExit(f"replication from {host} does not run: {error or 'no reason is given'}")
        time.sleep(0.3)


def demote(given):
    """It refuses writes, and all replicas have what it took. Else it takes writes as before."""
    if following():
        return {"changed": False}
    writable(False)
    at = db.value("@@global.gtid_binlog_pos")
    late = []
    for host in given["replicas"]:
        try:
            if db.value(f"MASTER_GTID_WAIT('{at}', {PATIENCE})", host, given["replication"]) != "0":
                late.append(host)
        except db.Failed:
            late.append(host)
    if late:
        writable(True)
        raise SystemExit(f"not all replicas have what was written (not on {', '.join(late)}): nothing is changed")
    return {"changed": True}


def named(name):
    """A name of a database. Raises `SystemExit` for one that is none, or somebody else's."""
    if not _NAME.fullmatch(name) or name in db.SYSTEM or _TAKEN.fullmatch(name):
        raise SystemExit(f"no database can be called '{name}'")
    return name


def logins_of(name):
    """The names that logins of the owner of a database may have."""
    return {name, f"{name}_a", f"{name}_b"}


def database(given):
    """A database is there, and belongs to these logins and no other ones that it had. Whoever has such a name without
    being an application's, ``applications``, does not come by a database in this way."""
    name, logins = named(given["name"]), given["logins"]
    if wrong := sorted({login["user"] for login in logins} - logins_of(name)):
        raise SystemExit(f"'{wrong[0]}' is no login of the database '{name}'")
    changed = name not in db.databases()
    if changed:
        if others := sorted(owners(name) - {*given["applications"]}):
            raise SystemExit(f"there is a user '{others[0]}', who would get the database '{name}': nothing is changed")
        db.sql(f"CREATE DATABASE `{name}`;")
    pattern = name.replace("_", "\\_")
    for login in logins:
        changed = account(login, f"ALL ON `{pattern}`.*") or changed
    wanted = {login["user"] for login in logins}
    for user in owners(name, locked=False) - wanted:
        lock(user)
        changed = True
    return {"changed": changed}


def owners(name, locked=True):
    """Users by which an application has its database; also those that nobody logs in as any more, or without them."""
    rows = db.sql("SELECT User, JSON_VALUE(Priv, '$.account_locked') FROM mysql.global_priv;")
    return {user for user, closed in rows if locked or closed != "1"} & logins_of(name)


def lock(user):
    """Nobody logs in as this user any more. It stays, since views and triggers that it made run as this user."""
    db.sql(f"ALTER USER {db.text(user)}@'%' ACCOUNT LOCK;")
    with contextlib.suppress(db.Failed):
        db.sql(f"KILL USER {db.text(user)}@'%';")


def drop(user):
    """A user goes, and its connections end."""
    db.sql(f"DROP USER IF EXISTS {db.text(user)}@'%';")
    with contextlib.suppress(db.Failed):
        db.sql(f"KILL USER {db.text(user)}@'%';")


def forget(given):
    """A database goes with all that is in it, and its logins: these first, for they may make it again."""
    name = named(given["name"])
    for user in owners(name):
        drop(user)
    db.sql(f"DROP DATABASE IF EXISTS `{name}`;")
    return {"changed": True}


def users(given):
    """The people: [{user, databases, writes}]. Logins of applications, former ones, too, and of MariaDB are none."""
    found, applications = {}, {*given["applications"], *(user for name in db.databases() for user in logins_of(name))}
    query = "SELECT u.User, d.Db, d.Insert_priv FROM mysql.user u"
    query += " LEFT JOIN mysql.db d ON d.User = u.User AND d.Host = u.Host"
    for user, name, writes in db.sql(f"{query} WHERE u.Host = '%' ORDER BY 1, 2;"):
        if user not in applications and user != given["replication"]["user"]:
            one = found.setdefault(user, {"user": user, "databases": [], "writes": False})
            if name != "NULL":
                one["databases"].append(name.replace("\\_", "_"))
                one["writes"] = one["writes"] or writes == "Y"
    return list(found.values())


def grant(given):
    """A person may use a database."""
    if not _NAME.fullmatch(given["login"]["user"]) or given["login"]["user"].startswith("vetro_"):
        raise SystemExit(f"nobody can be called '{given['login']['user']}'")
    for name in db.databases():
        if given["login"]["user"] in logins_of(name):
            raise SystemExit(f"'{given['login']['user']}' is the user of an application, that of the database '{name}'")
    if given["database"] not in db.databases():
        raise SystemExit(f"there is no database '{given['database']}', only {', '.join(db.databases()) or 'none'}")
    pattern, user = given["database"].replace("_", "\\_"), db.text(given["login"]["user"])
    account(given["login"], "USAGE ON *.*")
    db.sql(f"GRANT {'ALL' if given['writes'] else 'SELECT, SHOW VIEW'} ON `{pattern}`.* TO {user}@'%';")
    return {"changed": True}


def revoke(given):
    """A person may use nothing any more."""
    if given["user"] not in {one["user"] for one in users(given)}:
        raise SystemExit(f"there is no user '{given['user']}'")
    drop(given["user"])
    return {"changed": True}


def status(given):
    """Role, version, databases with their sizes, connections, and how far a replica is behind."""
    now = following()
    sizes = db.sql(
        "SELECT table_schema, SUM(data_length + index_length) FROM information_schema.tables"
        " WHERE table_schema NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys') GROUP BY 1;"
    )
    answer = {
        "role": "replica" if now else "primary",
        "version": db.value("VERSION()").partition("-")[0],
        "writes": db.value("@@global.read_only") == "0",
        "databases": {name: int(size) for name, size in sizes},
        "connections": int(db.sql("SHOW STATUS LIKE 'Threads_connected';")[0][1]),
    }
    if now:
        behind = now.get("Seconds_Behind_Master", "NULL")
        linked = (now["Slave_IO_Running"], now["Slave_SQL_Running"]) == ("Yes", "Yes")
        answer |= {"linked": linked, "behind": None if behind == "NULL" else int(behind)}
    return answer


if __name__ == "__main__":
    COMMANDS = (primary, replica, demote, database, forget, users, grant, revoke, status)
    COMMANDS += (observed, backup.save, backup.restore)
    try:
        json.dump({one.__name__: one for one in COMMANDS}[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
    except db.Failed as error:
        sys.exit(f"MariaDB says: {error}")
