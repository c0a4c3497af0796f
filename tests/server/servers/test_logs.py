"""Consoles and journals of servers: whose, how much, and without what would harm who reads them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.tasks import shop
from tests.server.web.conftest import signed_in
from vetro.clouds.errors import CloudError
from vetro.clouds.guest.console_text import LARGEST_LOG, plain_lines
from vetro.clouds.record.driver import RecordDriver
from vetro.clouds.record.kind import RecordKind
from vetro.clouds.stacks.cloud import StackCloud
from vetro.server.environments.models import Environment
from vetro.server.errors import Conflict, Invalid, NotFound, Unavailable
from vetro.server.servers import logs
from vetro.yaql.redact import MASK

HOUSE = """\
Name: Shop
Namespaces: {=: test, std: io.murano, res: io.murano.resources, f: io.murano.metadata.forms}
Extends: std:Application
Properties:
  instances: {Contract: [$.class(res:Instance).notNull()]}
  word: {Contract: $.string(), Meta: [{f:Secret: {}}]}
Methods:
  deploy:
    Body: [{For: i, In: $.instances, Do: [$i.deploy()]}]
"""
SECRET = "correct-horse-battery"


class House:
    """An environment with two servers, ``front`` and ``back``, on the recorder; ``said`` is what they print."""

    def __init__(self, ann: Any, drain: Callable[..., int]) -> None:
        self.caller, self.said = ann.caller, "hello\n"
        package = shop.add_package(self.caller, shop.archive({"Classes/Shop.yaml": HOUSE}))
        self.row = shop.add_environment(self.caller, "house")
        start = shop.model(self.row)
        instances = [
            {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": f"i-{name}"}, "name": name,
             "image": "debian-12-murano", "flavor": "m1.small", "assignFloatingIp": False}
            for name in ("front", "back")
        ]  # fmt: skip
        header = {"type": "test.Shop", "id": "house", "name": "the house"}
        start["Objects"]["applications"] = [{"?": header, "instances": instances, "word": SECRET}]
        task = shop.enqueue(self.caller, self.row, package, start)
        drain()
        task.refresh_from_db()
        assert task.state == "done", task.error

    def read(self, what: str = "front", **more: Any) -> logs.ServerLog:
        return logs.read(self.caller, self.row.id, what, **more)


def use_cloud(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.server import setup
    from vetro.server.config.config import Config

    given = {"cloud.driver": "record", "cloud.directory": str(folder)}
    monkeypatch.setattr(setup, "_current", Config.load(setup.config().data, overrides=given))


@pytest.fixture
def house(ann: Any, drain: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    use_cloud(tmp_path / "cloud", monkeypatch)
    made = House(ann, drain)
    monkeypatch.setattr(RecordDriver, "console", lambda self, server, lines=200: made.said)
    return made


# -- text that means harm ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9d0;title\x9ctext", "text"),
        ("\x1bP1;2|payload\x1b\\text", "text"),
        ("\x1b]0;never ended", "0;never ended"),
        ("\x1b", ""),
        ("a\x00b\x08c\x7f\x85d", "abcd"),
        ("\u202eevil\u200b", "\\u202eevil\\u200b"),
        ("one\r\ntwo", "one\ntwo"),
        ("grün\t☃", "grün\t☃"),
    ],
)
def test_what_commands_a_terminal_is_left_out(said: str, shown: str) -> None:
    assert plain_lines(said.encode(), 10) == plain_lines(said, 10) == shown


@pytest.mark.parametrize("part", ["\x9d", "\x1b]", "\x1b[", "\x9b0", "\x1bP\x90", "\u202e", "x", "\n"])
def test_much_of_it_takes_no_time(part: str) -> None:
    text = part * (3 * LARGEST_LOG // len(part))
    begun = time.process_time()
    assert len(plain_lines(text, 100)) <= 6 * LARGEST_LOG
    assert time.process_time() - begun < 10, "it is linear in the length, and the length is bounded"


# -- places in a log ---------------------------------------------------------------------------------------------------

LINES = st.lists(st.sampled_from(["a", "b", "tick", ""]), max_size=30)


@given(before=LINES, added=LINES)
def test_what_was_added_is_what_follows_a_mark(before: list[str], added: list[str]) -> None:
    found, missed = logs.since([*before, *added], logs.mark(before))
    assert list(found) == added and not missed


@given(dropped=st.integers(0, 40), added=LINES)
def test_a_log_that_moves_on_is_followed(dropped: int, added: list[str]) -> None:
    before = [f"line {number}" for number in range(50)]
    found, missed = logs.since([*before, *added][dropped:], logs.mark(before))
    assert list(found) == added if not missed else dropped
    far, missed = logs.since(["another", "log"], logs.mark(before))
    assert (list(far), missed) == (["another", "log"], True), "what is gone is said"


def test_a_line_that_grows_comes_again_and_a_wrong_mark_is_refused() -> None:
    assert logs.since(["a", "passage"], logs.mark(["a", "pass"])) == (["passage"], False)
    assert logs.since(["a"], "") == (["a"], False)
    for wrong in ("x", "1.2.3", "-1.0.a.b", "99999999.0.a.b", "1.1.a.b.c"):
        with pytest.raises(Invalid):
            logs.since(["a"], wrong)
    assert logs.since(["a"], "0.9999999.a.b") == (["a"], True)


# -- in the service ----------------------------------------------------------------------------------------------------


def test_servers_and_what_they_say(house: House) -> None:
    there = logs.servers(house.caller, house.row.id)
    assert [(one.name, one.status, one.component) for one in there] == [
        (name, "ACTIVE", ("house", "the house")) for name in ("back", "front")
    ]
    house.said = f"one\n\x1b[2Jtwo {SECRET}\n<b>three</b>\n"
    found = house.read(there[1].id, most=2)
    assert (found.server.name, found.source, found.missed) == ("front", "console", False)
    assert found.lines == [f"two {MASK}", "<b>three</b>"]
    assert house.read("front", after=found.next).lines == []
    house.said += "four\n"
    more = house.read("front", after=found.next)
    assert (more.lines, more.missed) == (["four"], False)
    house.said = "\n".join(f"line {number}" for number in range(9000))
    skipped = house.read("front", after=more.next, most=10)
    assert skipped.missed and skipped.lines[-1] == "line 8999" and len(skipped.lines) == 10
    house.said = "x" * 100_000
    assert [len(line) for line in house.read("front").lines] == [4096]
    house.said = "x" * (4096 - len(SECRET) // 2) + SECRET  # where a long line is cut
    (line,) = house.read("front").lines
    assert line.endswith("x" + MASK[: len(SECRET) // 2])
    house.said = ""
    assert house.read("front").lines == []


def test_what_is_refused(house: House, eve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for refused in (
        lambda: logs.read(eve.caller, house.row.id, "front"),
        lambda: logs.servers(eve.caller, house.row.id),
        lambda: logs.sources(eve.caller, house.row.id),
        lambda: house.read("another"),
        lambda: house.read(""),
    ):
        with pytest.raises(NotFound):
            refused()
    with pytest.raises(Conflict, match="several"):
        house.read("the house")
    with pytest.raises(Conflict, match="no journal"):
        house.read("front", source="journal")
    with pytest.raises(Invalid):
        house.read("front", after="nonsense")

    def broken(*args: Any) -> str:
        raise CloudError("Nova is away")

    monkeypatch.setattr(StackCloud, "console", broken)
    with pytest.raises(Unavailable, match="Nova is away"):
        house.read("front")
    monkeypatch.setattr(StackCloud, "console", lambda *args: time.sleep(2))
    monkeypatch.setattr(logs, "PATIENCE", 0.05)
    with pytest.raises(Unavailable, match="does not answer"):
        house.read("front")


def test_a_cloud_that_is_on_another_machine_is_told_of(
    ann: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_cloud(tmp_path / "nothing", monkeypatch)
    row = Environment.objects.create(project_id=ann.caller.project_id, name="far", cloud={"kind": "proot"})
    assert logs.sources(ann.caller, row.id) == ("console", "journal")
    with pytest.raises(Unavailable, match="not on this machine"):
        logs.servers(ann.caller, row.id)


def test_looking_removes_nothing(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[str] = []
    monkeypatch.setattr(StackCloud, "sweep", lambda self: swept.append("swept") or [])
    house.read("front")
    assert swept == []
    cloud = RecordKind().open(RecordKind.settings.from_json({}), shop_place(house))
    cloud.close()
    assert swept == ["swept"], "whoever works there does"


def shop_place(house: House) -> Any:
    from vetro.clouds.kind_protocols import Place
    from vetro.server.setup import config

    return Place(directory=config().path("cloud.directory"))


# -- through the doors -------------------------------------------------------------------------------------------------


def test_the_api_tells_it(house: House, ann: Any, people: Callable[..., Any]) -> None:
    path = f"/v2/environments/{house.row.id}/servers"
    found = ann.get(path).json()
    assert found["sources"] == ["console"] and [one["name"] for one in found["items"]] == ["back", "front"]
    house.said = "".join(f"{number}\n" for number in range(5))
    log = ann.get(f"{path}/front/log?lines=2").json()
    assert log["lines"] == ["3", "4"] and log["server"] == found["items"][1]
    house.said += "5\n"
    assert ann.get(f"{path}/front/log?after={log['next']}").json()["lines"] == ["5"]
    assert ann.get(f"{path}/front/log?source=journal").status_code == 409
    assert ann.get(f"{path}/front/log?source=disk").status_code == 400
    assert ann.get(f"{path}/front/log?lines=2001").status_code == 400
    reader = people("rita", role="reader")
    assert {reader.get(place).status_code for place in (path, f"{path}/front/log")} == {403}


@pytest.mark.django_db
def test_the_page_shows_it(house: House, ann: Any, people: Callable[..., Any]) -> None:
    pages, path = signed_in(ann), f"/app/environments/{house.row.id}/servers"
    house.said = f"<script>alert(1)</script> {SECRET}\n"
    text = pages.get(path).content.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt; " + MASK in text and "<script>alert" not in text
    assert "Show the journal" not in text and 'id="t-servers"' in text
    front = next(one.id for one in logs.servers(house.caller, house.row.id) if one.name == "front")
    part = pages.get(f"{path}?server={front}&follow", headers={"HX-Request": "true", "HX-Target": "server-log"})
    assert part.content.decode().startswith('<section class="panel" id="server-log"')
    assert f'hx-get="?server={front}&amp;source=console&amp;follow"' in part.content.decode()
    unknown = pages.get(f"{path}?server=nobody").content.decode()
    assert "there is no server &#x27;nobody&#x27;" in unknown.lower()
    german = pages.get(path, headers={"accept-language": "de"}).content.decode()
    assert "Konsole" in german
    reader = signed_in(people("rita", role="reader"))
    assert reader.get(path).status_code == 403
    assert 'id="t-servers"' not in reader.get(f"/app/environments/{house.row.id}/").content.decode()
