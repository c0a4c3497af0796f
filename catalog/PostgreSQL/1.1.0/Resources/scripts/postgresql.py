#!/usr/bin/python3 -BEs
"""What is done at a server of PostgreSQL, as root: ``COMMANDS`` at the end of the file.

A command gets its input as JSON; of all of them: ``name`` of this server, ``peers`` ({name, address} of the others) and
``replication``, the password with which servers of the group speak to each other. No password is ever a word of a
command line, and none reaches a log: the database gets verifiers.

A server that was the primary never starts as one by itself while another one may have taken over: `gate`.
"""

import contextlib
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import time

import postgresql_backup as backup
import postgresql_people as people
import postgresql_sql as pg

DATA = "/var/lib/postgresql/15/main"
CONFIG = "/etc/vetro-postgresql"
SERVICE = "vetro-postgresql"
#: Says that a deployment made this server the primary; it does not outlive a start of the server.
CROWN = "/run/vetro-postgresql/primary"
SIGNAL = f"{DATA}/standby.signal"


# -- how it runs -------------------------------------------------------------------------------------------------------


def systemctl(*words):
    return subprocess.run(["systemctl", *words], capture_output=True, text=True, check=False)


def running():
    return systemctl("is-active", "--quiet", SERVICE).returncode == 0


def ready(patience=120):
    """Waits until the database of this server takes connections, whatever it has to recover. Raises `Refused`."""
    end = time.monotonic() + patience
    while True:
        try:
            return pg.value("SELECT pg_is_in_recovery()") == "t"
        except pg.Refused as error:
            if time.monotonic() > end:
                raise pg.Refused(f"the database takes no connections: {error}") from None
            time.sleep(0.1)


def control(key):
    """A line of pg_controldata."""
    said = pg.as_postgres(f"{pg.BIN}/pg_controldata", DATA).decode()
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


def role_text(given):
    """Whom this server follows: whichever of the others is the primary, so nobody has to tell it after a change."""
    if not given["follows"]:
        return "# The primary.\n"
    hosts = [given["follows"], *(one["address"] for one in given["peers"] if one["address"] != given["follows"])]
    found = {"host": ",".join(hosts), "port": 5432, "user": "replicator", "password": given["replication"]}
    found |= {"application_name": given["name"], "connect_timeout": 2, "target_session_attrs": "read-write"}
    return "primary_conninfo = " + pg.quoted(" ".join(f"{key}={word}" for key, word in found.items())) + "\n"


def sync_text(names):
    """Who has to have a commit before it is answered: any of these servers."""
    if not names:
        return "synchronous_standby_names = ''\n"
    listed = ", ".join('"' + name + '"' for name in sorted(names))
    return f"synchronous_standby_names = {pg.quoted(f'ANY 1 ({listed})')}\n"


def home():
    """The folders above the data are PostgreSQL's. Within them root writes nothing, and follows no link: PostgreSQL may
    put there what it likes, and so may whoever took it over."""
    who, folder = pwd.getpwnam("postgres"), os.path.dirname(DATA)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    os.chown(os.path.dirname(folder), who.pw_uid, who.pw_gid, follow_symlinks=False)
    pg.as_postgres("mkdir", "-p", folder)
    os.chown(folder, who.pw_uid, who.pw_gid, follow_symlinks=False)


def standby(folder=DATA):
    """From its next start on the server of these data follows."""
    pg.as_postgres("touch", f"{folder}/standby.signal")
    pg.as_postgres("sync", f"{folder}/standby.signal")


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
        pg.sql("CHECKPOINT")  # the next start, which comes at once, has little to do then
    elif changed:
        systemctl("reload", SERVICE)
    return {"changed": changed or newer, "notify": [SERVICE] if newer else []}


def begin():
    """A new, empty database."""
    home()
    pg.as_postgres("rm", "-rf", DATA)
    words = ("--data-checksums", "--auth=peer", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8")
    pg.as_postgres(f"{pg.BIN}/initdb", "-D", DATA, *words)


def copy(given):
    """All data of the primary, in the place of what is here. It is here as a whole, or not at all."""
    heard(given)
    print(f"copying all data of {given['follows']}", file=sys.stderr)
    begun = f"{DATA}.new"
    home()
    pg.as_postgres("rm", "-rf", DATA, begun)
    login = {"PGPASSWORD": given["replication"]}
    where = ["-h", given["follows"], "-U", "replicator", "--no-password", "-D", begun]
    pg.as_postgres(f"{pg.BIN}/pg_basebackup", *where, "-X", "stream", "-c", "fast", env=login)
    standby(begun)
    pg.as_postgres("mv", "-T", begun, DATA)


def heard(given):
    """Nothing is given up here unless there is a primary that has it."""
    if told(given, "SELECT pg_is_in_recovery()") != "f":
        raise SystemExit(f"{given['follows']} is not the primary")


def parted(given, patience=60):
    """Whether the control file of the primary says that its timeline has begun. Until its first checkpoint as one it
    does not, and pg_rewind takes both for the same and goes back to nowhere."""
    end = time.monotonic() + patience
    while True:
        if int(told(given, "SELECT timeline_id FROM pg_control_checkpoint()")) == timeline(given):
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.5)


def timeline(given):
    """The timeline that the primary writes."""
    return int(told(given, "SELECT pg_walfile_name(pg_current_wal_lsn())")[:8], 16)


def told(given, question):
    """What the primary answers."""
    return pg.value(question, host=given["follows"], password=given["replication"], patience=10)


def rejoin(given):
    """A former primary goes back to where it parted from the present one; where it cannot, it is copied."""
    heard(given)
    systemctl("stop", SERVICE)
    if not parted(given):
        print("the primary has not made a checkpoint yet", file=sys.stderr)
        copy(given)
        return
    source = f"host={given['follows']} user=replicator dbname=postgres connect_timeout=5"
    words = ["-D", DATA, f"--source-server={source}", f"--config-file={CONFIG}/postgresql.conf"]
    try:
        pg.as_postgres(f"{pg.BIN}/pg_rewind", *words, env={"PGPASSWORD": given["replication"]})
    except pg.Refused as error:
        print(f"it cannot be rewound: {error}", file=sys.stderr)
        copy(given)
        return
    standby()


def apply(given):
    """The service runs: the primary is one and lets the others in, a replica follows."""
    recovering, changed = ready(), False
    if given["follows"]:
        if follows(given, 15):
            return {"changed": False}
        heard(given)
        systemctl("stop", SERVICE)
        copy(given)
        systemctl("start", SERVICE)
        ready()
        if not follows(given, 60):
            raise SystemExit(f"the primary {given['follows']} does not send its log")
        return {"changed": True}
    if recovering:
        rise(given)
        changed = True
    changed |= people.login("replicator", given["replication"], "REPLICATION")
    if pg.value("SELECT pg_has_role('replicator', 'pg_monitor', 'member')") == "f":
        rights = "pg_ls_dir(text, boolean, boolean)", "pg_stat_file(text, boolean)", "pg_read_binary_file(text)"
        functions = ", ".join((*rights, "pg_read_binary_file(text, bigint, bigint, boolean)"))
        pg.sql(f"GRANT pg_monitor TO replicator; GRANT EXECUTE ON FUNCTION {functions} TO replicator")
        changed = True
    if not pg.sql("SELECT 1 FROM pg_roles WHERE rolname = 'prometheus'"):
        pg.sql("CREATE ROLE prometheus LOGIN; GRANT pg_monitor TO prometheus")
        changed = True
    return {"changed": changed}


def rise(given):
    """A replica becomes the primary; others have to confirm from its first row on."""
    crown(True)
    put(f"{CONFIG}/role.conf", role_text({"follows": None}))
    put(f"{CONFIG}/sync.conf", sync_text(given["synchronous"]))
    pg.sql("SELECT pg_reload_conf()")
    if pg.value("SELECT pg_promote(true, 60)", patience=90) != "t":
        raise SystemExit("it does not become the primary")
    with contextlib.suppress(pg.Refused):  # it takes too long: whoever wants to rewind waits, or copies
        pg.sql("CHECKPOINT", patience=300)  # who rewinds to this server asks its control file where they parted
    print("became the primary", file=sys.stderr)


def follows(given, patience):
    """Whether this replica gets the log of the primary, within so many seconds.

    What the primary had before it became one it sends to anybody, also to who went another way since and can never
    follow: only its own timeline counts.
    """
    end = time.monotonic() + patience
    while True:
        found = pg.sql("SELECT sender_host, received_tli FROM pg_stat_wal_receiver WHERE status = 'streaming'")
        with contextlib.suppress(pg.Refused):  # it is away for a moment
            if found == [[given["follows"], str(timeline(given))]]:
                return True
        if time.monotonic() > end:
            return False
        time.sleep(0.2)


def synchronize(given):
    """Commits wait for one of these replicas from now on; nobody who is not there is waited for."""
    changed = put(f"{CONFIG}/sync.conf", sync_text(given["synchronous"]))
    if changed:
        pg.sql("SELECT pg_reload_conf()")
    return {"changed": changed}


def demote(given):
    """The database is stopped, and each of ``replicas`` has all that was written. Else it goes on as before."""
    if os.path.exists(SIGNAL):
        return {"changed": False}
    there = {row[0] for row in pg.sql("SELECT application_name FROM pg_stat_replication WHERE state = 'streaming'")}
    if not given["replicas"]:
        raise SystemExit("no replica follows: nothing is changed")
    missing = sorted({one["name"] for one in given["replicas"]} - there)
    if missing:
        raise SystemExit(f"{', '.join(missing)} does not follow: nothing is changed")
    pg.sql("CHECKPOINT")
    crown(False)
    systemctl("stop", SERVICE)  # it ends after its replicas have got all of its log
    standby()
    last, end = number(control("Latest checkpoint location")), time.monotonic() + 5
    behind = list(given["replicas"])
    while behind:
        behind = [one for one in behind if not has(one["address"], last, given["replication"])]
        if behind and time.monotonic() > end:
            pg.as_postgres("rm", "-f", SIGNAL)
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
        found = pg.value(
            "SELECT greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())", host=address, password=password
        )
    except pg.Refused:
        return False
    return number(found) > lsn


def position(given):
    """How much of the log this replica has."""
    found = pg.sql(
        "SELECT pg_is_in_recovery(), greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()),"
        " greatest((SELECT timeline_id FROM pg_control_checkpoint()),"
        " (SELECT min_recovery_end_timeline FROM pg_control_recovery()))"
    )[0]
    if found[0] != "t":
        raise SystemExit("it is a primary")
    return {"log": number(found[1]), "timeline": int(found[2])}


def gate(given):
    """Ends with an error unless this server may start: as a replica, as the primary that a deployment made it, or when
    all others say that they follow and none of them knows a later primary."""
    if os.path.exists(SIGNAL) or os.path.exists(CROWN):
        return
    own = int(control("Latest checkpoint's TimeLineID"))
    for peer in given["peers"]:
        try:
            (recovering, timeline) = pg.sql(
                "SELECT pg_is_in_recovery(), greatest((SELECT timeline_id FROM pg_control_checkpoint()),"
                " (SELECT min_recovery_end_timeline FROM pg_control_recovery()))",
                host=peer["address"],
                password=given["replication"],
                patience=5,
            )[0]
        except pg.Refused as error:
            raise SystemExit(f"not started: {peer['name']} may be the primary, it does not answer ({error})") from None
        if recovering != "t":
            raise SystemExit(f"not started: {peer['name']} is the primary")
        if int(timeline) > own:
            raise SystemExit(f"not started: {peer['name']} has followed a later primary")


# -- how it is ---------------------------------------------------------------------------------------------------------


def status(given):
    """What is to be known of this server."""
    found = pg.sql(
        "SELECT pg_is_in_recovery(), current_setting('server_version'), (SELECT count(*) FROM pg_stat_activity WHERE"
        " backend_type = 'client backend'), (SELECT sum(pg_database_size(oid)) FROM pg_database),"
        " current_setting('synchronous_standby_names')"
    )[0]
    told = {"version": found[1].split()[0], "connections": int(found[2]) - 1, "size": int(found[3])}
    if found[0] == "t":
        linked = pg.sql("SELECT 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'")
        return {"role": "replica", **told, "linked": bool(linked)}
    rows = pg.sql("SELECT application_name FROM pg_stat_replication WHERE state = 'streaming' ORDER BY 1")
    return {"role": "primary", **told, "followers": [row[0] for row in rows], "synchronous": found[4]}


COMMANDS = (
    *(prepare, apply, synchronize, demote, promote, position),
    *(people.database, people.drop, people.user, people.remove, people.listed),
    *(backup.save, backup.restore, status),
)


def main():
    name = sys.argv[1]
    try:
        if name == "gate":
            with open(f"{CONFIG}/group.json", encoding="utf-8") as file:
                gate(json.load(file))
        else:
            json.dump({one.__name__: one for one in COMMANDS}[name](json.load(sys.stdin)), sys.stdout)
    except pg.Refused as error:
        sys.exit(f"PostgreSQL: {error}")


if __name__ == "__main__":
    main()
