"""Commands in servers: who may run them, how many, how long, what is audited, that they end with their person."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.server.servers.test_logs import SECRET, House, use_cloud
from tests.server.web.conftest import signed_in
from tests.support.commands import Execution
from vetro.clouds.guest.running_command import running
from vetro.clouds.record.kind import RecordKind
from vetro.server import large_requests, setup
from vetro.server.accounts.models import Membership, Token
from vetro.server.accounts.sessions import SessionStore
from vetro.server.audit.models import AuditRecord
from vetro.server.environments.models import Environment
from vetro.server.errors import Conflict, Invalid, NotFound, TooLarge, TooMany, Unavailable
from vetro.server.servers import commands, logs

WORDS = ("sh", "-c", "echo out; echo err >&2; exit 4")


@pytest.fixture
def house(ann: Any, drain: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    use_cloud(tmp_path / "cloud", monkeypatch)
    made = House(ann, drain)
    yield made
    folder = setup.config().data / "commands"
    assert running(folder) == [] and not list(folder.glob("*.new")), "nothing stays"


@pytest.fixture
def execution(monkeypatch: pytest.MonkeyPatch) -> Execution:
    return Execution(monkeypatch)


def settings(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    values = {f"commands.{name}": value for name, value in changed.items()}
    monkeypatch.setattr(setup, "_current", setup.config().changed(values))


def said(events: Iterator[commands.Event]) -> list[Any]:
    found: list[Any] = []
    for event in events:
        if event.kind not in ("", "beat"):
            found.append((event.kind, event.data or event.code or event.reason))
    return found


def parts(response: Any) -> Iterator[tuple[str, Any]]:
    """The events of an answer, as they come."""
    assert response.status_code == 200, response.content
    assert response["Content-Type"] == "text/event-stream"
    for part in response.streaming_content:
        kind, _, data = part.decode().partition("\n")
        if kind.startswith("event: "):
            given = json.loads(data.removeprefix("data: "))
            yield kind.removeprefix("event: "), base64.b64decode(given["data"]) if "data" in given else given


def run(person: Any, house: House, *words: str, server: str = "front", **more: Any) -> Any:
    path = f"/v2/environments/{house.row.id}/servers/{server}/commands"
    return person.post(path, {"command": list(words), **more})


def test_a_command_runs_and_is_audited(house: House, execution: Execution) -> None:
    started = commands.start(house.caller, house.row.id, "front", (*WORDS, SECRET))
    found = said(started.events(lambda: None))
    assert found[0] == ("begin", "") and found[-1] == ("exit", 4)
    assert set(found[1:-1]) == {("stdout", b"out\n"), ("stderr", b"err\n")}
    (record,) = AuditRecord.objects.filter(action="server.command")
    assert (record.user_name, record.target_id, record.target_name) == ("ann", house.row.id, "house")
    assert record.details == {
        "server": execution.servers[0], "server_name": "front", "program": "sh", "terminal": False
    }  # fmt: skip


def test_what_is_refused(house: House, execution: Execution, eve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong, error in (
        (lambda: commands.start(eve.caller, house.row.id, "front", WORDS), NotFound),
        (lambda: commands.start(house.caller, house.row.id, "another", WORDS), NotFound),
        (lambda: commands.start(house.caller, house.row.id, "the house", WORDS), Conflict),
        (lambda: commands.start(house.caller, house.row.id, "front", ("",)), Invalid),
        (lambda: commands.start(house.caller, house.row.id, "front", ("a\0b",)), Invalid),
        (lambda: commands.start(house.caller, house.row.id, "front", ("x" * 70_000,)), TooLarge),
        (lambda: commands.start(house.caller, house.row.id, "front", ("/no/such",)), Unavailable),
        (lambda: commands.send(house.caller, house.row.id, "0" * 32), NotFound),
        (lambda: commands.send(house.caller, house.row.id, "../../x"), NotFound),
        (lambda: commands.send(eve.caller, house.row.id, "0" * 32), NotFound),
    ):
        with pytest.raises(error):
            wrong()
    row = Environment.objects.create(project_id=house.caller.project_id, name="far", cloud={"kind": "proot"})
    with pytest.raises(Unavailable, match="not on this machine"):
        monkeypatch.setattr(setup, "_current", setup.config().changed({"cloud.directory": "nothing"}))
        commands.start(house.caller, row.id, "front", WORDS)


def test_simulated_servers_and_those_of_other_clouds_say_that_they_run_none(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Conflict, match="simulated") as refused:
        commands.start(house.caller, house.row.id, "front", WORDS)
    assert "nothing of it exists" in str(refused.value.hint)
    able = RecordKind.capabilities
    monkeypatch.setattr(RecordKind, "capabilities", lambda *args: replace(able(*args), executes=True))
    with pytest.raises(Conflict, match="run no commands") as refused:
        commands.start(house.caller, house.row.id, "front", WORDS)
    assert "ssh" in str(refused.value.hint)


def test_there_are_so_many_at_once(
    house: House, execution: Execution, bob: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(monkeypatch, each_person=2, each_environment=3)
    open_ = [commands.start(house.caller, house.row.id, "front", ("sleep", "100")) for _ in range(2)]
    with pytest.raises(TooMany, match="you have"):
        commands.start(house.caller, house.row.id, "back", WORDS)
    open_.append(commands.start(bob.caller, house.row.id, "front", ("sleep", "100")))
    with pytest.raises(TooMany, match="this environment"):
        commands.start(bob.caller, house.row.id, "front", WORDS)
    for one in open_:
        one.close()
    assert said(commands.start(house.caller, house.row.id, "front", WORDS).events(lambda: None))[-1] == ("exit", 4)


def test_it_ends_after_its_time_and_a_terminal_when_nothing_happens(
    house: House, execution: Execution, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(monkeypatch, idle_seconds=1.0)
    started = commands.start(house.caller, house.row.id, "front", ("sleep", "100"), terminal=(80, 24))
    kind, reason = said(started.events(lambda: None))[-1]
    assert kind == "end" and "nothing happened" in reason
    settings(monkeypatch, seconds=1.0)
    kind, reason = said(commands.start(house.caller, house.row.id, "front", ("sleep", "100")).events(lambda: None))[-1]
    assert kind == "end" and "the most that it may" in reason


def test_a_command_that_ends_with_its_server_says_so(house: House, execution: Execution) -> None:
    """Who had a shell open was told 137 when the environment was removed."""
    killed = ("sh", "-c", "read line; kill -9 $$")

    def ends(what: str) -> list[Any]:
        started = commands.start(house.caller, house.row.id, "front", killed, takes_input=True)
        events = started.events(lambda: None)
        assert next(events).kind == "begin"
        if what:
            logs.ask(house.row, lambda cloud, owner: cloud.power(owner, started.server.id, what))  # type: ignore[attr-defined]
        commands.send(house.caller, house.row.id, started.id, b"\n")
        return said(events)[-1:]

    assert ends("") == [("exit", 137)], "its server runs"
    assert ends("stop") == [("end", "server 'front' does not run any more")]


def test_a_command_that_nobody_follows_ends(house: House, execution: Execution) -> None:
    started = commands.start(house.caller, house.row.id, "front", ("sleep", "100"))
    events = started.events(lambda: None)
    assert next(events).kind == "begin"
    events.close()
    never = commands.start(house.caller, house.row.id, "front", ("sleep", "100"))
    del never  # the client was gone before the answer began


# -- through the API ---------------------------------------------------------------------------------------------------


def test_the_api_runs_it_and_gives_it_input(house: House, execution: Execution, ann: Any, bob: Any, eve: Any) -> None:
    events = parts(run(ann, house, "sh", "-c", "cat; exit 9", input=True))
    kind, begin = next(events)
    assert kind == "begin" and begin["server"]["name"] == "front"
    path = f"/v2/environments/{house.row.id}/commands/{begin['id']}/input"
    text = base64.b64encode(b"hello").decode()
    for stranger, status in ((bob, 404), (eve, 404)):
        assert stranger.post(path, {"data": text}).status_code == status, "it is ann's, though bob is of her project"
    assert ann.post(path, {"data": "?"}).status_code == 400
    assert ann.post(path, {"data": text}).status_code == 204
    assert next(events) == ("stdout", b"hello")
    assert ann.post(path, {"end": True}).status_code == 204
    assert list(events) == [("exit", {"code": 9})]
    assert ann.post(path, {"data": text}).status_code == 404
    terminal = parts(run(ann, house, "stty", "size", terminal={"columns": 91, "rows": 33}))
    assert b"".join(data for kind, data in terminal if kind == "stdout") == b"33 91\r\n"
    assert run(ann, house, "x", terminal={"columns": 0, "rows": 1}).status_code == 400


def test_others_get_nothing(house: House, execution: Execution, ann: Any, eve: Any, people: Callable[..., Any]) -> None:
    reader = people("rita", role="reader")
    assert run(reader, house, *WORDS).status_code == 403
    assert run(eve, house, *WORDS).status_code == 404
    path = f"/v2/environments/{house.row.id}/commands/{'0' * 32}/input"
    assert reader.post(path, {"end": True}).status_code == 403
    Token.objects.filter(id=ann.caller.token_id).delete()
    assert run(ann, house, *WORDS).status_code == 401
    assert execution.servers == [] and not AuditRecord.objects.filter(action="server.command").exists()


def _take_role(ann: Any, house: House) -> None:
    Membership.objects.filter(user_id=ann.caller.user_id).update(role="reader")


def _take_membership(ann: Any, house: House) -> None:
    Membership.objects.filter(user_id=ann.caller.user_id).delete()


def _revoke(ann: Any, house: House) -> None:
    Token.objects.filter(id=ann.caller.token_id).delete()


def _remove(ann: Any, house: House) -> None:
    Environment.objects.filter(id=house.row.id).delete()


@pytest.mark.parametrize(
    "how",
    [_take_role, _revoke, *(pytest.param(one, marks=pytest.mark.campaign) for one in (_take_membership, _remove))],
)
def test_it_ends_with_the_session(
    house: House, execution: Execution, ann: Any, how: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_CHECK", 0.1)
    monkeypatch.setattr(commands, "_GLANCE", 0.05)
    events = parts(run(ann, house, "sh", "-c", "echo $$; exec sleep 100"))
    assert next(events)[0] == "begin"
    _, number = next(events)
    how(ann, house)
    kind, data = list(events)[-1]
    assert kind == "end" and data["reason"]
    assert not Path(f"/proc/{int(number)}").exists()


def test_places_of_streams_are_those_of_commands(
    house: House, execution: Execution, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "_current", setup.config().changed({"server.streams": 1}))
    first = run(ann, house, "sleep", "100")
    events = parts(first)
    assert next(events)[0] == "begin"
    refused = run(ann, house, *WORDS)
    assert refused.status_code == 429 and "retry_after" in refused.json()["error"]["details"]
    assert len(execution.servers) == AuditRecord.objects.filter(action="server.command").count() == 1, "it did not run"
    first.close()


def test_a_service_that_stops_ends_it(house: House, execution: Execution, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "stopping", lambda: True)
    found = said(commands.start(house.caller, house.row.id, "front", ("sleep", "100")).events(lambda: None))
    assert [kind for kind, _ in found] == ["begin", "end"]


def test_no_command_runs_where_large_requests_are_answered(
    house: House, execution: Execution, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There its output would be collected to its end, on this machine's disk, and all others would wait meanwhile."""
    monkeypatch.setattr(large_requests, "ONE", 50)
    with large_requests.bounded():
        with pytest.raises(large_requests.LargeRequest):
            logs.servers(house.caller, house.row.id)
        started = commands.start(house.caller, house.row.id, "front", WORDS)
    assert said(started.events(lambda: None))[-1] == ("exit", 4)
    monkeypatch.setattr(large_requests, "collects", True)
    assert run(ann, house, *WORDS).status_code == 413 and len(execution.servers) == 1


@pytest.mark.campaign  # 30 MB
def test_a_flood_costs_no_memory(house: House, execution: Execution) -> None:
    started = commands.start(house.caller, house.row.id, "front", ("head", "-c", "30000000", "/dev/zero"))
    largest = total = 0
    for event in started.events(lambda: None):
        largest, total = max(largest, len(event.data)), total + len(event.data)
    assert total == 30_000_000 and largest <= 1 << 16


# -- on the page -------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_page_of_a_terminal_is_for_those_who_may(
    house: House, ann: Any, eve: Any, people: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it opens is the API's command, with the session of the page: nothing runs for whoever only looks at it."""
    pages, path = signed_in(ann), f"/app/environments/{house.row.id}/servers"
    simulated = pages.get(f"{path}/front/terminal").content.decode()
    assert "simulated and run no commands" in simulated and 'id="terminal"' not in simulated
    assert "/terminal" not in pages.get(path).content.decode()
    execution = Execution(monkeypatch)
    assert "/terminal" in pages.get(path).content.decode()
    shown = pages.get(f"{path}/front/terminal").content.decode()
    (front,) = [one.id for one in logs.servers(house.caller, house.row.id) if one.name == "front"]
    assert f'data-commands="/v2/environments/{house.row.id}/servers/{front}/commands"' in shown
    assert "there is no server &#x27;nobody&#x27;" in pages.get(f"{path}/nobody/terminal").content.decode().lower()
    assert signed_in(people("rita", role="reader")).get(f"{path}/front/terminal").status_code == 403
    assert signed_in(eve).get(f"{path}/front/terminal").status_code == 404
    assert execution.servers == []


@pytest.mark.django_db
def test_a_web_session_runs_commands_with_the_token_of_its_page_until_it_ends(
    house: House, execution: Execution, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_CHECK", 0.1)
    monkeypatch.setattr(commands, "_GLANCE", 0.05)
    pages = signed_in(ann)
    pages.handler.enforce_csrf_checks = True
    page = pages.get(f"/app/environments/{house.row.id}/servers/front/terminal").content.decode()
    token = page.partition('"x-csrftoken": "')[2].partition('"')[0]
    path = f"/v2/environments/{house.row.id}/servers/front/commands"
    given = {"data": json.dumps({"command": ["sleep", "100"]}), "content_type": "application/json"}
    assert pages.post(path, **given).status_code == 403, "another site sends none"
    events = parts(pages.post(path, **given, headers={"x-csrftoken": token}))
    assert next(events)[0] == "begin"
    SessionStore(pages.cookies["vetro_session"].value).delete()
    kind, data = list(events)[-1]
    assert kind == "end" and data["reason"]
