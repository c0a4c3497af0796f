#!/usr/bin/python3 -I
"""What a site holds, as one archive: ``save`` and ``restore`` its database and the files that people uploaded."""

import contextlib
import json
import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

CONTENT = "/var/lib/wordpress/wp-content"
DUMP = "database.sql"
PARTS = ("uploads", "plugins", "themes")
#: Where an archive is unpacked: nobody but root gets there.
WORK = "/var/lib/vetro-wordpress"
#: As whom programs of MariaDB run.
CLIENT = {"user": "nobody", "group": "nogroup", "extra_groups": (), "cwd": "/"}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def client(program, login, *words):
    """A program of MariaDB that speaks with the site's database. A server may ask a client for files of its machine,
    and so may a dump: this one gives none, and could read none that not everybody reads."""
    argv = [program, "--host", login["host"], "--port", str(login["port"]), "--user", login["user"], *words]
    return {"args": [*argv, login["database"]], "env": {**os.environ, "MYSQL_PWD": login["password"]}, **CLIENT}


def save(given):
    """The database as SQL, and the files beside it. Nobody else reads it."""
    os.umask(0o077)
    with tarfile.open(given["path"], "w:gz", compresslevel=4) as out, tempfile.TemporaryFile() as dump:
        words = ("--single-transaction", "--quick", "--hex-blob", "--skip-dump-date", "--no-tablespaces")
        done = subprocess.run(stdout=dump, check=False, **client("mariadb-dump", given["login"], *words))
        if done.returncode != 0:
            raise SystemExit("the database could not be read")
        info = tarfile.TarInfo(DUMP)
        info.size = dump.tell()
        dump.seek(0)
        out.addfile(info, dump)
        with contextlib.ExitStack() as block:
            content = below(block, "/", *CONTENT.strip("/").split("/"))
            for part in PARTS:
                add(out, part, part, content)
    return {"changed": True}


def add(out, name, path, folder):
    """Puts a file or folder into an archive as it is when it is opened: the web server may put a link in its place at
    any time, which is not followed, and links, pipes and files of others that it gave a second name are left out."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(name, flags, dir_fd=folder)
    except OSError:  # it has gone, or is a link now
        return
    with contextlib.ExitStack() as block:
        block.callback(os.close, file)
        about = os.fstat(file)
        info = tarfile.TarInfo(path)
        info.mtime, info.mode = int(about.st_mtime), about.st_mode & 0o777
        if stat.S_ISDIR(about.st_mode):
            info.type = tarfile.DIRTYPE
            out.addfile(info)
            for one in sorted(os.listdir(file)):
                add(out, one, f"{path}/{one}", file)
        elif stat.S_ISREG(about.st_mode) and (about.st_nlink == 1 or about.st_uid == owner()):
            info.size = about.st_size
            out.addfile(info, Whole(block.enter_context(open(file, "rb", closefd=False))))


class Whole:
    """A file that is read up to the size that it had: where it has become shorter, zeros take the place of the rest."""

    def __init__(self, file):
        self._file = file

    def read(self, size):
        return self._file.read(size).ljust(size, b"\0")


def owner():
    """The number of the web server's user."""
    return pwd.getpwnam("www-data").pw_uid


def restore(given):
    """All of it as it was: tables and files that came later go."""
    login = given["login"]
    shutil.rmtree(WORK, ignore_errors=True)
    os.mkdir(WORK, 0o700)
    try:
        with tarfile.open(given["path"]) as archive:
            if DUMP not in archive.getnames():
                raise SystemExit("the file is no backup of WordPress")
            for member in archive.getmembers():
                if member.name.startswith("/") or ".." in member.name.split("/"):
                    raise SystemExit(f"the backup holds '{member.name}', which would lie outside of it")
            archive.extractall(WORK, [one for one in archive.getmembers() if one.isdir() or one.isfile()])
        tables = subprocess.run(
            input="SHOW TABLES;",
            capture_output=True,
            text=True,
            check=True,
            **client("mariadb", login, "-BN", "--local-infile=0"),
        ).stdout.split()
        if wrong := [one for one in tables if not re.fullmatch("[A-Za-z0-9_$]+", one)]:
            raise SystemExit(f"there is a table with the name '{wrong[0]}', which is left alone: nothing is changed")
        head = "SET foreign_key_checks = 0;" + "".join(f"DROP TABLE `{one}`;" for one in tables)
        with open(os.path.join(WORK, DUMP), "rb") as dump:
            load = subprocess.Popen(
                stdin=subprocess.PIPE, **client("mariadb", login, "--binary-mode", "--local-infile=0")
            )
            try:
                load.stdin.write(head.encode() + b"\n")
                shutil.copyfileobj(dump, load.stdin, 1 << 20)
                load.stdin.close()
            except BrokenPipeError:
                pass  # it says why
        if load.wait() != 0:
            raise SystemExit("the database could not be written")
        for part in PARTS:
            replace(os.path.join(WORK, part), part)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    return {"changed": True}


def replace(new, part):
    """What is in a folder of the site is what is in ``new``; links that Debian's packages made stay. The web server may
    write there, and put a link in the place of anything at any time: none is followed, on any step of the way."""
    who = pwd.getpwnam("www-data")
    with contextlib.ExitStack() as block:
        into = below(block, "/", *CONTENT.strip("/").split("/"), part)
        for name in os.listdir(into):
            mode = os.stat(name, dir_fd=into, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                shutil.rmtree(name, dir_fd=into)
            elif not stat.S_ISLNK(mode):
                os.unlink(name, dir_fd=into)
        if os.path.isdir(new):
            copy(below(block, new), into, who)


def below(block, top, *names):
    """A folder within another one, as a number; links are none."""
    at = os.open(top, _FOLDER)
    block.callback(os.close, at)
    for name in names:
        at = os.open(name, _FOLDER, dir_fd=at)
        block.callback(os.close, at)
    return at


def copy(source, into, who):
    """What is in a folder of ours alone, in one of the web server's. What is there already stays."""
    for name in os.listdir(source):
        about = os.stat(name, dir_fd=source, follow_symlinks=False)
        with contextlib.suppress(FileExistsError), contextlib.ExitStack() as block:
            if stat.S_ISDIR(about.st_mode):
                os.mkdir(name, 0o700, dir_fd=into)
                made = os.open(name, _FOLDER, dir_fd=into)
                block.callback(os.close, made)
                inner = os.open(name, _FOLDER, dir_fd=source)
                block.callback(os.close, inner)
                copy(inner, made, who)
            else:
                data = block.enter_context(open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=source), "rb"))
                made = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=into)
                shutil.copyfileobj(data, block.enter_context(open(made, "wb", buffering=0)), 1 << 20)
                os.utime(made, ns=(about.st_atime_ns, about.st_mtime_ns))
            os.fchown(made, who.pw_uid, who.pw_gid)
            os.fchmod(made, about.st_mode & 0o777)


if __name__ == "__main__":
    json.dump({one.__name__: one for one in (save, restore)}[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
