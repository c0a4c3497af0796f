"""All databases of PostgreSQL into a file, and back."""

import contextlib
import io
import json
import os
import re
import secrets
import shutil
import subprocess
import tarfile
import tempfile

import postgresql_people as people
import postgresql_sql as pg

#: Who writes a backup back. Its name begins like that of nobody else.
RESTORER = "_vetro_restorer"
_VERIFIER = re.compile(r"SCRAM-SHA-256\$[0-9]{1,9}:[A-Za-z0-9+/=]{1,200}\$[A-Za-z0-9+/=]{1,100}:[A-Za-z0-9+/=]{1,100}")


def save(given):
    """All databases and roles, as one file, which nobody else reads."""
    os.umask(0o077)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(given["path"]), prefix=".new-") as folder:
        known = json.dumps(roles()).encode()
        with tarfile.open(given["path"], "w") as out:
            info = tarfile.TarInfo("roles.json")
            info.size = len(known)
            out.addfile(info, io.BytesIO(known))
            for one in people.listed(given):
                path = os.path.join(folder, one["name"])
                with open(path, "wb") as file:
                    words = ["runuser", "-u", "postgres", "--", f"{pg.BIN}/pg_dump", "-Fc", "-d", one["name"]]
                    done = subprocess.run(words, stdout=file, stderr=subprocess.PIPE, cwd="/", check=False)
                if done.returncode:
                    raise SystemExit(done.stderr.decode("utf-8", "replace"))
                out.add(path, f"databases/{one['name']}")
                os.unlink(path)
    return {"changed": True}


def roles():
    """Owners, their logins and people: by name the verifier, whom they act as, and which databases they may read. Not
    as statements: what people set for themselves could be some that the superuser would run."""
    found = {}
    for name, known in pg.sql("SELECT rolname, coalesce(rolpassword, '') FROM pg_authid WHERE NOT rolsuper"):
        if people.NAME.fullmatch(name) and name not in people.RESERVED and not name.startswith("pg_"):
            found[name] = {"verifier": known, "acts": [], "reads": []}
    members = "pg_auth_members JOIN pg_roles m ON m.oid = member JOIN pg_roles o ON o.oid = roleid"
    reads = "pg_database, aclexplode(datacl) JOIN pg_roles r ON r.oid = grantee WHERE privilege_type = 'CONNECT'"
    for key, rows in (
        ("acts", f"SELECT m.rolname, o.rolname FROM {members}"),
        ("reads", f"SELECT r.rolname, datname FROM {reads}"),
    ):
        for name, of in pg.sql(rows):
            if name in found:
                found[name][key].append(of)
    return found


def restore(given):
    """Brings back the databases of a backup, each beside the present one, which goes when that is whole."""
    if not tarfile.is_tarfile(given["path"]):
        raise SystemExit("the file is no backup of PostgreSQL")
    restored = []
    with tarfile.open(given["path"]) as file:
        if "roles.json" not in file.getnames():
            raise SystemExit("the file is no backup of PostgreSQL")
        saved = json.load(file.extractfile("roles.json"))
        entries = [one for one in file.getmembers() if one.name.startswith("databases/")]
        names = [people.named(one.name.partition("/")[2]) for one in entries]
        old = missing_roles(saved, names)
        try:
            for name, entry in zip(names, entries):
                load(name, file.extractfile(entry))
                replace(name, f"{name}_restored")
                for user, one in saved.items():
                    if name in one["reads"] and user != f"{name}_owner" and there(user):
                        pg.sql(f'GRANT CONNECT ON DATABASE "{name}" TO "{user}"')
                restored.append(name)
        finally:
            for user in old:
                people.gone(user)
    return {"changed": True, "databases": restored}


def load(name, data):
    """A database of a backup, beside the one that is there. What is in it was written by its owner, and may run while
    it is loaded: in default values, checks, indexes. So it is loaded by somebody who may do what the owner may, who is
    not the superuser in disguise (a session of that one could become it again), and who is gone afterwards."""
    new, owner, password = f"{name}_restored", f"{name}_owner", secrets.token_urlsafe(32)
    pg.sql(f'DROP DATABASE IF EXISTS "{new}" WITH (FORCE)')
    pg.sql(f'CREATE DATABASE "{new}" OWNER "{owner}"')
    pg.sql(f'REVOKE ALL ON DATABASE "{new}" FROM PUBLIC; GRANT ALL ON DATABASE "{new}" TO "{owner}"')
    try:
        if there(RESTORER):
            people.gone(RESTORER)
        people.login(RESTORER, password)
        people.member(RESTORER, owner)
        words = [f"{pg.BIN}/pg_restore", "--exit-on-error", "--no-owner", f"--role={owner}", "-d", new]
        words += ["-h", "127.0.0.1", "-U", RESTORER, "--no-password"]
        about = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "PGPASSWORD": password}
        about["PGOPTIONS"] = "-c synchronous_commit=local"
        with data, tempfile.TemporaryFile() as said:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": said, "cwd": "/"}
            words = ["runuser", "-u", "nobody", "--", *words]
            # Who ends early says why.
            with contextlib.suppress(BrokenPipeError), subprocess.Popen(words, env=about, **pipes) as child:
                shutil.copyfileobj(data, child.stdin)
            if child.returncode:
                said.seek(max(0, said.tell() - 2000))
                raise SystemExit(f"the database '{name}' stays as it is: {said.read().decode('utf-8', 'replace')}")
    except BaseException:
        pg.sql(f'DROP DATABASE "{new}" WITH (FORCE)')
        raise
    finally:
        if there(RESTORER):
            people.gone(RESTORER)


def replace(name, new):
    """One database takes the place of another one; whoever is connected has to connect again."""
    if pg.sql(f"SELECT 1 FROM pg_database WHERE datname = '{name}'"):
        old = f"{name}_replaced"
        pg.sql(f'DROP DATABASE IF EXISTS "{old}" WITH (FORCE)')
        pg.sql(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS false')
        pg.sql(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}'")
        pg.sql(f'ALTER DATABASE "{name}" RENAME TO "{old}"; ALTER DATABASE "{new}" RENAME TO "{name}"')
        pg.sql(f'DROP DATABASE "{old}" WITH (FORCE)')
    else:
        pg.sql(f'ALTER DATABASE "{new}" RENAME TO "{name}"')


def there(role):
    """Whether somebody is called this."""
    return bool(pg.sql(f"SELECT 1 FROM pg_roles WHERE rolname = {pg.quoted(role)}"))


def missing_roles(saved, names):
    """Makes the roles of a backup that are not there; those that are there keep their passwords. Gives the logins of
    the owners of databases among them, which are back for the restore only: a password that was changed stays so."""
    logins, brief = {login for name in names for login in people.logins_of(name)}, []
    for name in names:
        if not there(f"{name}_owner"):
            pg.sql(f'CREATE ROLE "{name}_owner" NOLOGIN')
    for name, one in saved.items():
        if not people.NAME.fullmatch(name) or name in people.RESERVED or name.startswith("pg_") or there(name):
            continue
        if name in logins or not _VERIFIER.fullmatch(one["verifier"]):
            pg.sql(f'CREATE ROLE "{name}" NOLOGIN')
            brief += [name] if name in logins else []
            continue
        pg.sql(f"CREATE ROLE \"{name}\" LOGIN PASSWORD '{one['verifier']}'")
        for owner in {f"{of}_owner" for of in names} & {*one["acts"]}:
            people.member(name, owner)
    return sorted(brief)
