"""Speaking with MariaDB, that of this server as root through its socket, or another one with a login."""

import os
import re
import subprocess

SYSTEM = {"information_schema", "performance_schema", "mysql", "sys"}
_ESCAPED = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\"}


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


def databases():
    """Names of all databases but MariaDB's own."""
    return [name for (name,) in sql("SHOW DATABASES;") if name not in SYSTEM]
