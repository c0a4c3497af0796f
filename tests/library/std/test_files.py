"""`std:File.receive` and `offer`: files of any size between people and servers, in parts, whole or not at all."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import importlib.util
import io
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.library.deploying import Deployed, server
from vetro.engine.host import file_parts
from vetro.engine.host.answer import BadRequest
from vetro.engine.host.file_parts import FileParts
from vetro.library import std_package
from vetro.library.natives import std_files
from vetro.library.natives.agent import AgentException
from vetro.packages import memory_package

PIECES = Path(str(std_package().location)) / "Resources" / "scripts" / "pieces.py"
FILE = "a" * 32


class Guest:
    """What stands for the agent of a server: the program runs in this process, parts are those of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, FileParts(folder / "files" / "p" / "e", 1 << 20)
        (folder / "files" / "p" / "e").mkdir(parents=True)
        program = folder / "pieces.py"
        program.write_bytes(PIECES.read_bytes())
        spec = importlib.util.spec_from_file_location("pieces", program)
        assert spec is not None and spec.loader is not None
        self.module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.done: list[str] = []
        #: Called before each plan.
        self.before: Any = lambda given: None

    def call(self, args: dict[str, Any]) -> Any:
        self.files.check(args)
        plan = self.files.plan(args)
        given = dict(plan["Parameters"]["given"], data=plan["Parameters"]["data"])
        self.done.append(given["do"])
        self.before(given)
        return {"result": self.files.keep(args, {"FormatVersion": "2.0.0", **self.run(given)})}

    def run(self, given: dict[str, Any]) -> dict[str, Any]:
        stdin, stderr = sys.stdin, sys.stderr
        sys.stdin, sys.stderr = io.StringIO(json.dumps(given)), io.StringIO()
        try:
            if self.module.main():
                return {"ErrorCode": 1, "Body": {"Message": sys.stderr.getvalue()}}
        finally:
            sys.stdin, sys.stderr = stdin, stderr
        return {"ErrorCode": 0, "Body": json.loads((self.folder / "answer.json").read_text())}


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Guest:
    monkeypatch.setattr(std_files, "PART", 1000)
    return Guest(tmp_path)


WAYS = """\
Namespaces: {=: u, std: io.vetro.std, sys: io.murano.system}
Name: Ways
Methods:
  receive:
    Arguments:
      - agent: {Contract: $.class(sys:Agent).notNull()}
      - file: {Contract: $.class(std:StoredFile).notNull()}
      - path: {Contract: $.string().notNull()}
      - mode: {Contract: $.string().notNull()}
    Body: {Return: !yaql "std:File.receive($agent, $file, $path, mode => $mode)"}
  offer:
    Arguments:
      - agent: {Contract: $.class(sys:Agent).notNull()}
      - path: {Contract: $.string().notNull()}
    Body:
      - $found: std:File.offer($agent, $path)
      - Return: {file: $found.file, size: $found.size, sha256: $found.sha256, filename: $found.filename}
"""


def asked(guest: Guest, expression: str) -> Any:
    """The value of an expression with ``$server``, whose agent is the guest."""
    package = memory_package(
        {"name": "u", "format": "1.4", "classes": {"u.Ways": WAYS}, "require": {"io.vetro.std": "1"}}
    )
    step, require = f"{{Return: !yaql \"new('u.Ways').{expression}\"}}", {"u": "0", "io.vetro.std": "1"}
    done = Deployed(server("LinuxInstance"), step=step, packages=(package,), require=require)
    done.host.inner.register("agent.call", guest.call)
    return done.load().call("run", object_id="app")


def receive(guest: Guest, content: bytes, path: Path, mode: str = "0640", sha256: str = "") -> Any:
    """Has the server take a file of people."""
    (guest.folder / "files" / "p" / "e" / FILE).write_bytes(content)
    digest = sha256 or hashlib.sha256(content).hexdigest()
    given = f"file => '{FILE}', filename => x, size => {len(content)}, sha256 => '{digest}'"
    return asked(guest, f"receive($server.agent, new('io.vetro.std.StoredFile', {given}), '{path}', '{mode}')")


def offer(guest: Guest, path: Path) -> Any:
    """Has the server give a file to people."""
    return asked(guest, f"offer($server.agent, '{path}')")


@pytest.mark.parametrize("size", [0, 3500])
def test_a_file_comes_to_the_server_and_goes_back_as_it_was(guest: Guest, tmp_path: Path, size: int) -> None:
    content, target = os.urandom(size), tmp_path / "deep" / "er" / "taken"
    assert receive(guest, content, target) is True
    assert target.read_bytes() == content and target.stat().st_mode & 0o777 == 0o640
    assert guest.done == ["look", *["put"] * -(-size // 1000), "finish"]
    assert [path.name for path in target.parent.iterdir()] == ["taken"]
    found = offer(guest, target)
    assert (found["size"], found["sha256"]) == (size, hashlib.sha256(content).hexdigest())
    kept = guest.folder / "files" / "p" / "e" / found["file"]
    assert (kept.read_bytes() if size else b"") == content and found["filename"] == "taken"


def test_what_is_there_already_is_not_sent_again(guest: Guest, tmp_path: Path) -> None:
    content, target = os.urandom(2500), tmp_path / "taken"
    assert receive(guest, content, target) is True
    guest.done.clear()
    assert receive(guest, content, target) is False and guest.done == ["look"]
    assert receive(guest, content, target, "0600") is True and target.stat().st_mode & 0o777 == 0o600
    assert receive(guest, content[:-1] + b"x", target) is True and target.read_bytes()[-1:] == b"x"


def test_what_came_damaged_or_is_another_file_changes_nothing(guest: Guest, tmp_path: Path) -> None:
    target = tmp_path / "taken"
    target.write_bytes(b"before")
    with pytest.raises(AgentException, match="is not the file that was sent"):
        receive(guest, b"x" * 1500, target, sha256="0" * 64)
    assert target.read_bytes() == b"before" and not list(tmp_path.glob(".vetro-*"))


def test_parts_that_come_twice_do_no_harm(guest: Guest, tmp_path: Path) -> None:
    content, target, again = os.urandom(2500), tmp_path / "taken", list[str]()

    def twice(given: dict[str, Any]) -> None:
        if given["do"] in ("put", "finish") and given["do"] not in again:
            again.append(given["do"])
            guest.run(given)

    guest.before = twice
    assert receive(guest, content, target) is True and target.read_bytes() == content
    assert again == ["put", "finish"]


def test_a_file_that_changes_while_it_is_read_is_told(guest: Guest, tmp_path: Path) -> None:
    target = tmp_path / "log"
    target.write_bytes(b"x" * 2500)
    guest.before = lambda given: given["do"] == "get" and given["at"] and target.write_bytes(b"y" * 2600)
    with pytest.raises(AgentException, match="changed while it was read"):
        offer(guest, target)


@pytest.mark.attack("agent", "a path that a user of the server made a link, a pipe or a device of")
def test_links_pipes_and_devices_are_neither_read_nor_written(guest: Guest, tmp_path: Path) -> None:
    secret, link, pipe = tmp_path / "secret", tmp_path / "link", tmp_path / "pipe"
    secret.write_bytes(b"s" * 10)
    link.symlink_to(secret)
    os.mkfifo(pipe)
    for path in (link, pipe, Path("/dev/zero"), tmp_path, tmp_path / "none"):
        with pytest.raises(AgentException, match=r"cannot be read|no ordinary file"):
            offer(guest, path)
    # What is written takes the place of the link, and nothing of what it leads to.
    assert receive(guest, b"new", link) is True
    assert secret.read_bytes() == b"s" * 10 and not link.is_symlink() and link.read_bytes() == b"new"
    # Where the parts come is none of anybody else's files.
    (tmp_path / f".vetro-{FILE}.part").symlink_to(secret)
    with pytest.raises(AgentException):
        receive(guest, b"other", tmp_path / "taken")
    assert secret.read_bytes() == b"s" * 10
    (tmp_path / f".vetro-{FILE}.part").unlink()
    os.link(secret, tmp_path / f".vetro-{FILE}.part")
    with pytest.raises(AgentException, match="somebody else's"):
        receive(guest, b"other", tmp_path / "taken")
    assert secret.read_bytes() == b"s" * 10


def test_parts_that_nobody_finished_go(guest: Guest, tmp_path: Path) -> None:
    old, young = tmp_path / f".vetro-{'b' * 32}.part", tmp_path / f".vetro-{'c' * 32}.part"
    for path, age in ((old, 90_000), (young, 60)):
        path.write_bytes(b"x")
        os.utime(path, (time.time() - age,) * 2)
    assert receive(guest, b"content", tmp_path / "taken") is True
    assert not old.exists() and young.exists()


@pytest.mark.attack("agent", "a server that sends more than a project may have")
def test_a_server_cannot_fill_the_disk_of_the_service(guest: Guest, tmp_path: Path) -> None:
    target = tmp_path / "huge"
    target.write_bytes(b"x" * 5000)
    guest.files = FileParts(guest.folder / "files" / "p" / "e", 4200)
    with pytest.raises(Exception, match="may have 0 MiB together: this one is too large"):
        offer(guest, target)
    assert sum(path.stat().st_size for path in (guest.folder / "files").rglob("*") if path.is_file()) == 0


SHA = "ab" * 32


@pytest.mark.attack("agent", "a server that answers what it likes about parts of a file")
@pytest.mark.parametrize(
    ("told", "gets"),
    [({"sha256": "ab" * 32}, 1), ({"size": 1 << 60}, 0), ({"size": "x"}, 0), ({"sha256": "x"}, 0), ("x", 0)],
)
def test_a_server_that_sends_no_part_of_the_file_ends_the_action(
    guest: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Any, gets: int
) -> None:
    """It was believed: an action went on for ever."""
    stat = {"size": 3000, "sha256": SHA, "mark": "m", **told} if isinstance(told, dict) else told
    answers = {"stat": {"ErrorCode": 0, "Body": stat}, "get": {"ErrorCode": 0, "Body": {"data": "eA=="}}}
    monkeypatch.setattr(guest, "run", lambda given: answers[given["do"]])
    guest.before = lambda given: len(guest.done) < 9 or pytest.fail("it goes on for ever")
    with pytest.raises((AgentException, BadRequest), match=r"not the part|no answer|how large"):
        offer(guest, tmp_path / "x")
    assert guest.done == ["stat", *["get"] * gets]


@pytest.mark.attack("agent", "a server that answers what it likes about parts of a file")
@pytest.mark.parametrize(
    "body",
    [{"data": -5}, {"data": 0.1}, {"data": "eA=="}, {"data": ""}, {"data": {}}, {"data": "?"}, {}, [], "x", None, 5],
)
def test_what_is_not_the_part_that_was_asked_for_is_not_kept(guest: Guest, body: Any) -> None:
    """The action ended well then, without the file."""
    for answer in ({"FormatVersion": "2.0.0", "ErrorCode": 0, "Body": body}, body):
        with pytest.raises(BadRequest, match=r"not the part|no answer"):
            guest.files.keep({"part": {"keep": FILE, "offset": 0, "size": 1000}}, answer)
    assert not list((guest.folder / "files" / "p" / "e").iterdir())


@pytest.mark.attack("agent", "an answer that is a failure for one and none for the other")
@pytest.mark.parametrize("version", [{"FormatVersion": "1.0.0"}, {"FormatVersion": "2.0.0", "ErrorCode": 0.0}, {}])
def test_only_failures_have_no_part(guest: Guest, version: dict[str, Any]) -> None:
    part = {"part": {"keep": FILE, "offset": 0, "size": 4}}
    with pytest.raises(BadRequest, match="not the part"):
        guest.files.keep(part, {"ErrorCode": 5, "IsException": True, "Result": [], "Body": {}, **version})
    failure = {"FormatVersion": "2.0.0", "ErrorCode": 5, "Body": {"Message": "no"}}
    assert guest.files.keep(part, failure) == failure


@pytest.mark.attack("agent", "files of the kernel, which say that they are empty")
def test_a_file_that_is_not_as_large_as_it_says_is_no_empty_file(guest: Guest) -> None:
    with pytest.raises(AgentException, match="not as many bytes as it says"):
        offer(guest, Path("/proc/self/status"))


@pytest.mark.attack("agent", "a pipe where the parts of a file come: its agent waited for a reader")
def test_a_pipe_in_the_place_of_parts_is_not_waited_for(guest: Guest, tmp_path: Path) -> None:
    pipe = tmp_path / f".vetro-{FILE}.part"
    os.mkfifo(pipe)
    with pytest.raises(AgentException, match=r"No such device|somebody else's"):
        receive(guest, b"content", tmp_path / "taken")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(AgentException, match="somebody else's"):
        receive(guest, b"content", tmp_path / "taken")
    os.close(reader)


@pytest.mark.attack("quotas", "more files than there may be, of one byte each; many at once beyond what there may be")
def test_servers_make_no_more_files_than_people(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    def keep(number: int, size: int = 1) -> None:
        answer = {"Body": {"data": base64.b64encode(b"x" * size).decode()}}
        guest.files.keep({"part": {"keep": f"{number:032x}", "offset": 0, "size": size}}, answer)

    monkeypatch.setattr(file_parts, "MOST", 2)
    for number in (1, 2, 2):
        keep(number)
    guest.files = FileParts(guest.folder / "files" / "p" / "other", 1 << 20)
    with pytest.raises(file_parts.FilesFull, match="at most 2 files"):
        keep(3)
    assert file_parts.files_in(guest.folder / "files" / "p") == 2
    # Between looking how much there is and writing nobody else writes.
    monkeypatch.setattr(file_parts, "MOST", 1000)
    looking, measure = threading.Barrier(2), file_parts.bytes_in

    def slowly(folder: Path) -> int:
        found = measure(folder)
        with contextlib.suppress(threading.BrokenBarrierError):
            looking.wait(0.5)
        return found

    monkeypatch.setattr(file_parts, "bytes_in", slowly)

    def one(number: int) -> None:
        with contextlib.suppress(file_parts.FilesFull):
            keep(number, 600 << 10)

    threads = [threading.Thread(target=one, args=(number,)) for number in (4, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert measure(guest.folder / "files" / "p") <= 1 << 20


@pytest.mark.attack("effects", "a task that names a file elsewhere, or parts that are none")
@pytest.mark.parametrize(
    "part",
    [
        {"send": "../../secret", "offset": 0, "size": 1}, {"send": FILE, "offset": -1, "size": 1}, {"offset": 0}, "x",
        {"send": FILE, "keep": FILE, "offset": 0}, {"send": FILE, "offset": 0, "size": 5 << 20},
        {"keep": "A" * 32, "offset": 0, "size": 1}, {"keep": FILE, "offset": 0},
        {"keep": FILE, "offset": True}, {"send": FILE, "offset": 0, "size": "1"},
    ],
)  # fmt: skip
def test_only_parts_of_files_of_the_environment_are_asked_for(guest: Guest, part: Any) -> None:
    with pytest.raises(BadRequest):
        guest.files.check({"part": part})
    with pytest.raises(BadRequest):
        FileParts().check({"part": part})


def test_a_file_that_is_gone_is_told(guest: Guest) -> None:
    for size in (1, 4):
        with pytest.raises(BadRequest, match="not here any more"):
            part = {"send": FILE, "offset": 0, "size": size}
            guest.files.plan({"plan": {"Parameters": {}}, "part": part})
        (guest.folder / "files" / "p" / "e" / FILE).write_bytes(b"abc")
