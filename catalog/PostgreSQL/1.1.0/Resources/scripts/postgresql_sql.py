"""Speaking with PostgreSQL: as the superuser of this server, or with another one as the replicator."""

import os
import subprocess

BIN = "/usr/lib/postgresql/15/bin"


class Refused(Exception):
    """The database answered with an error."""


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


def quoted(text):
    """A value of a configuration file or of SQL."""
    return "'" + str(text).replace("'", "''") + "'"
