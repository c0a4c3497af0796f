"""Databases of applications, their logins, and people who may use them."""

import base64
import hashlib
import hmac
import re
import secrets

import postgresql_sql as pg

#: What one can be called who is not somebody else already.
RESERVED = {"postgres", "replicator", "prometheus", "template0", "template1", "public", "none"}
NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
#: What names of databases do not end with: logins, owners, and databases under way have them.
_TAKEN = re.compile(r".*_(a|b|owner|restored|replaced)")


def verifier(password, salt=None):
    """What the database keeps of a password (RFC 5803)."""
    salt = salt or secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 4096)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    told = [base64.b64encode(part).decode() for part in (salt, stored, hmac.digest(salted, b"Server Key", "sha256"))]
    return f"SCRAM-SHA-256$4096:{told[0]}${told[1]}:{told[2]}"


def login(name, password, more=""):
    """Whether a role with this password had to be made or changed."""
    found = pg.sql(f"SELECT rolpassword FROM pg_authid WHERE rolname = {pg.quoted(name)} AND rolcanlogin")
    if found:
        known = re.fullmatch(r"SCRAM-SHA-256\$4096:([^$]+)\$.*", found[0][0])
        if known and verifier(password, base64.b64decode(known.group(1))) == found[0][0]:
            return False
    there = pg.sql(f"SELECT 1 FROM pg_roles WHERE rolname = {pg.quoted(name)}")
    verb = "ALTER" if there else "CREATE"
    pg.sql(f'{verb} ROLE "{name}" LOGIN {more} PASSWORD {pg.quoted(verifier(password))}')
    return True


def named(name):
    """A name of a database. Raises `SystemExit` for one that is somebody else's."""
    if not NAME.fullmatch(name) or name in RESERVED or name.startswith("pg_") or _TAKEN.fullmatch(name):
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
    if not pg.sql(f"SELECT 1 FROM pg_database WHERE datname = '{name}'"):
        for one in logins_of(name):
            # An application that dropped its database has its logins still; it gets an empty one. A person does not.
            if pg.sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{one}'") and not acts_as(one, owner):
                raise SystemExit(f"there is a user '{one}', who would get the database '{name}': nothing is changed")
    if not pg.sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{owner}'"):
        pg.sql(f'CREATE ROLE "{owner}" NOLOGIN')
        changed = True
    if not pg.sql(f"SELECT 1 FROM pg_database WHERE datname = '{name}'"):
        pg.sql(f'CREATE DATABASE "{name}" OWNER "{owner}"')
        changed = True
    changed |= opened(name)
    for one in given["logins"]:
        changed |= login(one["user"], one["password"])
        changed |= member(one["user"], owner)
    for old in {*logins_of(name)} - users:
        if pg.sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{old}'"):
            gone(old)
            changed = True
    return {"changed": changed}


def acts_as(user, owner):
    """Whether a user was made a member of an owner by this script: only the superuser can."""
    member = "pg_auth_members JOIN pg_roles m ON m.oid = member JOIN pg_roles o ON o.oid = roleid"
    return bool(pg.sql(f"SELECT 1 FROM {member} WHERE m.rolname = '{user}' AND o.rolname = '{owner}'"))


def opened(name):
    """Whether a database had to be closed to everybody but its owner."""
    if pg.value(f"SELECT has_database_privilege('public', '{name}', 'connect')") == "f":
        return False
    pg.sql(f'REVOKE ALL ON DATABASE "{name}" FROM PUBLIC; GRANT ALL ON DATABASE "{name}" TO "{name}_owner"')
    return True


def member(user, owner):
    """Whether a user had to be made one who acts as the owner: what it makes belongs to all logins of the owner."""
    if pg.value(f"SELECT pg_has_role('{user}', '{owner}', 'member')") == "t":
        return False
    pg.sql(f'GRANT "{owner}" TO "{user}"; ALTER ROLE "{user}" SET role = \'{owner}\'')
    return True


def gone(user):
    """A role is no more, nor is who was logged in with it. What it made belongs to the owners of the databases then."""
    pg.sql(f'ALTER ROLE "{user}" NOLOGIN')
    pg.sql(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '{user}'")
    roles = {row[0] for row in pg.sql("SELECT rolname FROM pg_roles")}
    for (one,) in pg.sql("SELECT datname FROM pg_database WHERE datallowconn"):
        heir = re.sub("_(restored|replaced)$", "", one) + "_owner"
        # Never to the superuser: a function of theirs would run with its rights.
        given = f'REASSIGN OWNED BY "{user}" TO "{heir}"; ' if heir in roles and heir != user else ""
        pg.sql(f'{given}DROP OWNED BY "{user}"', database=one)
    pg.sql(f'DROP ROLE "{user}"')


def drop(given):
    """A database is gone, and so are the logins of its owner."""
    name = named(given["database"])
    there = pg.sql(f"SELECT 1 FROM pg_database WHERE datname = '{name}'")
    if there:
        pg.sql(f'DROP DATABASE "{name}" WITH (FORCE)')
    for user in (*logins_of(name), f"{name}_owner"):
        if pg.sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{user}'"):
            gone(user)
    return {"changed": bool(there)}


def person(name):
    """A name of somebody who is no application. Raises `SystemExit` for one that is somebody else's."""
    if not NAME.fullmatch(name) or name in RESERVED or name.startswith("pg_") or name.endswith("_owner"):
        raise SystemExit(f"nobody can be called '{name}'")
    # Who dropped its own database is an application still: its owner stays.
    owners = "SELECT left(rolname, -6) FROM pg_roles WHERE rolname ~ '_owner$'"
    for (one,) in pg.sql(f"SELECT datname FROM pg_database WHERE NOT datistemplate UNION {owners}"):
        if name in logins_of(one):
            raise SystemExit(f"'{name}' is the user of an application, that of the database '{one}'")
    return name


def user(given):
    """A person may use a database, to read only or as its owner does."""
    name, of = person(given["user"]), named(given["database"])
    if not pg.sql(f"SELECT 1 FROM pg_database WHERE datname = '{of}'"):
        raise SystemExit(f"there is no database '{of}'")
    login(name, given["password"])
    if given["readOnly"]:
        pg.sql(f'GRANT CONNECT ON DATABASE "{of}" TO "{name}"')
        pg.sql(
            f'GRANT USAGE ON SCHEMA public TO "{name}"; GRANT SELECT ON ALL TABLES IN SCHEMA public TO "{name}";'
            f' ALTER DEFAULT PRIVILEGES FOR ROLE "{of}_owner" GRANT SELECT ON TABLES TO "{name}"',
            database=of,
        )
    else:
        member(name, f"{of}_owner")
    return {"changed": True}


def remove(given):
    """A person may not use any database any more."""
    name = person(given["user"])
    if not pg.sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{name}' AND rolcanlogin"):
        raise SystemExit(f"there is no user '{name}'")
    gone(name)
    return {"changed": True}


def listed(given):
    """Databases with their sizes, and who may log in to each."""
    found = []
    for name, size in pg.sql(
        "SELECT datname, pg_database_size(datname) FROM pg_database WHERE NOT datistemplate ORDER BY 1"
    ):
        if name == "postgres" or _TAKEN.fullmatch(name):
            continue
        rows = pg.sql(
            "SELECT rolname FROM pg_roles WHERE rolcanlogin AND NOT rolsuper"
            " AND rolname NOT IN ('replicator', 'prometheus')"
            f" AND has_database_privilege(rolname, '{name}', 'connect') ORDER BY 1"
        )
        found.append({"name": name, "size": int(size), "users": [row[0] for row in rows]})
    return found
