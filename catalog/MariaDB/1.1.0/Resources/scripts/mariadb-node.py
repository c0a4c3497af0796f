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
import secrets
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
#: Tables and what is in them. Texts that the server keeps as people wrote them (routines, triggers, events, and views)
#: are no part of it: the client that reads a dump takes it apart by other rules than the server, so such a text may end
#: early for the one and not for the other, and what comes behind it be a statement of root's.
_TABLES = ["mariadb-dump", "--single-transaction", "--quick", "--hex-blob", "--skip-triggers", "--skip-comments"]
#: Of each kind of text: where names are and in which order, and which column of SHOW CREATE has it.
_TEXTS = {
    "PROCEDURE": ("ROUTINES WHERE ROUTINE_TYPE = 'PROCEDURE'", "ROUTINE_SCHEMA", "ROUTINE_NAME", 2),
    "FUNCTION": ("ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION'", "ROUTINE_SCHEMA", "ROUTINE_NAME", 2),
    "PACKAGE": ("ROUTINES WHERE ROUTINE_TYPE = 'PACKAGE'", "ROUTINE_SCHEMA", "ROUTINE_NAME", 2),
    "PACKAGE BODY": ("ROUTINES WHERE ROUTINE_TYPE = 'PACKAGE BODY'", "ROUTINE_SCHEMA", "ROUTINE_NAME", 2),
    "VIEW": ("VIEWS WHERE TRUE", "TABLE_SCHEMA", "TABLE_NAME", 1),
    "TRIGGER": ("TRIGGERS WHERE TRUE", "TRIGGER_SCHEMA", "TRIGGER_NAME", 2),
    "EVENT": ("EVENTS WHERE TRUE", "EVENT_SCHEMA", "EVENT_NAME", 3),
}
_ESCAPED = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\"}
#: Who reads tables back: somebody who may do that and nothing else, by a client that can read no file of root's.
LOADER, CLIENT = "vetro_loader", {"user": "nobody", "group": "nogroup", "extra_groups": (), "cwd": "/"}


class Failed(Exception):
    """MariaDB refused a statement."""


def sql(statement, host=None, login=None):
    """The rows of a statement, each a list of texts."""
    words, environment = ["mariadb", "--batch", "--skip-column-names"], dict(os.environ)
    if host is not None:
        words += ["--host", host, "--user", login["user"], "--connect-timeout=5"]
        environment["MYSQL_PWD"] = login["password"]
    words += ["--default-character-set=utf8mb4", "--binary-mode"]
    done = subprocess.run(words, input=statement.encode(), capture_output=True, env=environment, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][-1000:])
    rows = done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")
    return [[plain(cell) for cell in row.split("\t")] for row in rows.split("\n")] if rows else []


def plain(cell):
    """A text as it is; the client writes line ends, tabs and backslashes in two characters."""
    return re.sub(r"\\([nt0\\])", lambda found: _ESCAPED[found[1]], cell)


def immediate(statement):
    """A statement with texts of people, for `sql`: as digits, in which nobody finds the end of a statement."""
    return f"EXECUTE IMMEDIATE CONVERT(0x{statement.encode('utf-8', 'surrogateescape').hex()} USING utf8mb4);"


def quoted(name):
    """A name as an identifier of SQL."""
    return "`" + name.replace("`", "``") + "`"


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
    columns = "JSON_VALUE(Priv, '$.authentication_string'), JSON_VALUE(Priv, '$.account_locked') = 1"
    found = sql(f"SELECT {columns} FROM mysql.global_priv WHERE User = {user} AND Host = '%';")
    if found and found[0][0] == digest and found[0][1] != "1":
        return False
    verb = "ALTER USER" if found else "CREATE USER"
    more = " ACCOUNT UNLOCK;" if found else f";GRANT {grants} TO {user}@'%';"
    sql(f"{verb} {user}@'%' IDENTIFIED BY {password}{more}")
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
    for _ in range(3):
        before = everything(host, login)
        number = copy_tables(host, login, before[1])
        if everything(host, login) == before:
            break  # what is no part of the dump is of its moment, too
    else:
        raise SystemExit(f"users, views or routines of {host} change all the time: nothing can be copied")
    for user, statements in before[0].items():
        drop_all = f"DROP USER IF EXISTS {quoted(user)}@'%'"
        sql("SET sql_log_bin = 0;" + "\n".join(immediate(one) for one in [drop_all, *statements]))
    for name, texts in before[1].items():
        make(name, texts)
    sql(f"RESET MASTER; SET GLOBAL gtid_slave_pos = {text(number)}; SET GLOBAL read_only = 1;")


def everything(host, login):
    """(users, texts of all databases) of a primary."""
    names = [name for (name,) in sql("SHOW DATABASES;", host, login) if name not in SYSTEM]
    return accounts(host, login), {name: texts_of(name, host, login) for name in names}


def copy_tables(host, login, texts):
    """Fills the databases as they are at one moment; which one that is. Nobody comes from elsewhere meanwhile."""
    sql("STOP SLAVE; RESET SLAVE ALL; RESET MASTER; SET GLOBAL gtid_slave_pos = ''; SET GLOBAL read_only = 0;")
    gone = [f"DROP USER {quoted(user)}@'%'" for user in accounts()]
    sql("SET sql_log_bin = 0;" + "\n".join(immediate(one) for one in gone))
    sql("SET sql_log_bin = 0;" + "".join(f"DROP DATABASE {quoted(name)};" for name in databases()))
    names = sorted(texts)
    if not names:
        return value("@@global.gtid_binlog_pos", host, login)
    views = [word for name in names for word in without(name, texts[name])]
    words = [*_TABLES, "--host", host, "--user", login["user"], *views, "--gtid", "--master-data=2"]
    words += ["--databases", *names]
    environment = {**os.environ, "MYSQL_PWD": login["password"]}
    head = b""
    with loader(names, f"GRANT BINLOG ADMIN ON *.* TO {LOADER}@localhost;") as client:
        dump = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment)
        load = subprocess.Popen(**client)
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
    return value(f"BINLOG_GTID_POS({text(at[1].decode())}, {int(at[2])})", host, login)


# -- what is there, as data -------------------------------------------------------------------------------------------


def texts_of(name, host=None, login=None):
    """What a database keeps as text: [{kind, name, statement, mode, charset, collation, zone}]."""
    found = []
    for kind, (table, schema, column, at) in _TEXTS.items():
        order = "ACTION_ORDER" if kind == "TRIGGER" else "1"
        query = f"SELECT HEX({column}) FROM information_schema.{table} AND {schema} = {text(name)} ORDER BY {order};"
        for (digits,) in sql(query, host, login):
            one = bytes.fromhex(digits).decode()
            row = sql(immediate(f"SHOW CREATE {kind} {quoted(name)}.{quoted(one)}"), host, login)[0]
            mode, zone = row[1] if at > 1 else "", row[2] if at > 2 else ""
            found.append({"kind": kind, "name": one, "statement": row[at], "mode": mode, "zone": zone})
            found[-1] |= {"charset": row[at + 1], "collation": row[at + 2]}
    return found


def make(name, texts):
    """Makes what `texts_of` found; names of what cannot be made, such as a view of a table that is gone, which people
    are told. What needs another one is tried again when that may be there."""
    left, why = list(texts), {}
    while left:
        before, left = left, []
        for one in before:
            settings = [one["charset"], one["collation"], one["mode"]]
            if not all(re.fullmatch("[A-Za-z0-9_,]*", setting) for setting in settings):
                raise SystemExit(f"the settings of '{one['name']}' of '{name}' are none")
            lines = [f"USE {quoted(name)};", immediate(f"SET time_zone = {text(one['zone'])}") if one["zone"] else ""]
            lines += [f"SET sql_mode = '{settings[2]}', character_set_client = {settings[0]};"]
            lines += [f"SET collation_connection = {settings[1]};", immediate(one["statement"])]
            try:
                sql("\n".join(lines))
            except Failed as error:
                left.append(one)
                why[one["name"]] = str(error)
        if len(left) == len(before):
            break
    for one in left:
        print(f"'{one['name']}' of '{name}' cannot be made: {why[one['name']]}", file=sys.stderr, flush=True)
    return [one["name"] for one in left]


def accounts(host=None, login=None):
    """Who comes from elsewhere, applications and people: {user: statements that make it}."""
    found = {}
    query = "SELECT HEX(User) FROM mysql.user WHERE Host = '%' AND is_role = 'N' ORDER BY 1;"
    for (digits,) in sql(query, host, login):
        user = bytes.fromhex(digits).decode()
        shown = f"{quoted(user)}@'%'"
        rows = [*sql(immediate(f"SHOW CREATE USER {shown}"), host, login)]
        found[user] = [row[0] for row in [*rows, *sql(immediate(f"SHOW GRANTS FOR {shown}"), host, login)]]
    return found


@contextlib.contextmanager
def loader(names, more=""):
    """What starts a client that may fill these databases, and do nothing else."""
    password, user = secrets.token_hex(16), f"{LOADER}@localhost"
    grants = "".join(f"GRANT ALL ON {quoted(name.replace('_', chr(92) + '_'))}.* TO {user};" for name in names)
    sql(f"SET sql_log_bin = 0; CREATE OR REPLACE USER {user} IDENTIFIED BY '{password}'; {grants}{more}")
    words = ["mariadb", "--binary-mode", "--local-infile=0", "--default-character-set=utf8mb4", "--user", LOADER]
    try:
        yield {"args": words, "env": {**os.environ, "MYSQL_PWD": password}, "stdin": subprocess.PIPE, **CLIENT}
    finally:
        sql(f"SET sql_log_bin = 0; DROP USER {user};")


def without(name, texts):
    """Words by which a dump leaves out the views."""
    return [f"--ignore-table={name}.{one['name']}" for one in texts if one["kind"] == "VIEW"]


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
        raise SystemExit(f"not all replicas have what was written (not on {', '.join(late)}): nothing is changed")
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
    for user in owners(name, locked=False) - wanted:
        lock(user)
        changed = True
    return {"changed": changed}


def owners(name, locked=True):
    """Users by which an application has its database; also those that nobody logs in as any more, or without them."""
    rows = sql("SELECT User, JSON_VALUE(Priv, '$.account_locked') FROM mysql.global_priv;")
    return {user for user, closed in rows if locked or closed != "1"} & logins_of(name)


def lock(user):
    """Nobody logs in as this user any more. It stays, since views and triggers that it made run as this user."""
    sql(f"ALTER USER {text(user)}@'%' ACCOUNT LOCK;")
    with contextlib.suppress(Failed):
        sql(f"KILL USER {text(user)}@'%';")


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
    """The people: [{user, databases, writes}]. Logins of applications, former ones, too, and of MariaDB are none."""
    found, applications = {}, {*given["applications"], *(user for name in databases() for user in logins_of(name))}
    query = "SELECT u.User, d.Db, d.Insert_priv FROM mysql.user u"
    query += " LEFT JOIN mysql.db d ON d.User = u.User AND d.Host = u.Host"
    for user, name, writes in sql(f"{query} WHERE u.Host = '%' ORDER BY 1, 2;"):
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
    """Writes all databases and users to a file, which nobody else reads: parts, each a line of JSON and its blocks."""
    os.umask(0o077)
    for _ in range(3):
        names = databases()
        if not (moving := written(given["path"], names)):
            break
    else:
        print(
            f"views of {', '.join(moving)} were made during the backup, and may be missing from it",
            file=sys.stderr,
            flush=True,
        )
    return {"changed": True, "databases": len(names)}


def written(path, names):
    """Writes a backup; the databases that had other views after their dump: these are in it, and nobody but root could
    read them back."""
    moving = []
    with gzip.open(path, "wb", compresslevel=4) as out:
        part(out, {"users": accounts()})
        for name in names:
            texts = texts_of(name)
            query = f"DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {text(name)}"
            head = {"database": name, "collation": value(query), "texts": texts}
            words = [*_TABLES, *without(name, texts), name]
            with subprocess.Popen(words, stdout=subprocess.PIPE) as dump:
                part(out, head, dump.stdout)
            if dump.returncode != 0:
                raise SystemExit("the dump failed")
            if without(name, texts_of(name)) != without(name, texts):
                moving.append(name)
        part(out, {"complete": len(names)})
    return moving


def part(out, head, stream=None):
    """A part of a backup: nothing in its blocks can be taken for another one."""
    out.write(json.dumps(head).encode() + b"\n")
    while stream is not None and (block := stream.read(1 << 20)):
        out.write(b"%08x" % len(block) + block)
    out.write(b"%08x" % 0)


def parts(path):
    """The parts of a backup: (head, its blocks). The blocks are to be read before the next part. Raises what `gzip`
    raises, and `ValueError`."""
    with gzip.open(path, "rb") as file:

        def blocks():
            while size := int(exactly(file, 8), 16):
                yield exactly(file, size)

        while line := file.readline():
            yield json.loads(line), blocks()


def exactly(file, size):
    data = file.read(size)
    if len(data) != size:
        raise EOFError
    return data


def whole(path):
    """Whether a backup is there up to its end."""
    last = {}
    try:
        for head, blocks in parts(path):
            last = head
            for _ in blocks:
                pass
        return "complete" in last
    except (OSError, EOFError, ValueError):
        return False


def restore(given):
    """All databases are as they were; what was made later goes. Users of later stay, and passwords are those of now.
    What is wrong with one database keeps no other one away."""
    if not whole(given["path"]):
        raise SystemExit("the file is no whole backup of MariaDB")
    sql("".join(f"DROP DATABASE {quoted(name)};" for name in databases()) or "SELECT 1;")
    now, made, broken = accounts(), [], []
    for head, blocks in parts(given["path"]):
        for user, statements in head.get("users", {}).items():
            if user not in now:
                sql("\n".join(immediate(one) for one in statements))
        if "database" in head:
            if not fill(head["database"], head["collation"], blocks):
                broken.append(head["database"])
            made.append((head["database"], head["texts"]))
        for _ in blocks:
            pass
    left = [f"{name}.{one}" for name, texts in made for one in make(name, texts)]
    if broken:
        raise SystemExit(f"not all of {', '.join(broken)} could be read back; all other databases are as they were")
    return {"changed": True, "databases": len(databases()), "left": left}


def fill(name, collation, blocks):
    """A database is there, with its tables; whether that is all of them."""
    if not re.fullmatch("[A-Za-z0-9_]+", collation):
        raise SystemExit(f"'{collation}' is no collation")
    sql(f"CREATE DATABASE {quoted(name)} COLLATE {collation};")
    with loader([name]) as client, subprocess.Popen(**{**client, "args": [*client["args"], name]}) as load:
        try:
            for block in blocks:
                load.stdin.write(block)
            load.stdin.close()
        except BrokenPipeError:
            pass  # it says why
    return load.returncode == 0


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
