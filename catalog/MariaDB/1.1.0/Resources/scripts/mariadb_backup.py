"""What a MariaDB holds, on its way to another one: into a file and back, and from a primary to its replica."""

import contextlib
import gzip
import json
import os
import re
import secrets
import subprocess
import sys

import mariadb_sql as db

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
#: Who reads tables back: somebody who may do that and nothing else, by a client that can read no file of root's.
LOADER, CLIENT = "vetro_loader", {"user": "nobody", "group": "nogroup", "extra_groups": (), "cwd": "/"}


# -- what is there, as data -------------------------------------------------------------------------------------------


def texts_of(name, host=None, login=None):
    """What a database keeps as text: [{kind, name, statement, mode, charset, collation, zone}]."""
    found = []
    for kind, (table, schema, column, at) in _TEXTS.items():
        order = "ACTION_ORDER" if kind == "TRIGGER" else "1"
        query = f"SELECT HEX({column}) FROM information_schema.{table} AND {schema} = {db.text(name)} ORDER BY {order};"
        for (digits,) in db.sql(query, host, login):
            one = bytes.fromhex(digits).decode()
            row = db.sql(db.immediate(f"SHOW CREATE {kind} {db.quoted(name)}.{db.quoted(one)}"), host, login)[0]
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
            lines = [
                f"USE {db.quoted(name)};",
                db.immediate(f"SET time_zone = {db.text(one['zone'])}") if one["zone"] else "",
            ]
            lines += [f"SET sql_mode = '{settings[2]}', character_set_client = {settings[0]};"]
            lines += [f"SET collation_connection = {settings[1]};", db.immediate(one["statement"])]
            try:
                db.sql("\n".join(lines))
            except db.Failed as error:
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
    for (digits,) in db.sql(query, host, login):
        user = bytes.fromhex(digits).decode()
        shown = f"{db.quoted(user)}@'%'"
        rows = [*db.sql(db.immediate(f"SHOW CREATE USER {shown}"), host, login)]
        found[user] = [row[0] for row in [*rows, *db.sql(db.immediate(f"SHOW GRANTS FOR {shown}"), host, login)]]
    return found


@contextlib.contextmanager
def loader(names, more=""):
    """What starts a client that may fill these databases, and do nothing else."""
    password, user = secrets.token_hex(16), f"{LOADER}@localhost"
    grants = "".join(f"GRANT ALL ON {db.quoted(name.replace('_', chr(92) + '_'))}.* TO {user};" for name in names)
    db.sql(f"SET sql_log_bin = 0; CREATE OR REPLACE USER {user} IDENTIFIED BY '{password}'; {grants}{more}")
    words = ["mariadb", "--binary-mode", "--local-infile=0", "--default-character-set=utf8mb4", "--user", LOADER]
    try:
        yield {"args": words, "env": {**os.environ, "MYSQL_PWD": password}, "stdin": subprocess.PIPE, **CLIENT}
    finally:
        db.sql(f"SET sql_log_bin = 0; DROP USER {user};")


def without(name, texts):
    """Words by which a dump leaves out the views."""
    return [f"--ignore-table={name}.{one['name']}" for one in texts if one["kind"] == "VIEW"]


# -- from a primary to its replica -------------------------------------------------------------------------------------


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
        drop_all = f"DROP USER IF EXISTS {db.quoted(user)}@'%'"
        db.sql("SET sql_log_bin = 0;" + "\n".join(db.immediate(one) for one in [drop_all, *statements]))
    for name, texts in before[1].items():
        make(name, texts)
    db.sql(f"RESET MASTER; SET GLOBAL gtid_slave_pos = {db.text(number)}; SET GLOBAL read_only = 1;")


def everything(host, login):
    """(users, texts of all databases) of a primary."""
    names = [name for (name,) in db.sql("SHOW DATABASES;", host, login) if name not in db.SYSTEM]
    return accounts(host, login), {name: texts_of(name, host, login) for name in names}


def copy_tables(host, login, texts):
    """Fills the databases as they are at one moment; which one that is. Nobody comes from elsewhere meanwhile."""
    db.sql("STOP SLAVE; RESET SLAVE ALL; RESET MASTER; SET GLOBAL gtid_slave_pos = ''; SET GLOBAL read_only = 0;")
    gone = [f"DROP USER {db.quoted(user)}@'%'" for user in accounts()]
    db.sql("SET sql_log_bin = 0;" + "\n".join(db.immediate(one) for one in gone))
    db.sql("SET sql_log_bin = 0;" + "".join(f"DROP DATABASE {db.quoted(name)};" for name in db.databases()))
    names = sorted(texts)
    if not names:
        return db.value("@@global.gtid_binlog_pos", host, login)
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
    return db.value(f"BINLOG_GTID_POS({db.text(at[1].decode())}, {int(at[2])})", host, login)


# -- into a file and back ----------------------------------------------------------------------------------------------


def save(given):
    """Writes all databases and users to a file, which nobody else reads: parts, each a line of JSON and its blocks."""
    os.umask(0o077)
    for _ in range(3):
        names = db.databases()
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
            query = f"DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {db.text(name)}"
            head = {"database": name, "collation": db.value(query), "texts": texts}
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
    db.sql("".join(f"DROP DATABASE {db.quoted(name)};" for name in db.databases()) or "SELECT 1;")
    now, made, broken = accounts(), [], []
    for head, blocks in parts(given["path"]):
        for user, statements in head.get("users", {}).items():
            if user not in now:
                db.sql("\n".join(db.immediate(one) for one in statements))
        if "database" in head:
            if not fill(head["database"], head["collation"], blocks):
                broken.append(head["database"])
            made.append((head["database"], head["texts"]))
        for _ in blocks:
            pass
    left = [f"{name}.{one}" for name, texts in made for one in make(name, texts)]
    if broken:
        raise SystemExit(f"not all of {', '.join(broken)} could be read back; all other databases are as they were")
    return {"changed": True, "databases": len(db.databases()), "left": left}


def fill(name, collation, blocks):
    """A database is there, with its tables; whether that is all of them."""
    if not re.fullmatch("[A-Za-z0-9_]+", collation):
        raise SystemExit(f"'{collation}' is no collation")
    db.sql(f"CREATE DATABASE {db.quoted(name)} COLLATE {collation};")
    with loader([name]) as client, subprocess.Popen(**{**client, "args": [*client["args"], name]}) as load:
        try:
            for block in blocks:
                load.stdin.write(block)
            load.stdin.close()
        except BrokenPipeError:
            pass  # it says why
    return load.returncode == 0
