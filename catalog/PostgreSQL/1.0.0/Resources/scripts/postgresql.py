#!/usr/bin/python3 -I
"""What is done at a server of PostgreSQL, as root: ``COMMANDS`` at the end of the file.

A command gets its input as JSON; of all of them: ``name`` of this server, ``peers`` ({name, address} of the others) and
``replication``, the password with which servers of the group speak to each other. No password is ever a word of a
command line, and none reaches a log: the database gets verifiers.

A server that was the primary never starts as one by itself while another one may have taken over: `gate`.
"""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import pwd
import re
import secrets
import shutil
import subprocess
import sys
import time

BIN = "/usr/lib/postgresql/15/bin"
DATA = "/var/lib/postgresql/15/main"
CONFIG = "/etc/vetro-postgresql"
SERVICE = "vetro-postgresql"
#: Says that a deployment made this server the primary; it does not outlive a start of the server.
CROWN = "/run/vetro-postgresql/primary"
SIGNAL = f"{DATA}/standby.signal"
#: What one can be called who is not somebody else already.
RESERVED = {"postgres", "replicator", "prometheus", "template0", "template1", "public", "none"}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
#: What names of databases do not end with: logins, owners, and databases under way have them.
_TAKEN = re.compile(r".*_(a|b|owner|restored|replaced)")


class Refused(Exception):
    """The database answered with an error."""


# -- speaking with databases -------------------------------------------------------------------------------------------


def sql(text, database="postgres", host=None, password=None, patience=60):
    """Rows of texts. At a ``host`` as the replicator, else as the superuser of this server. Raises `Refused`."""
    words = ["psql", "-XAtq", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-f", "-", "-d"]
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "PGCONNECT_TIMEOUT": "3", "PGAPPNAME": "vetro"}
    if host is None:
        # What is done here is done again after a failure: it does not wait for replicas. Nor does it find functions of
        # owners of a database, whatever they set for that one.
        environment["PGOPTIONS"] = "-c synchronous_commit=local -c search_path=pg_catalog"
        words = ["runuser", "-u", "postgres", "--", *words, database]
    else:
        environment |= {"PGPASSWORD": password, "PGHOST": host, "PGUSER": "replicator"}
        words.append(database)
    try:
        done = subprocess.run(
            words, input=text, env=environment, cwd="/", capture_output=True, text=True, timeout=patience
        )
    except subprocess.TimeoutExpired:
        raise Refused(f"no answer within {patience} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise Refused(lines[0] if lines else f"psql ended with status {done.returncode}")
    return [line.split("\t") for line in done.stdout.splitlines()]


def value(text, **more):
    """The only value of an answer."""
    return sql(text, **more)[0][0]


def as_postgres(*words, **more):
    """Runs a program of PostgreSQL; what it says on failure is for people."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **more.pop("env", {})}
    done = subprocess.run(
        ["runuser", "-u", "postgres", "--", *words], cwd="/", env=environment, capture_output=True, **more
    )
    if done.returncode:
        tail = done.stderr.decode("utf-8", "replace").strip().splitlines()[-4:]
        raise Refused(f"{os.path.basename(words[0])} ended with status {done.returncode}: {' '.join(tail)}")
    return done.stdout


def systemctl(*words):
    return subprocess.run(["systemctl", *words], capture_output=True, text=True, check=False)


def running():
    return systemctl("is-active", "--quiet", SERVICE).returncode == 0


def ready(patience=120):
    """Waits until the database of this server takes connections, whatever it has to recover. Raises `Refused`."""
    end = time.monotonic() + patience
    while True:
        try:
            return value("SELECT pg_is_in_recovery()") == "t"
        except Refused as error:
            if time.monotonic() > end:
                raise Refused(f"the database takes no connections: {error}") from None
            time.sleep(0.1)


def control(key):
    """A line of pg_controldata."""
    said = as_postgres(f"{BIN}/pg_controldata", DATA).decode()
    return re.search(rf"^{re.escape(key)}:\s+(\S+)", said, re.MULTILINE).group(1)


def number(lsn):
    """A place in the log, as a number."""
    high, _, low = (lsn or "0/0").partition("/")
    return (int(high, 16) << 32) + int(low, 16)


# -- files -------------------------------------------------------------------------------------------------------------


def put(path, text, mode=0o640):
    """Whether a file of the configuration had to be written: owner root, readable for PostgreSQL."""
    try:
        with open(path, encoding="utf-8") as there:
            if there.read() == text:
                return False
    except FileNotFoundError:
        pass
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path + ".new")
    handle = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(handle, "w", encoding="utf-8") as out:
        out.write(text)
        shutil.chown(out.fileno(), "root", "postgres")
        os.fchmod(out.fileno(), mode)
        out.flush()
        os.fsync(out.fileno())
    os.rename(path + ".new", path)
    return True


def quoted(text):
    """A value of a configuration file or of SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def role_text(given):
    """Whom this server follows: whichever of the others is the primary, so nobody has to tell it after a change."""
    if not given["follows"]:
        return "# The primary.\n"
    hosts = [given["follows"], *(one["address"] for one in given["peers"] if one["address"] != given["follows"])]
    found = {"host": ",".join(hosts), "port": 5432, "user": "replicator", "password": given["replication"]}
    found |= {"application_name": given["name"], "connect_timeout": 2, "target_session_attrs": "read-write"}
    return "primary_conninfo = " + quoted(" ".join(f"{key}={word}" for key, word in found.items())) + "\n"


def sync_text(names):
    """Who has to have a commit before it is answered: any of these servers."""
    if not names:
        return "synchronous_standby_names = ''\n"
    listed = ", ".join('"' + name + '"' for name in sorted(names))
    return f"synchronous_standby_names = {quoted(f'ANY 1 ({listed})')}\n"


def home():
    """The folders above the data are PostgreSQL's. Within them root writes nothing, and follows no link: PostgreSQL may
    put there what it likes, and so may whoever took it over."""
    who, folder = pwd.getpwnam("postgres"), os.path.dirname(DATA)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    os.chown(os.path.dirname(folder), who.pw_uid, who.pw_gid, follow_symlinks=False)
    as_postgres("mkdir", "-p", folder)
    os.chown(folder, who.pw_uid, who.pw_gid, follow_symlinks=False)


def standby(folder=DATA):
    """From its next start on the server of these data follows."""
    as_postgres("touch", f"{folder}/standby.signal")
    as_postgres("sync", f"{folder}/standby.signal")


def crown(wanted):
    """Whether the next start as the primary needs nobody's answer."""
    if wanted:
        os.makedirs(os.path.dirname(CROWN), exist_ok=True)
        open(CROWN, "w", encoding="ascii").close()
    elif os.path.exists(CROWN):
        os.unlink(CROWN)


# -- becoming something ------------------------------------------------------------------------------------------------


def prepare(given):
    """Data and configuration are those of the role, before the service is started."""
    follows = given["follows"]
    group = {key: given[key] for key in ("name", "peers", "replication")}
    put(f"{CONFIG}/group.json", json.dumps(group, indent=1, sort_keys=True) + "\n", 0o600)
    changed = put(f"{CONFIG}/role.conf", role_text(given))
    if not os.path.exists(f"{CONFIG}/sync.conf"):
        put(f"{CONFIG}/sync.conf", sync_text(()))
    crown(follows is None)
    if not os.path.exists(f"{DATA}/PG_VERSION"):
        changed = True
        if follows:
            copy(given)
        elif given["begin"]:
            begin()
        else:
            raise SystemExit(f"{given['name']} is the primary and has no data: nothing is put in their place")
    elif follows and not os.path.exists(SIGNAL):
        changed = True
        rejoin(given)
    if not running():
        return {"changed": changed}
    pid = systemctl("show", "-p", "MainPID", "--value", SERVICE).stdout.strip()
    newer = os.readlink(f"/proc/{pid}/exe").endswith("(deleted)")
    if newer:
        print("a newer version is installed", file=sys.stderr)
    if newer or SERVICE in os.environ.get("VETRO_NOTIFIED", "").split():
        sql("CHECKPOINT")  # the next start, which comes at once, has little to do then
    elif changed:
        systemctl("reload", SERVICE)
    return {"changed": changed or newer, "notify": [SERVICE] if newer else []}


def begin():
    """A new, empty database."""
    home()
    as_postgres("rm", "-rf", DATA)
    words = ("--data-checksums", "--auth=peer", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8")
    as_postgres(f"{BIN}/initdb", "-D", DATA, *words)


def copy(given):
    """All data of the primary, in the place of what is here. It is here as a whole, or not at all."""
    heard(given)
    print(f"copying all data of {given['follows']}", file=sys.stderr)
    begun = f"{DATA}.new"
    home()
    as_postgres("rm", "-rf", DATA, begun)
    login = {"PGPASSWORD": given["replication"]}
    where = ["-h", given["follows"], "-U", "replicator", "--no-password", "-D", begun]
    as_postgres(f"{BIN}/pg_basebackup", *where, "-X", "stream", "-c", "fast", env=login)
    standby(begun)
    as_postgres("mv", "-T", begun, DATA)


def heard(given):
    """Nothing is given up here unless there is a primary that has it."""
    if value("SELECT pg_is_in_recovery()", host=given["follows"], password=given["replication"], patience=10) != "f":
        raise SystemExit(f"{given['follows']} is not the primary")


def rejoin(given):
    """A former primary goes back to where it parted from the present one; where it cannot, it is copied."""
    heard(given)
    systemctl("stop", SERVICE)
    source = f"host={given['follows']} user=replicator dbname=postgres connect_timeout=5"
    words = ["-D", DATA, f"--source-server={source}", f"--config-file={CONFIG}/postgresql.conf"]
    try:
        as_postgres(f"{BIN}/pg_rewind", *words, env={"PGPASSWORD": given["replication"]})
    except Refused as error:
        print(f"it cannot be rewound: {error}", file=sys.stderr)
        copy(given)
        return
    standby()


def apply(given):
    """The service runs: the primary is one and lets the others in, a replica follows."""
    recovering, changed = ready(), False
    if given["follows"]:
        if follows(given["follows"], 15):
            return {"changed": False}
        heard(given)
        systemctl("stop", SERVICE)
        copy(given)
        systemctl("start", SERVICE)
        ready()
        if not follows(given["follows"], 60):
            raise SystemExit(f"the primary {given['follows']} does not send its log")
        return {"changed": True}
    if recovering:
        rise(given)
        changed = True
    changed |= login("replicator", given["replication"], "REPLICATION")
    if value("SELECT pg_has_role('replicator', 'pg_monitor', 'member')") == "f":
        rights = "pg_ls_dir(text, boolean, boolean)", "pg_stat_file(text, boolean)", "pg_read_binary_file(text)"
        functions = ", ".join((*rights, "pg_read_binary_file(text, bigint, bigint, boolean)"))
        sql(f"GRANT pg_monitor TO replicator; GRANT EXECUTE ON FUNCTION {functions} TO replicator")
        changed = True
    return {"changed": changed}


def rise(given):
    """A replica becomes the primary; others have to confirm from its first row on."""
    crown(True)
    put(f"{CONFIG}/role.conf", role_text({"follows": None}))
    put(f"{CONFIG}/sync.conf", sync_text(given["synchronous"]))
    sql("SELECT pg_reload_conf()")
    if value("SELECT pg_promote(true, 60)", patience=90) != "t":
        raise SystemExit("it does not become the primary")
    print("became the primary", file=sys.stderr)


def follows(primary, patience):
    """Whether this replica gets the log of the primary, within so many seconds."""
    end = time.monotonic() + patience
    while True:
        found = sql("SELECT sender_host FROM pg_stat_wal_receiver WHERE status = 'streaming'")
        if found == [[primary]]:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.2)


def synchronize(given):
    """Commits wait for one of these replicas from now on; nobody who is not there is waited for."""
    changed = put(f"{CONFIG}/sync.conf", sync_text(given["synchronous"]))
    if changed:
        sql("SELECT pg_reload_conf()")
    return {"changed": changed}


def demote(given):
    """The database is stopped, and each of ``replicas`` has all that was written. Else it goes on as before."""
    if os.path.exists(SIGNAL):
        return {"changed": False}
    there = {row[0] for row in sql("SELECT application_name FROM pg_stat_replication WHERE state = 'streaming'")}
    if not given["replicas"]:
        raise SystemExit("no replica follows: nothing is changed")
    missing = sorted({one["name"] for one in given["replicas"]} - there)
    if missing:
        raise SystemExit(f"{', '.join(missing)} does not follow: nothing is changed")
    sql("CHECKPOINT")
    crown(False)
    systemctl("stop", SERVICE)  # it ends after its replicas have got all of its log
    standby()
    last, end = number(control("Latest checkpoint location")), time.monotonic() + 5
    behind = list(given["replicas"])
    while behind:
        behind = [one for one in behind if not has(one["address"], last, given["replication"])]
        if behind and time.monotonic() > end:
            as_postgres("rm", "-f", SIGNAL)
            crown(True)
            systemctl("start", SERVICE)
            raise SystemExit(f"{behind[0]['name']} lacks what was written last: nothing is changed")
    # It follows as soon as there is somebody to be followed.
    put(f"{CONFIG}/role.conf", role_text({**given, "follows": given["replicas"][0]["address"]}))
    systemctl("start", "--no-block", SERVICE)
    return {"changed": True}


def promote(given):
    """This replica is the primary from now on; what it writes is confirmed by ``synchronous``."""
    if ready():
        rise(given)
    return {"changed": True}


def has(address, lsn, password):
    try:
        found = value(
            "SELECT greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())", host=address, password=password
        )
    except Refused:
        return False
    return number(found) > lsn


def gate(given):
    """Ends with an error unless this server may start: as a replica, as the primary that a deployment made it, or when
    all others say that they follow and none of them knows a later primary."""
    if os.path.exists(SIGNAL) or os.path.exists(CROWN):
        return
    own = int(control("Latest checkpoint's TimeLineID"))
    for peer in given["peers"]:
        try:
            (recovering, timeline) = sql(
                "SELECT pg_is_in_recovery(), greatest((SELECT timeline_id FROM pg_control_checkpoint()),"
                " (SELECT min_recovery_end_timeline FROM pg_control_recovery()))",
                host=peer["address"],
                password=given["replication"],
                patience=5,
            )[0]
        except Refused as error:
            raise SystemExit(f"not started: {peer['name']} may be the primary, it does not answer ({error})") from None
        if recovering != "t":
            raise SystemExit(f"not started: {peer['name']} is the primary")
        if int(timeline) > own:
            raise SystemExit(f"not started: {peer['name']} has followed a later primary")


# -- databases and people ----------------------------------------------------------------------------------------------


def verifier(password, salt=None):
    """What the database keeps of a password (RFC 5803)."""
    salt = salt or secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 4096)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    told = [base64.b64encode(part).decode() for part in (salt, stored, hmac.digest(salted, b"Server Key", "sha256"))]
    return f"SCRAM-SHA-256$4096:{told[0]}${told[1]}:{told[2]}"


def login(name, password, more=""):
    """Whether a role with this password had to be made or changed."""
    found = sql(f"SELECT rolpassword FROM pg_authid WHERE rolname = {quoted(name)} AND rolcanlogin")
    if found:
        known = re.fullmatch(r"SCRAM-SHA-256\$4096:([^$]+)\$.*", found[0][0])
        if known and verifier(password, base64.b64decode(known.group(1))) == found[0][0]:
            return False
    there = sql(f"SELECT 1 FROM pg_roles WHERE rolname = {quoted(name)}")
    verb = "ALTER" if there else "CREATE"
    sql(f'{verb} ROLE "{name}" LOGIN {more} PASSWORD {quoted(verifier(password))}')
    return True


def named(name):
    """A name of a database. Raises `SystemExit` for one that is somebody else's."""
    if not _NAME.fullmatch(name) or name in RESERVED or name.startswith("pg_") or _TAKEN.fullmatch(name):
        raise SystemExit(f"no database can be called '{name}'")
    return name


def logins_of(name):
    """The names that logins of the owner of a database may have."""
    return (name, f"{name}_a", f"{name}_b")


def database(given):
    """A database is there, and its owner's logins are these."""
    name = named(given["database"])
    owner, users, changed = f"{name}_owner", {one["user"] for one in given["logins"]}, False
    if wrong := sorted(users - {*logins_of(name)}):
        raise SystemExit(f"'{wrong[0]}' is no login of the database '{name}'")
    if not sql(f"SELECT 1 FROM pg_database WHERE datname = '{name}'"):
        for one in logins_of(name):
            # An application that dropped its database has its logins still; it gets an empty one. A person does not.
            if sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{one}'") and not acts_as(one, owner):
                raise SystemExit(f"there is a user '{one}', who would get the database '{name}': nothing is changed")
    if not sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{owner}'"):
        sql(f'CREATE ROLE "{owner}" NOLOGIN')
        changed = True
    if not sql(f"SELECT 1 FROM pg_database WHERE datname = '{name}'"):
        sql(f'CREATE DATABASE "{name}" OWNER "{owner}"')
        changed = True
    changed |= opened(name)
    for one in given["logins"]:
        changed |= login(one["user"], one["password"])
        changed |= member(one["user"], owner)
    for old in {*logins_of(name)} - users:
        if sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{old}'"):
            gone(old)
            changed = True
    return {"changed": changed}


def acts_as(user, owner):
    """Whether a user was made a member of an owner by this script: only the superuser can."""
    member = "pg_auth_members JOIN pg_roles m ON m.oid = member JOIN pg_roles o ON o.oid = roleid"
    return bool(sql(f"SELECT 1 FROM {member} WHERE m.rolname = '{user}' AND o.rolname = '{owner}'"))


def opened(name):
    """Whether a database had to be closed to everybody but its owner."""
    if value(f"SELECT has_database_privilege('public', '{name}', 'connect')") == "f":
        return False
    sql(f'REVOKE ALL ON DATABASE "{name}" FROM PUBLIC; GRANT ALL ON DATABASE "{name}" TO "{name}_owner"')
    return True


def member(user, owner):
    """Whether a user had to be made one who acts as the owner: what it makes belongs to all logins of the owner."""
    if value(f"SELECT pg_has_role('{user}', '{owner}', 'member')") == "t":
        return False
    sql(f'GRANT "{owner}" TO "{user}"; ALTER ROLE "{user}" SET role = \'{owner}\'')
    return True


def gone(user):
    """A role is no more, nor is who was logged in with it. What it made belongs to the owners of the databases then."""
    sql(f'ALTER ROLE "{user}" NOLOGIN')
    sql(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '{user}'")
    roles = {row[0] for row in sql("SELECT rolname FROM pg_roles")}
    for (one,) in sql("SELECT datname FROM pg_database WHERE datallowconn"):
        heir = re.sub("_(restored|replaced)$", "", one) + "_owner"
        # Never to the superuser: a function of theirs would run with its rights.
        given = f'REASSIGN OWNED BY "{user}" TO "{heir}"; ' if heir in roles and heir != user else ""
        sql(f'{given}DROP OWNED BY "{user}"', database=one)
    sql(f'DROP ROLE "{user}"')


def drop(given):
    """A database is gone, and so are the logins of its owner."""
    name = named(given["database"])
    there = sql(f"SELECT 1 FROM pg_database WHERE datname = '{name}'")
    if there:
        sql(f'DROP DATABASE "{name}" WITH (FORCE)')
    for user in (*logins_of(name), f"{name}_owner"):
        if sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{user}'"):
            gone(user)
    return {"changed": bool(there)}


# -- how it is ---------------------------------------------------------------------------------------------------------


def status(given):
    """What is to be known of this server."""
    found = sql(
        "SELECT pg_is_in_recovery(), current_setting('server_version'), (SELECT count(*) FROM pg_stat_activity WHERE"
        " backend_type = 'client backend'), (SELECT sum(pg_database_size(oid)) FROM pg_database),"
        " current_setting('synchronous_standby_names')"
    )[0]
    told = {"version": found[1].split()[0], "connections": int(found[2]) - 1, "size": int(found[3])}
    if found[0] == "t":
        linked = sql("SELECT 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'")
        return {"role": "replica", **told, "linked": bool(linked)}
    rows = sql("SELECT application_name FROM pg_stat_replication WHERE state = 'streaming' ORDER BY 1")
    return {"role": "primary", **told, "followers": [row[0] for row in rows], "synchronous": found[4]}


COMMANDS = (prepare, apply, synchronize, demote, promote, database, drop, status)


def main():
    name = sys.argv[1]
    try:
        if name == "gate":
            with open(f"{CONFIG}/group.json", encoding="utf-8") as file:
                gate(json.load(file))
        else:
            json.dump({one.__name__: one for one in COMMANDS}[name](json.load(sys.stdin)), sys.stdout)
    except Refused as error:
        sys.exit(f"PostgreSQL: {error}")


if __name__ == "__main__":
    main()
