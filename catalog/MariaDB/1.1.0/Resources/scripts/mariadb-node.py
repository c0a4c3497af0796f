#!/usr/bin/python3 -I
"""What is done at a running MariaDB, as root through its socket. The commands are the functions that take ``given``.

``replication`` of the input is the login by which replicas reach the primary, and the primary asks them.
"""

import contextlib
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

#: Beside the data: that they are the group's, so a replica that has them needs no copy of the primary's.
MARK = "/var/lib/mysql/vetro-member"
ROLE = "/etc/mysql/mariadb.conf.d/91-vetro-role.cnf"
SYSTEM = {"information_schema", "performance_schema", "mysql", "sys"}
#: What databases are not called: the logins of Vetro begin so, those of owners and databases under way end so.
_TAKEN = re.compile(r"vetro_.*|.*_(a|b|owner|restored|replaced)")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
#: Seconds for which a demotion waits for replicas.
PATIENCE = 20
_DUMP = ["mariadb-dump", "--single-transaction", "--quick", "--routines", "--events", "--triggers", "--hex-blob"]


class Failed(Exception):
    """MariaDB refused a statement."""


def sql(statement, host=None, login=None):
    """The rows of a statement, each a list of texts."""
    words, environment = ["mariadb", "--batch", "--raw", "--skip-column-names"], dict(os.environ)
    if host is not None:
        words += ["--host", host, "--user", login["user"], "--connect-timeout=5"]
        environment["MYSQL_PWD"] = login["password"]
    done = subprocess.run(words, input=statement, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr.strip()[-1000:])
    return [line.split("\t") for line in done.stdout.splitlines()]


def value(expression, host=None, login=None):
    """What an expression is."""
    return sql(f"SELECT {expression};", host, login)[0][0]


def text(string):
    """A text as a literal of SQL."""
    return "'" + string.replace("\\", "\\\\").replace("'", "\\'") + "'"


def ready():
    """Waits until it answers: after a crash it reads its logs first."""
    end = time.monotonic() + 120
    while True:
        try:
            return value("1")
        except Failed:
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
    user, password = text(login["user"]), text(login["password"])
    digest = "*" + hashlib.sha1(hashlib.sha1(login["password"].encode()).digest()).hexdigest().upper()
    found = sql(f"SELECT authentication_string FROM mysql.user WHERE User = {user} AND Host = '%';")
    if found and found[0][0] == digest:
        return False
    verb = "ALTER USER" if found else "CREATE USER"
    sql(f"{verb} {user}@'%' IDENTIFIED BY {password};" + ("" if found else f"GRANT {grants} TO {user}@'%';"))
    return True


def member():
    """Marks the data as the group's."""
    with open(MARK, "w", encoding="ascii") as file:
        file.write("These data are those of a group of servers.\n")


def writable(yes):
    """Takes writes or refuses them, now and after the next start; whether anything changed."""
    content = f"[mariadbd]\nread_only = {int(not yes)}\n"
    with contextlib.suppress(OSError), open(ROLE, encoding="ascii") as file:
        if file.read() == content and value("@@global.read_only") == str(int(not yes)):
            return False
    with open(ROLE + ".new", "w", encoding="ascii") as file:
        file.write(content)
    os.rename(ROLE + ".new", ROLE)
    sql(f"SET SESSION lock_wait_timeout = 10; SET GLOBAL read_only = {int(not yes)};")
    return True


def primary(given):
    """It takes writes, and follows nobody."""
    ready()
    changed = bool(following())
    if changed:
        sql("STOP SLAVE; RESET SLAVE ALL;")
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
        copy(host, login)
        now = {}
    if now.get("Master_Host") != host or now.get("Master_User") != login["user"]:
        if now:
            sql("STOP SLAVE; RESET SLAVE ALL;")
        elif os.path.exists(MARK):  # it was the primary: it goes on where its own log ends
            sql("SET GLOBAL gtid_slave_pos = @@global.gtid_current_pos;")
        sql(
            f"CHANGE MASTER TO MASTER_HOST = {text(host)}, MASTER_USER = {text(login['user'])},"
            f" MASTER_PASSWORD = {text(login['password'])}, MASTER_CONNECT_RETRY = 5, MASTER_USE_GTID = slave_pos;"
            " START SLAVE;"
        )
        member()
        changed = True
    elif "No" in (now["Slave_IO_Running"], now["Slave_SQL_Running"]):
        sql("START SLAVE;")
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


def copy(host, login):
    """All data of the primary, and where its log was at that moment."""
    print(f"copying the data of {host}", file=sys.stderr, flush=True)
    sql("STOP SLAVE; RESET SLAVE ALL; RESET MASTER; SET GLOBAL gtid_slave_pos = '';")
    sql("SET sql_log_bin = 0;" + "".join(f"DROP DATABASE `{name}`;" for name in databases()))
    words = [*_DUMP, "--host", host, "--user", login["user"], "--all-databases", "--flush-privileges", "--gtid"]
    environment = {**os.environ, "MYSQL_PWD": login["password"]}
    dump = subprocess.Popen([*words, "--master-data=2"], stdout=subprocess.PIPE, env=environment)
    load = subprocess.Popen(["mariadb", "--binary-mode"], stdin=subprocess.PIPE)
    head = b""
    try:
        load.stdin.write(b"SET sql_log_bin = 0;\n")
        while block := dump.stdout.read(1 << 20):
            head = (head + block)[: 1 << 16]
            load.stdin.write(block)
        load.stdin.close()
    except BrokenPipeError:
        dump.kill()  # who reads it has ended, and said why
    if dump.wait() != 0 or load.wait() != 0:
        raise SystemExit(f"the data of {host} could not be copied")
    at = re.search(rb"MASTER_LOG_FILE='([^']+)', MASTER_LOG_POS=([0-9]+)", head)
    if at is None:
        raise SystemExit(f"the copy of {host} does not say where its log was")
    number = value(f"BINLOG_GTID_POS({text(at[1].decode())}, {int(at[2])})", host, login)
    sql(f"RESET MASTER; SET GLOBAL gtid_slave_pos = {text(number)};")


def demote(given):
    """It refuses writes, and all replicas have what it took. Else it takes writes as before."""
    if following():
        return {"changed": False}
    writable(False)
    at = value("@@global.gtid_binlog_pos")
    late = []
    for host in given["replicas"]:
        try:
            if value(f"MASTER_GTID_WAIT('{at}', {PATIENCE})", host, given["replication"]) != "0":
                late.append(host)
        except Failed:
            late.append(host)
    if late:
        writable(True)
        raise SystemExit(f"not all replicas have what was written ({', '.join(late)} lack it): nothing is changed")
    return {"changed": True}


def databases():
    """Names of all databases but MariaDB's own."""
    return [name for (name,) in sql("SHOW DATABASES;") if name not in SYSTEM]


def named(name):
    """A name of a database. Raises `SystemExit` for one that is none, or somebody else's."""
    if not _NAME.fullmatch(name) or name in SYSTEM or _TAKEN.fullmatch(name):
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
    changed = name not in databases()
    if changed:
        if others := sorted(owners(name) - {*given["applications"]}):
            raise SystemExit(f"there is a user '{others[0]}', who would get the database '{name}': nothing is changed")
        sql(f"CREATE DATABASE `{name}`;")
    pattern = name.replace("_", "\\_")
    for login in logins:
        changed = account(login, f"ALL ON `{pattern}`.*") or changed
    wanted = {login["user"] for login in logins}
    for user in owners(name) - wanted:
        drop(user)
        changed = True
    return {"changed": changed}


def owners(name):
    """Users by which an application has its database."""
    return {user for (user,) in sql("SELECT User FROM mysql.user;")} & logins_of(name)


def drop(user):
    """A user goes, and its connections end."""
    sql(f"DROP USER IF EXISTS {text(user)}@'%';")
    with contextlib.suppress(Failed):
        sql(f"KILL USER {text(user)}@'%';")


def forget(given):
    """A database goes with all that is in it, and its logins: these first, for they may make it again."""
    name = named(given["name"])
    for user in owners(name):
        drop(user)
    sql(f"DROP DATABASE IF EXISTS `{name}`;")
    return {"changed": True}


def users(given):
    """The people: [{user, databases, writes}]. Logins of applications and of MariaDB itself are none."""
    found = {}
    query = "SELECT u.User, d.Db, d.Insert_priv FROM mysql.user u"
    query += " LEFT JOIN mysql.db d ON d.User = u.User AND d.Host = u.Host"
    for user, name, writes in sql(f"{query} WHERE u.Host = '%' ORDER BY 1, 2;"):
        if user not in given["applications"] and user != given["replication"]["user"]:
            one = found.setdefault(user, {"user": user, "databases": [], "writes": False})
            if name != "NULL":
                one["databases"].append(name.replace("\\_", "_"))
                one["writes"] = one["writes"] or writes == "Y"
    return list(found.values())


def grant(given):
    """A person may use a database."""
    if not _NAME.fullmatch(given["login"]["user"]) or given["login"]["user"].startswith("vetro_"):
        raise SystemExit(f"nobody can be called '{given['login']['user']}'")
    for name in databases():
        if given["login"]["user"] in logins_of(name):
            raise SystemExit(f"'{given['login']['user']}' is the user of an application, that of the database '{name}'")
    if given["database"] not in databases():
        raise SystemExit(f"there is no database '{given['database']}', only {', '.join(databases()) or 'none'}")
    pattern, user = given["database"].replace("_", "\\_"), text(given["login"]["user"])
    account(given["login"], "USAGE ON *.*")
    sql(f"GRANT {'ALL' if given['writes'] else 'SELECT, SHOW VIEW'} ON `{pattern}`.* TO {user}@'%';")
    return {"changed": True}


def revoke(given):
    """A person may use nothing any more."""
    if given["user"] not in {one["user"] for one in users(given)}:
        raise SystemExit(f"there is no user '{given['user']}'")
    drop(given["user"])
    return {"changed": True}


def save(given):
    """Writes all databases and users to a file, which nobody else reads, as SQL that is packed."""
    os.umask(0o077)
    words = [*_DUMP, "--insert-ignore", "--system=users"]
    names = databases()
    with gzip.open(given["path"], "wb", compresslevel=4) as out:
        for one in (words, [*_DUMP, "--databases", *names] if names else None):
            if one is None:
                continue
            with subprocess.Popen(one, stdout=subprocess.PIPE) as dump:
                shutil.copyfileobj(dump.stdout, out, 1 << 20)
            if dump.returncode != 0:
                raise SystemExit("the dump failed")
        out.write(b"-- complete\n")
    return {"changed": True, "databases": len(names)}


def restore(given):
    """All databases are as they were; what was made later goes. Users of later stay, and passwords are those of now."""
    with gzip.open(given["path"], "rb") as file:
        try:
            last = b""
            while block := file.read(1 << 20):
                last = (last + block)[-64:]
        except (OSError, EOFError):
            last = b""
    if not last.endswith(b"-- complete\n"):
        raise SystemExit("the file is no whole backup of MariaDB")
    sql("".join(f"DROP DATABASE `{name}`;" for name in databases()) or "SELECT 1;")
    with subprocess.Popen(["mariadb", "--binary-mode"], stdin=subprocess.PIPE) as load:
        try:
            with gzip.open(given["path"], "rb") as file:
                shutil.copyfileobj(file, load.stdin, 1 << 20)
            load.stdin.close()
        except BrokenPipeError:
            pass  # it says why
    if load.returncode != 0:
        raise SystemExit("the backup could not be read back")
    return {"changed": True, "databases": len(databases())}


def status(given):
    """Role, version, databases with their sizes, connections, and how far a replica is behind."""
    now = following()
    sizes = sql(
        "SELECT table_schema, SUM(data_length + index_length) FROM information_schema.tables"
        " WHERE table_schema NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys') GROUP BY 1;"
    )
    answer = {
        "role": "replica" if now else "primary",
        "version": value("VERSION()").partition("-")[0],
        "writes": value("@@global.read_only") == "0",
        "databases": {name: int(size) for name, size in sizes},
        "connections": int(sql("SHOW STATUS LIKE 'Threads_connected';")[0][1]),
    }
    if now:
        behind = now.get("Seconds_Behind_Master", "NULL")
        linked = (now["Slave_IO_Running"], now["Slave_SQL_Running"]) == ("Yes", "Yes")
        answer |= {"linked": linked, "behind": None if behind == "NULL" else int(behind)}
    return answer


if __name__ == "__main__":
    COMMANDS = (primary, replica, demote, database, forget, users, grant, revoke, save, restore, status)
    try:
        json.dump({one.__name__: one for one in COMMANDS}[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
    except Failed as error:
        sys.exit(f"MariaDB says: {error}")
