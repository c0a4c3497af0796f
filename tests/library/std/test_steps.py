"""The program that brings servers to a state, as agents run it: JSON in, an answer beside it, and no shell."""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import io
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from vetro.library import std_package

SCRIPTS = Path(str(std_package().location)) / "Resources" / "scripts"
ME = {"owner": "root", "mode": "0640"} if os.geteuid() == 0 else {}

#: What stands for the programs of a server: each writes down its words, and is as the files in its folder say.
PROGRAM = """#!/bin/sh
echo "$(basename "$0") $*" >> "$STATE/called"
case "$(basename "$0") $*" in
"dpkg-query "*) for last; do :; done; [ -e "$STATE/$last" ] && printf 'installed 1.0' ;;
"apt-get "*install*)
    [ -e "$STATE/broken" ] && { echo "E: no such package" >&2; exit 100; }
    for last; do :; done; touch "$STATE/$last" ;;
"apt-get "*) ;;
"systemctl show "*) echo no ;;
"systemctl is-enabled "*) [ -e "$STATE/enabled" ] ;;
"systemctl is-active "*) [ -e "$STATE/active" ] ;;
"systemctl enable "*) touch "$STATE/enabled" ;;
"systemctl stop "*) rm -f "$STATE/active" ;;
"systemctl start "* | "systemctl restart "* | "systemctl reload "*) [ -e "$STATE/crashes" ] || touch "$STATE/active" ;;
"journalctl "*) echo "bind: address already in use" ;;
*) true ;;
esac
"""


class Server:
    """Where the program runs: a folder with programs in place of the server's own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state, self.bin = folder, folder / "state", folder / "bin"
        self.state.mkdir()
        self.bin.mkdir()
        for name in ("dpkg-query", "apt-get", "systemctl", "journalctl"):
            (self.bin / name).write_text(PROGRAM)
            (self.bin / name).chmod(0o755)
        text = (SCRIPTS / "steps.py").read_text("utf-8")
        self.program = folder / "steps.py"
        text = text.replace('"/var/lib/vetro-std/notified"', repr(str(folder / "notified")))
        text = text.replace('"/etc/fstab', f'"{folder}/fstab')
        self.program.write_text(text.replace("SETTLED = 1.0", "SETTLED = 0.05"))
        spec = importlib.util.spec_from_file_location("steps", self.program)
        assert spec is not None and spec.loader is not None
        self.module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)

    def run(self, *steps: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        """In this process: most of a second would go to beginning another one."""
        (self.folder / "answer.json").unlink(missing_ok=True)
        out, err, given, sys.stdin = io.StringIO(), io.StringIO(), sys.stdin, io.StringIO(json.dumps({"steps": steps}))
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = self.module.main()
        finally:
            sys.stdin = given
        return subprocess.CompletedProcess([], code, out.getvalue(), err.getvalue())

    def ok(self, *steps: dict[str, Any]) -> dict[str, Any]:
        done = self.run(*steps)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads((self.folder / "answer.json").read_text())
        return found

    def refused(self, *steps: dict[str, Any]) -> str:
        done = self.run(*steps)
        assert done.returncode == 1 and not (self.folder / "answer.json").exists()
        return done.stderr

    def called(self, program: str) -> list[str]:
        lines = (self.state / "called").read_text().splitlines() if (self.state / "called").exists() else []
        return [line for line in lines if line.startswith(program)]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    found = Server(tmp_path)
    monkeypatch.setenv("PATH", f"{found.bin}:{os.environ['PATH']}")
    monkeypatch.setenv("STATE", str(found.state))
    return found


def test_it_is_a_program(server: Server) -> None:
    given = json.dumps({"steps": [{"do": "command", "words": ["echo", "hello"]}]})
    argv = [sys.executable, "-I", "-S", str(server.program)]
    assert subprocess.run(argv, input=given, capture_output=True, text=True, check=True).stderr == ""
    assert json.loads((server.folder / "answer.json").read_text())["values"][0]["stdout"] == "hello\n"


def test_a_file_is_written_once_and_as_a_whole(server: Server) -> None:
    path = server.folder / "etc" / "it.conf"
    step = {"do": "file", "path": str(path), "text": "a = 'ü'; $(reboot)\n", **ME}
    assert server.ok(step) == {"changed": [0], "values": [None]}
    assert path.read_text("utf-8") == "a = 'ü'; $(reboot)\n"
    assert path.stat().st_mode & 0o777 == int(ME.get("mode", "0644"), 8)
    assert server.ok(step)["changed"] == []
    assert server.ok({**step, "mode": "0600"})["changed"] == [0]
    assert server.ok({**step, "text": "b"})["changed"] == [0] and path.read_text() == "b"
    assert os.listdir(path.parent) == ["it.conf"]


def test_a_link_is_replaced_and_not_followed(server: Server) -> None:
    secret, path = server.folder / "secret", server.folder / "link"
    secret.write_text("untouched")
    path.symlink_to(secret)
    server.ok({"do": "file", "path": str(path), "text": "mine", **ME})
    assert not path.is_symlink() and path.read_text() == "mine" and secret.read_text() == "untouched"


@pytest.mark.parametrize("kind", ["pipe", "socket", "dangling link", "link to a pipe"])
def test_what_is_no_file_is_replaced_without_being_read(server: Server, kind: str) -> None:
    """Whoever owns the folder put there what would keep a reader waiting for ever."""
    path, pipe = server.folder / "it.conf", server.folder / "pipe"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as bound:
        if kind == "pipe":
            pipe.rename(path)
        elif kind == "socket":
            bound.bind(str(path))
        else:
            path.symlink_to(pipe if kind == "link to a pipe" else server.folder / "nowhere")
        step = {"do": "file", "path": str(path), "text": "mine", **ME}
        assert server.ok(step)["changed"] == [0]
    assert stat.S_ISREG(path.lstat().st_mode) and path.read_text() == "mine"
    assert server.ok(step)["changed"] == [] and not (server.folder / "nowhere").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="devices are made by root")
def test_a_device_is_replaced_without_being_read(server: Server) -> None:
    path = server.folder / "it.conf"
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # zeros without end
    server.ok({"do": "file", "path": str(path), "text": "mine", **ME})
    assert stat.S_ISREG(path.lstat().st_mode) and path.read_text() == "mine"


@pytest.mark.parametrize("found", ["empty", "full", "link", "nothing"])
def test_a_volume_is_mounted_whatever_fsck_left_on_it(
    server: Server, monkeypatch: pytest.MonkeyPatch, found: str
) -> None:
    path, lost, table = server.folder / "data", server.folder / "data" / "lost+found", server.folder / "fstab"
    path.mkdir()
    table.write_text("")
    (server.folder / "volumes" / "vdb").mkdir(parents=True)
    monkeypatch.setattr(server.module, "VOLUMES", str(server.folder / "volumes"))
    monkeypatch.setattr(server.module, "bound", lambda path: True)
    if found == "link":
        lost.symlink_to(server.folder / "volumes" / "vdb")
    elif found != "nothing":
        lost.mkdir()
    if found == "full":
        (lost / "#12").touch()
    step = {"do": "volume", "device": "/dev/vdb", "path": str(path)}
    assert server.ok(step)["changed"] == [0] and server.ok(step)["changed"] == []
    assert os.path.lexists(lost) == (found in ("full", "link")) and str(path) in table.read_text()
    assert (server.folder / "volumes" / "vdb").is_dir()


@pytest.mark.parametrize("path", ["etc/x", "/etc/../x", "/etc/x\0y"])
def test_paths_that_are_none(server: Server, path: str) -> None:
    for what in ("file", "directory", "absent", "archive", "fetch"):
        assert "is no absolute path" in server.refused({"do": what, "path": path, "text": "", "base64": ""})


def test_an_owner_that_is_not_there_and_a_folder_in_the_way(server: Server) -> None:
    step = {"do": "file", "path": str(server.folder / "x"), "text": ""}
    assert "'nobody-knows'" in server.refused({**step, "owner": "nobody-knows"})
    assert "is a folder" in server.refused({**step, "path": str(server.folder), **ME})


def test_folders_come_and_go(server: Server) -> None:
    path = str(server.folder / "a" / "b")
    assert server.ok({"do": "directory", "path": path, **ME})["changed"] == [0]
    assert server.ok({"do": "directory", "path": path, **ME})["changed"] == []
    assert server.ok({"do": "absent", "path": path}, {"do": "absent", "path": path})["changed"] == [0]


def test_packages_are_installed_when_they_are_missing(server: Server) -> None:
    step = {"do": "packages", "names": ["redis-server"]}
    assert server.ok(step) == {"changed": [0], "values": [{"redis-server": "1.0"}]}
    assert server.ok(step) == {"changed": [], "values": [{"redis-server": "1.0"}]}
    assert (
        len(server.called("apt-get")) == 1 and "--no-install-recommends -- redis-server" in server.called("apt-get")[0]
    )
    assert server.ok({**step, "upgrade": True})["changed"] == []
    assert [" update" in line for line in server.called("apt-get")] == [False, True, False]
    (server.state / "broken").touch()
    said = server.refused({"do": "packages", "names": ["nothing-such"]})
    assert "cannot install nothing-such" in said and "E: no such package" in said
    assert "is no name of a package" in server.refused({"do": "packages", "names": ["-oDpkg::x"]})


def test_a_service_takes_up_what_a_dead_plan_left(server: Server) -> None:
    file = {"do": "file", "path": str(server.folder / "it.conf"), "text": "1", "notify": ["it"], **ME}
    service = {"do": "service", "name": "it"}
    assert server.ok(file, service)["changed"] == [0, 1]
    assert server.ok(file, service)["changed"] == []
    server.refused({**file, "text": "2"}, {"do": "command", "words": ["false"]}, service)
    assert not server.called("systemctl restart")
    assert server.ok({**file, "text": "2"}, service)["changed"] == [1]
    assert server.called("systemctl restart") == ["systemctl restart -- it"]
    assert server.ok({**file, "text": "3"}, {**service, "reload": True})["changed"] == [0, 1]
    assert server.called("systemctl reload") == ["systemctl reload -- it"]
    assert server.ok({**service, "running": False})["changed"] == [0]
    assert server.ok({**service, "running": False})["changed"] == []
    assert "is no name of a service" in server.refused({"do": "service", "name": "a b"})


def test_files_say_whether_a_service_is_restarted_or_reads_its_configuration(server: Server) -> None:
    """A cache is emptied by a restart: a file of logins asks for less, and a unit beside it for all."""
    logins = {"do": "file", "path": f"{server.folder}/logins", "text": "1", "reload": ["it"], **ME}
    unit = {"do": "file", "path": f"{server.folder}/unit", "text": "1", "notify": ["it"], **ME}
    service = {"do": "service", "name": "it"}
    server.ok(unit, logins, service)
    assert server.called("systemctl start") and not server.called("systemctl reload")
    server.ok(unit, {**logins, "text": "2"}, service)
    assert server.called("systemctl reload") == ["systemctl reload -- it"] and not server.called("systemctl restart")
    # Both, in either order, are one restart; a plan that dies before the service's step owes the next one the same.
    server.ok({**unit, "text": "2"}, {**logins, "text": "3"})
    server.ok({**unit, "text": "2"}, {**logins, "text": "3"}, service)
    assert len(server.called("systemctl restart")) == 1
    server.ok({**logins, "text": "4"}, {**unit, "text": "3"}, service)
    assert len(server.called("systemctl restart")) == 2 and len(server.called("systemctl reload")) == 1
    assert server.ok({**unit, "text": "3"}, {**logins, "text": "4"}, service)["changed"] == []


def test_a_service_that_does_not_run_says_why(server: Server) -> None:
    (server.state / "crashes").touch()
    said = server.refused({"do": "service", "name": "it"})
    assert "the service 'it' does not run" in said and "address already in use" in said


def test_commands_take_words_and_look_first(server: Server) -> None:
    value = server.ok({"do": "command", "words": ["echo", "$HOME; `id`"]})["values"][0]
    assert value["stdout"] == "$HOME; `id`\n"
    made = str(server.folder / "made")
    step = {"do": "command", "words": ["touch", made], "creates": made}
    assert server.ok(step)["changed"] == [0] and server.ok(step)["changed"] == []
    assert server.ok({"do": "command", "words": ["false"], "unless": ["true"]})["changed"] == []
    assert server.ok({"do": "command", "words": ["false"], "failing": True})["values"][0]["exitCode"] == 1
    assert "the command ended with status 3:\nwhy" in server.refused(
        {"do": "command", "words": ["sh", "-c", "echo why >&2; exit 3"]}
    )
    assert "is not installed" in server.refused({"do": "command", "words": ["no-such-program"]})
    assert "did not end within 0.2 seconds" in server.refused(
        {"do": "command", "words": ["sleep", "60"], "timeout": 0.2}
    )


SCRIPT = """#!/usr/bin/env python3
import json, sys
given = json.load(sys.stdin)
print("at work", file=sys.stderr)
if sys.argv[1] == "fail":
    sys.exit("there is no room")
json.dump({"twice": given["text"] * 2, "changed": sys.argv[1] == "change"}, sys.stdout)
"""


def test_scripts_speak_json(server: Server) -> None:
    step = {"do": "script", "name": "it.py", "text": SCRIPT, "command": "look", "input": {"text": "ü" * 200_000}}
    found = server.ok(step)
    assert found["changed"] == [] and found["values"][0]["twice"] == "ü" * 400_000
    assert server.ok({**step, "command": "change"})["changed"] == [0]
    assert "it.py fail ended with status 1:\nat work\nthere is no room" in server.refused({**step, "command": "fail"})
    assert "something else than JSON" in server.refused({**step, "text": "#!/bin/sh\necho hello\n"})
    assert server.ok({**step, "text": "#!/bin/sh\ntrue\n"})["values"] == [None]


def test_scripts_import_modules_beside_them(server: Server) -> None:
    """Whoever runs them: the folder and what is in it are for everybody to read. Nothing of it lies elsewhere."""
    text = "#!/usr/bin/python3 -Es\nimport it_words\nprint(it_words.SAID)\n"
    step = {"do": "script", "name": "it.py", "text": text}
    assert "No module named 'it_words'" in server.refused(step)
    with_modules = {**step, "modules": {"../it_words.py": "SAID = '\"hello\"'\n"}}
    assert server.ok(with_modules)["values"] == ["hello"]
    look = "#!/bin/sh\ncd $(dirname $0); stat -c '%a' . it_words.py | tr '\\n' ' ' | sed 's/.*/\"&\"/'\n"
    assert server.ok({**with_modules, "text": look})["values"] == ["755 755 "]


def test_scripts_tell_services(server: Server) -> None:
    told = server.folder / "notified"
    text = f'#!/bin/sh\nls {told} >&2 2>/dev/null; echo "was: $VETRO_NOTIFIED" >&2; cat\n'
    step = {"do": "script", "name": "one.sh", "text": text, "notify": ["nginx"]}
    # Before it runs: it may die after the change. Where it changed nothing that is taken back.
    assert server.run({**step, "input": {"changed": False}}).stdout.split() == ["nginx", "was:"]
    assert not [*told.iterdir()]
    server.ok({**step, "input": {"changed": True}})
    assert [one.name for one in told.iterdir()] == ["nginx"]
    # What was told before stays so, and the script knows of it.
    assert "was: nginx" in server.run({**step, "input": {"changed": False}}).stdout
    assert [one.name for one in told.iterdir()] == ["nginx"]
    server.ok({**step, "notify": [], "input": {"changed": False, "notify": ["redis"]}})
    assert {one.name for one in told.iterdir()} == {"nginx", "redis"}
    (told / "nginx").unlink()
    assert server.run({**step, "text": "#!/bin/sh\nexit 3\n"}).returncode == 1 and (told / "nginx").exists()


def test_a_file_that_a_program_refuses_stays_as_it_was(server: Server) -> None:
    path = server.folder / "etc" / "haproxy.cfg"
    check = ["sh", "-c", 'grep -q good "$1" || { echo "line 1 of $1 is bad" >&2; exit 1; }', "sh"]
    step = {"do": "file", "path": str(path), "notify": ["haproxy"], "check": check, **ME}
    assert server.ok({**step, "text": "good"})["changed"] == [0]
    (server.folder / "notified" / "haproxy").unlink()
    done = server.run({**step, "text": "worse"})
    assert done.returncode == 1 and f"'{path}' stays as it is, sh refuses" in done.stderr
    assert f"line 1 of {path} is bad" in done.stderr and path.read_text() == "good"
    assert [one.name for one in path.parent.iterdir()] == ["haproxy.cfg"]
    assert not (server.folder / "notified" / "haproxy").exists()
    assert server.ok({**step, "text": "good"})["changed"] == []


def test_waiting_says_what_it_saw(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert server.ok({"do": "wait", "port": port})["changed"] == []
    said = server.refused({"do": "wait", "port": port, "timeout": 0.3})
    assert f"port {port} was not ready within 0.3 seconds" in said and "refused" in said
    assert "status 1" in server.refused({"do": "wait", "words": ["false"], "timeout": 0.2})
    assert "was not ready" in server.refused({"do": "wait", "url": f"http://127.0.0.1:{port}/", "timeout": 0.2})


def packed(kind: str, names: dict[str, str]) -> str:
    buffer = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(buffer, "w") as made:
            for name, text in names.items():
                made.writestr(name, text)
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz") as made_tar:
            for name, text in names.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                made_tar.addfile(entry, io.BytesIO(text.encode()))
    return base64.b64encode(buffer.getvalue()).decode()


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_takes_the_place_of_a_folder(server: Server, kind: str) -> None:
    path = server.folder / "www"
    step = {
        "do": "archive",
        "path": str(path),
        "base64": packed(kind, {"site/index.html": "one", "site/a/b": "x"}),
        **ME,
    }
    assert server.ok(step)["changed"] == [0] and (path / "index.html").read_text() == "one"
    assert server.ok(step)["changed"] == []
    assert server.ok({**step, "base64": packed(kind, {"index.html": "two", "c": ""})})["changed"] == [0]
    assert sorted(os.listdir(path)) == ["c", "index.html"]
    for name in ("../out", "/abs"):
        assert "would lie outside" in server.refused({**step, "base64": packed(kind, {name: "x"})})
    assert "neither a zip nor a tar" in server.refused({**step, "base64": base64.b64encode(b"text").decode()})
    assert sorted(os.listdir(path)) == ["c", "index.html"]
    assert not [name for name in os.listdir(server.folder) if name.startswith(".vetro-")]


def test_files_are_fetched_up_to_a_limit(server: Server) -> None:
    path = server.folder / "file"
    path.write_bytes(b"\0\xff")
    assert server.ok({"do": "fetch", "path": str(path)})["values"] == [base64.b64encode(b"\0\xff").decode()]
    os.truncate(path, 12 << 20)
    assert "too large to be fetched" in server.refused({"do": "fetch", "path": str(path)})
    assert "cannot be read" in server.refused({"do": "fetch", "path": str(server.folder / "none")})


def backups(folder: Path, command: str, **given: Any) -> Any:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPTS / "backups.py"), command],
        input=json.dumps({"folder": str(folder), "keep": 2, "name": None, **given}),
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="backups belong to root")
def test_backups_are_counted_checked_and_dropped(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    assert backups(folder, "find") == "there is no backup"
    for number in range(3):
        path = folder / f"2026010{number + 1}T000000Z"
        assert backups(folder, "begin")["path"].endswith("Z")
        path.write_text(f"data {number}")
        made = backups(folder, "finish")
        assert made["name"] == path.name and made["size"] == 6
    assert [one["name"] for one in backups(folder, "list")] == ["20260103T000000Z", "20260102T000000Z"]
    (folder / "20260104T000000Z").write_text("half")
    assert len(backups(folder, "list")) == 2 and backups(folder, "find")["name"] == "20260103T000000Z"
    backups(folder, "begin")
    assert not (folder / "20260104T000000Z").exists()
    assert "no backup was written" in backups(folder, "finish")
    (folder / "20260103T000000Z").write_text("data X")
    assert "is damaged" in backups(folder, "find")
    assert backups(folder, "find", name="20260102T000000Z")["size"] == 6
    assert "only 20260103T000000Z, 20260102T000000Z" in backups(folder, "find", name="20250101T000000Z")
    shutil.rmtree(folder)
