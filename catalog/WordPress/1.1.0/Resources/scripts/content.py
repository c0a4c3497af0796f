#!/usr/bin/python3 -I
"""What a site holds, as one archive: ``save`` and ``restore`` its database and the files that people uploaded."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

CONTENT = "/var/lib/wordpress/wp-content"
DUMP = "database.sql"
PARTS = ("uploads", "plugins", "themes")


def client(program, login, *words):
    """A program of MariaDB that speaks with the site's database."""
    argv = [program, "--host", login["host"], "--port", str(login["port"]), "--user", login["user"], *words]
    return {"args": [*argv, login["database"]], "env": {**os.environ, "MYSQL_PWD": login["password"]}}


def save(given):
    """The database as SQL, and the files beside it."""
    with tarfile.open(given["path"], "w:gz", compresslevel=4) as out, tempfile.TemporaryFile() as dump:
        words = ("--single-transaction", "--quick", "--hex-blob", "--skip-dump-date", "--no-tablespaces")
        done = subprocess.run(stdout=dump, check=False, **client("mariadb-dump", given["login"], *words))
        if done.returncode != 0:
            raise SystemExit("the database could not be read")
        info = tarfile.TarInfo(DUMP)
        info.size = dump.tell()
        dump.seek(0)
        out.addfile(info, dump)
        for part in PARTS:
            out.add(os.path.join(CONTENT, part), part, filter=lambda one: one if one.isdir() or one.isfile() else None)
    return {"changed": True}


def restore(given):
    """All of it as it was: tables and files that came later go."""
    login = given["login"]
    folder = tempfile.mkdtemp(dir=CONTENT, prefix=".restore-")
    try:
        with tarfile.open(given["path"]) as archive:
            if DUMP not in archive.getnames():
                raise SystemExit("the file is no backup of WordPress")
            for member in archive.getmembers():
                if member.name.startswith("/") or ".." in member.name.split("/"):
                    raise SystemExit(f"the backup holds '{member.name}', which would lie outside of it")
            archive.extractall(folder, [one for one in archive.getmembers() if one.isdir() or one.isfile()])
        tables = subprocess.run(
            input="SHOW TABLES;", capture_output=True, text=True, check=True, **client("mariadb", login, "-BN")
        ).stdout.split()
        if wrong := [one for one in tables if not re.fullmatch("[A-Za-z0-9_$]+", one)]:
            raise SystemExit(f"there is a table with the name '{wrong[0]}', which is left alone: nothing is changed")
        head = "SET foreign_key_checks = 0;" + "".join(f"DROP TABLE `{one}`;" for one in tables)
        with open(os.path.join(folder, DUMP), "rb") as dump:
            load = subprocess.Popen(stdin=subprocess.PIPE, **client("mariadb", login, "--binary-mode"))
            try:
                load.stdin.write(head.encode() + b"\n")
                shutil.copyfileobj(io.BufferedReader(dump), load.stdin, 1 << 20)
                load.stdin.close()
            except BrokenPipeError:
                pass  # it says why
        if load.wait() != 0:
            raise SystemExit("the database could not be written")
        for part in PARTS:
            replace(os.path.join(folder, part), os.path.join(CONTENT, part))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"changed": True}


def replace(new, old):
    """What is in a folder is what is in the other one; links that Debian's packages made stay."""
    for name in os.listdir(old):
        path = os.path.join(old, name)
        if os.path.islink(path):
            continue
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    for name in os.listdir(new) if os.path.isdir(new) else ():
        if not os.path.lexists(os.path.join(old, name)):
            shutil.move(os.path.join(new, name), os.path.join(old, name))
    for at, folders, files in os.walk(old):
        for name in [*folders, *files]:
            if not os.path.islink(os.path.join(at, name)):
                shutil.chown(os.path.join(at, name), "www-data", "www-data")


if __name__ == "__main__":
    json.dump({one.__name__: one for one in (save, restore)}[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
