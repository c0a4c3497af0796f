"""The recording driver: plans are kept once, results come from the table and wait until they are acknowledged."""

from __future__ import annotations

import base64
import contextlib
import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.stacks.resources import ref, server, user_data
from tests.clouds.stacks.world import OWNER, World, hot
from vetro.clouds.drivers.errors import DriverError
from vetro.clouds.interface import NotFound, Owner
from vetro.clouds.messages import Channel, Message
from vetro.clouds.record.answers import result_of
from vetro.clouds.record.driver import RecordDriver
from vetro.clouds.record.table import Table, TableInvalid

QUEUE, LISTENER = "eenv1-hone", "-execution-results-env1"


def plan(
    body: str = "return run().stdout", name: str = "Deploy web", text: str = "apt-get install x", **options: Any
) -> dict[str, Any]:
    return {
        "FormatVersion": "2.0.0",
        "Name": name,
        "Body": body,
        "Scripts": {"run": {"Type": "Application", "EntryPoint": "f", "Files": [], "Options": options}},
        "Files": {"f": {"Name": "run.sh", "BodyType": "Text", "Body": text}},
    }


FIRST = {
    "Scripts": [base64.b64encode(b"Function Set-It {}").decode()],
    "Commands": [{"Name": "Get-It", "Arguments": {}}, {"Name": "Set-It", "Arguments": {"a": 1}}],
    "RebootOnCompletion": 0,
}


def message(id: str, body: dict[str, Any], reply_to: str | None = LISTENER) -> Message:
    return Message(id, json.dumps(body), None, reply_to)


@pytest.fixture
def up(make_world: Callable[..., World]) -> Callable[..., World]:
    """A world with one server that has an agent."""

    def make(table: Any = None, name: str = "web-1") -> World:
        world = make_world(table=table)
        resources = {**user_data(QUEUE), "vm": server(name=name, user_data=ref("mime"), user_data_format="RAW")}
        world.push(hot(resources))
        return world

    return make


def ask(world: World, body: dict[str, Any], id: str = "1", timeout: float = 5.0) -> Any:
    channel = world.cloud.channel(OWNER)
    assert isinstance(channel, Channel)
    channel.send(QUEUE, message(id, body))
    answer = channel.receive(LISTENER, timeout)
    if answer is None:
        return None
    assert answer.id == id
    channel.acknowledge(LISTENER, id)
    channel.close()
    return json.loads(answer.body)


BODIES: list[tuple[str, dict[str, Any], Any]] = [
    ("return run().stdout", {}, ""),
    ("return run('{0} {1}'.format(args.a, 2)).stdout", {"stdout": "out"}, "out"),
    ("return run().stderr", {"stderr": "err"}, "err"),
    ("return run()", {"stdout": "out"}, {"exitCode": 0, "stdout": "out", "stderr": ""}),
    ("x = run()\nreturn x.exitCode", {}, 0),
    ("  a = 1\n  out = run('x').stdout.strip()\n  return out", {"stdout": " o "}, "o"),
    ("return", {}, None),
    ("run()", {}, None),
    ("return 'text'", {}, "text"),
    ("return True", {}, True),
    ("import os\nreturn os.environ", {}, ""),
    ("for x in y:\n  pass\nreturn z(x)", {}, ""),
    ("this is no Python", {}, ""),
    ("return other().stdout", {}, ""),
    ("return run()", {"body": {"any": ["thing"]}}, {"any": ["thing"]}),
    ("return run()", {"body": None}, None),
]


@pytest.mark.parametrize(("body", "effects", "expected"), BODIES)
def test_value_of_a_plan_follows_from_its_shape(body: str, effects: dict[str, Any], expected: Any) -> None:
    result = result_of(plan(body), effects, "id", "now")
    assert (result["ErrorCode"], result["Body"]) == (0, expected)
    assert (result["SourceID"], result["Action"], result["FormatVersion"]) == ("id", "Execution:Result", "2.0.0")
    assert result == result_of(plan(body), effects, "id", "now") and result["ID"] != "id"


def test_exit_codes_are_errors_unless_nobody_verifies_them() -> None:
    result = result_of(plan(), {"exitCode": 3, "stderr": "bad"}, "id", "now")
    assert result["ErrorCode"] == 100
    assert result["Body"] == {
        "Message": "Script run returned error code",
        "AdditionalInfo": {"exitCode": 3, "stdout": "", "stderr": "bad"},
    }
    calm = result_of(plan("return run()", verifyExitcode=False, captureStdout=False), {"exitCode": 3}, "id", "now")
    assert calm["ErrorCode"] == 0 and calm["Body"] == {"exitCode": 3, "stdout": None, "stderr": ""}


def test_failures_have_code_and_information() -> None:
    assert result_of(plan(), {"failure": "boom"}, "id", "now")["Body"] == {"Message": "boom", "AdditionalInfo": None}
    told = result_of(plan(), {"failure": {"message": "boom", "code": 2, "info": [1]}}, "id", "now")
    assert told["ErrorCode"] == 2 and told["Body"]["AdditionalInfo"] == [1]


def test_plans_of_the_first_format() -> None:
    good = {"IsException": False, "Result": ["done"]}
    assert result_of(FIRST, {"stdout": "done"}, "id", "now") == {"IsException": False, "Result": [good, good]}
    failed = result_of(FIRST, {"failure": "boom"}, "id", "now")
    assert failed["Result"][0]["IsException"] is False and failed["Result"][1]["IsException"] is True
    assert failed["Result"][1]["Result"][:3] == ["RecordedFailure", "boom", "Set-It"]


RULES: list[tuple[dict[str, Any], bool]] = [
    ({"plan": "Deploy *"}, True),
    ({"plan": "Deploy"}, False),
    ({"plan": "/^Dep.*b$/"}, True),
    ({"script": "*install x*"}, True),
    ({"script": "install"}, False),
    ({"script": "/install\\s+x/"}, True),
    ({"server": "web-?"}, True),
    ({"server": "db-*"}, False),
    ({"plan": "*", "server": "db-*"}, False),
    ({}, True),
]


@pytest.mark.parametrize(("patterns", "fits"), RULES)
def test_patterns(up: Callable[..., World], patterns: dict[str, Any], fits: bool) -> None:
    world = up({"plans": [{**patterns, "body": "rule"}, {"body": "other"}]})
    assert ask(world, plan())["Body"] == ("rule" if fits else "other")


def test_a_rule_may_count_for_some_plans_only_also_after_a_restart(up: Callable[..., World]) -> None:
    world = up({"plans": [{"times": 2, "body": "first"}, {"body": "then"}]})
    assert ask(world, plan(), "1")["Body"] == "first"
    world.reopen()
    assert [ask(world, plan(), id)["Body"] for id in "23"] == ["first", "then"]


def test_a_plan_is_kept_once_and_its_result_until_it_is_acknowledged(up: Callable[..., World]) -> None:
    world = up()
    channel = world.cloud.channel(OWNER)
    for _ in range(2):
        channel.send(QUEUE, message("1", plan()))
    first = channel.receive(LISTENER, 5)
    assert first is not None and channel.receive(LISTENER, 0) is None
    channel.close()
    world.reopen()
    channel = world.cloud.channel(OWNER)
    assert channel.receive(LISTENER, 5) == first
    channel.acknowledge(LISTENER, "1")
    channel.send(QUEUE, message("1", plan()))
    assert channel.receive(LISTENER, 0.1) is None
    (kept,) = world.driver.plans(OWNER)
    assert (kept.id, kept.name, kept.server, kept.queue) == ("1", "Deploy web", "web-1", QUEUE)
    assert kept.body == plan() and kept.result is not None and kept.result["SourceID"] == "1"
    assert "plan recorded: Deploy web" in world.cloud.console(OWNER, world.ids()["vm"])


def test_plans_wait_for_their_server(make_world: Callable[..., World]) -> None:
    world = make_world()
    channel = world.cloud.channel(OWNER)
    channel.send(QUEUE, message("1", plan()))
    assert channel.receive(LISTENER, 0) is None and world.driver.plans()[0].result is None
    world.push(hot({**user_data(QUEUE), "vm": server(user_data=ref("mime"), user_data_format="RAW")}))
    answer = channel.receive(LISTENER, 5)
    assert answer is not None and answer.id == "1"


def test_queues_of_other_environments_are_not_there(up: Callable[..., World]) -> None:
    world = up()
    for owner, queue in ((Owner("project", "env2"), QUEUE), (OWNER, "eenv2-hone"), (OWNER, LISTENER)):
        with pytest.raises(NotFound, match="is not one of environment"):
            world.cloud.channel(owner).send(queue, message("1", plan()))
    world.cloud.channel(OWNER).send(QUEUE, message("1", plan()))
    # The same environment id in another project has other queues.
    assert world.cloud.channel(Owner("elsewhere", "Env1")).receive(LISTENER, 0.05) is None


def test_delays_never_and_slow_boot(up: Callable[..., World]) -> None:
    table = {
        "plans": [{"plan": "slow", "delay": 0.2}, {"plan": "never", "never": True}],
        "servers": [{"server": "*", "delay": 0.2}],
    }
    begun = time.monotonic()
    world = up(table)
    channel = world.cloud.channel(OWNER)
    for name in ("never", "slow", "quick"):
        channel.send(QUEUE, message(name, plan(name=name)))
    got = [channel.receive(LISTENER, 5), channel.receive(LISTENER, 5)]
    # One plan after the other: the quick one comes after the slow one, both after the boot.
    assert [one.id if one else None for one in got] == ["slow", "quick"]
    assert time.monotonic() - begun >= 0.4
    assert channel.receive(LISTENER, 0.05) is None


def test_receiving_ends_when_the_channel_or_the_cloud_is_closed(up: Callable[..., World]) -> None:
    import threading

    world = up()
    channel = world.cloud.channel(OWNER)
    threading.Timer(0.05, channel.close).start()
    begun = time.monotonic()
    assert channel.receive(LISTENER, 60) is None and time.monotonic() - begun < 30


def test_reply_to_of_the_plan_counts_where_the_message_has_none(up: Callable[..., World]) -> None:
    world = up()
    channel = world.cloud.channel(OWNER)
    channel.send(QUEUE, message("1", {**plan(), "ReplyTo": "elsewhere"}, reply_to=None))
    answer = channel.receive("elsewhere", 5)
    assert answer is not None and answer.id == "1"


def test_files_and_states_of_servers(up: Callable[..., World]) -> None:
    world = up()
    id = world.ids()["vm"]
    world.driver.put_file(id, "/etc/x", b"\x00\xff")
    assert world.driver.get_file(id, "/etc/x") == b"\x00\xff"
    for call in (
        lambda: world.driver.get_file(id, "/etc/passwd"),
        lambda: world.driver.put_file(id, "relative", b""),
        lambda: world.driver.get_file("nobody", "/etc/x"),
    ):
        with pytest.raises(DriverError):
            call()
    world.driver.stop(id)
    assert world.cloud.servers(OWNER)[0].status == "SHUTOFF"
    channel = world.cloud.channel(OWNER)
    channel.send(QUEUE, message("1", plan()))
    assert channel.receive(LISTENER, 0.05) is None
    world.driver.start(id)
    assert channel.receive(LISTENER, 5) is not None


BAD: list[tuple[Any, str]] = [
    ([], "the table must be a mapping"),
    ({"plan": []}, "no section 'plan', did you mean 'plans'"),
    ({"plans": {}}, "'plans' of the table must be a list"),
    ({"plans": [1]}, r"plans\[0\] must be a mapping"),
    ({"plans": [{"exitcode": 1}]}, r"plans\[0\] has an unknown key 'exitcode', did you mean 'exitCode'"),
    ({"plans": [{"exitCode": "1"}]}, r"plans\[0\].exitCode must be int, not '1'"),
    ({"plans": [{"delay": True}]}, "delay must be int or float"),
    ({"plans": [{"plan": "/(/"}]}, "is no regular expression"),
    ({"servers": [{"server": 1}]}, "must be a pattern"),
]


@pytest.mark.parametrize(("data", "text"), BAD, ids=[text for _, text in BAD])
def test_bad_tables_are_refused_with_the_place(data: Any, text: str) -> None:
    with pytest.raises(TableInvalid, match=text):
        Table.from_json(data)


def test_tables_come_from_yaml_and_json_files(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("plans:\n- {plan: a*, exitCode: 3}\n")
    (tmp_path / "t.json").write_text('{"plans": [{"plan": "a*", "exitCode": 3}]}')
    for name in ("t.yaml", "t.json"):
        (rule,) = Table.read(tmp_path / name).rules["plans"]
        assert rule.effects == {"exitCode": 3} and rule.fits({"plan": ["abc"]})
    (tmp_path / "bad.yaml").write_text("plans: [")
    for name in ("bad.yaml", "nobody.yaml"):
        with pytest.raises(TableInvalid, match=name):
            Table.read(tmp_path / name)


def test_only_the_owner_reads_what_is_kept(world: World, tmp_path: Path) -> None:
    """Templates and plans hold passwords."""
    kept = [path for path in (tmp_path / "cloud").rglob("*.db*") if path.is_file()]
    assert {"cloud.db", "record.db"} <= {path.name for path in kept}
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}


def test_what_is_forgotten_is_in_no_file_while_others_have_it_open(up: Callable[..., World]) -> None:
    """Neither in free pages, nor in the journal: a service has the files open for weeks."""
    world = up()
    other = RecordDriver(world.folder)
    large = "x" * 100_000  # in pages of its own
    for number in range(3):
        ask(world, plan(text=f"passwd Horse-battery {large}"), str(number))
    neighbour = Owner("project", "neighbour")
    channel = world.cloud.channel(neighbour)
    channel.send("eneighbour-hone", message("9", plan(text="keeps this")))
    channel.close()
    files = sorted(world.folder.glob("*.db*"))
    assert any(b"Horse-battery" in path.read_bytes() for path in files) and len(other.plans(OWNER)) == 3
    ((server,),) = world.driver.store.rows("SELECT id FROM servers")
    world.driver.put_file(server, "/root/word", b"Horse-battery")
    world.cloud.snapshot(OWNER, "before")
    world.cloud.forget(OWNER)
    world.cloud.forget(OWNER)
    assert [path.name for path in sorted(world.folder.glob("*.db*")) if b"Horse-battery" in path.read_bytes()] == []
    assert other.plans(OWNER) == [] and world.cloud.stacks(OWNER) == []
    assert [found.id for found in other.plans()] == ["9"], "that of others stays"
    other.close()


def test_who_reads_keeps_the_journal_from_being_emptied_for_a_while_only(up: Callable[..., World]) -> None:
    world = up()
    with contextlib.closing(sqlite3.connect(world.folder / "record.db")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM servers").fetchall()
        begun = time.monotonic()
        world.cloud.forget(OWNER)
        assert time.monotonic() - begun < 60
    assert world.cloud.stacks(OWNER) == []


def test_a_file_of_an_earlier_version_loses_what_nobody_has_any_more(up: Callable[..., World]) -> None:
    """It kept plans of environments that were gone, and what was dropped stayed in free pages."""
    world = up()
    ask(world, plan(text="passwd of-the-living"), "1")
    path, values = world.folder / "record.db", ("p", "gone", "q", "1", "", json.dumps(plan(text="passwd of-the-gone")))
    world.cloud.close()
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA secure_delete = OFF")  # some builds of SQLite begin with it
        fields = "INSERT INTO plans (project, environment, queue, id, name, body, reply_to, at)"
        file.execute(f"{fields} VALUES (?, ?, ?, ?, ?, ?, '', 0)", values)
        file.execute("CREATE TABLE big AS SELECT 'passwd of-long-ago' || hex(zeroblob(9000)) AS text")
        file.execute("DROP TABLE big")
        file.execute("PRAGMA user_version = 2")
    assert all(word in path.read_bytes() for word in (b"of-the-living", b"of-the-gone", b"of-long-ago"))
    with contextlib.closing(RecordDriver(world.folder)) as driver:
        assert [found.id for found in driver.plans()] == ["1"]
        files = b"".join(one.read_bytes() for one in world.folder.glob("record.db*"))
    assert b"of-the-living" in files and b"of-the-gone" not in files and b"of-long-ago" not in files
