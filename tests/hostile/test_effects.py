"""Each kind of effect with what is somebody else's in each argument: nothing of theirs is read, changed or hindered.

A task behind its walls may ask the effects host for anything. Here it asks, for every kind and every argument, with ids
and names of another project, of another environment of its own project, and with what is no value at all. A kind or an
argument that has no entry in `EFFECTS` fails: what it can reach has to be thought of.
"""

from __future__ import annotations

import ast
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

import vetro
from tests.clouds.stacks.hostile_templates import places, template
from tests.clouds.stacks.resources import CASES
from tests.clouds.stacks.world import hot
from vetro.clouds.interface import Owner
from vetro.engine.effect_kinds import KINDS, Answer, answer_of
from vetro.engine.host.answer import Request
from vetro.engine.host.config import build_host
from vetro.engine.host.encryption import SecretCipher
from vetro.engine.host.performer import EffectsHost
from vetro.library.stackdata import digest_of, parts_of

ME, SIBLING, STRANGER = Owner("mine", "envme"), Owner("mine", "envsib"), Owner("theirs", "envstr")
#: Stands in what the others have, never in names or ids, so that it can only come from there.
SECRET = "kZ9qTheirSecret"
#: Seconds in which a refusal comes.
SOON = 20.0


def pushed(name: str, resources: Mapping[str, Any], **sections: Any) -> dict[str, Any]:
    parts = parts_of(hot(resources, **sections))
    put = [[*part, value] for part, value in parts.items()]
    return {
        "region": None, "name": name, "digest": digest_of(parts), "base": None, "put": put, "drop": [], "known": None,
    }  # fmt: skip


_VALUE = {"r": {"type": "OS::Heat::Value", "properties": {"value": "mine"}}}
_AGENT = {"queue": "eenvme-hs", "listener": "-execution-results-eenvme-s", "id": "p1", "plan": {"Name": "p"}}

#: Each kind with all its arguments, as they work. ``network`` and ``metadef`` pass on what a query needs.
EFFECTS: Mapping[str, Mapping[str, Any]] = {
    "report": {"id": "app", "environment_id": "envme", "level": "info", "text": "x", "details": None},
    "log": {"logger": "x", "level": "info", "text": "x"},
    "track": {
        "event": "track",
        "environment": "envme",
        "instance": "x",
        "instance_type": 1,
        "type_name": "x",
        "type_title": "x",
        "unit_count": 1,
    },
    "execution": {"event": "start"},
    "agent.listen": {"queue": _AGENT["listener"], "on": True},
    "identity": {"what": "project", "of": "environment"},
    "clock": {},
    "entropy": {"bytes": 4},
    "secret": {"data": ""},
    "agent.key": {},
    "sleep": {"seconds": 0},
    "stack.read": {"region": None, "name": "stack", "wait": False},
    "stack.push": pushed("stack", _VALUE),
    "stack.delete": {"region": None, "name": "none"},
    "server.power": {"action": "stop", "servers": ["none"]},
    "snapshot.make": {"name": "k1"},
    "snapshot.restore": {"name": "k1"},
    "snapshot.drop": {"name": "k1"},
    "network": {"region": None, "query": "cidr", "router": "r", "network": "n", "version": 4},
    "metadef": {"region": None, "query": "objects", "namespace": "x", "resource_type": "x"},
    "agent.send": {**_AGENT, "login": False},
    "agent.call": {**_AGENT, "login": False, "timeout": 0.05},
    "workflow": {"region": None, "query": "create", "name": "w", "definition": "x"},
}

#: What is no value of any argument.
WRONG: tuple[Any, ...] = (
    float("nan"), float("inf"), -float("inf"), None, True, -1, 10**30, 1e308, "", "\0", "a\0b", "../../etc/passwd",
    "/etc/passwd", "..", "%00", "\ud800",
    "\u0435envstr-hs", "\uff45envstr-hs", "eenvstr-hs\n", "EENVSTR-HS", "eenvme-hs/../../eenvstr-hs", "eenvme-",
    "x" * 100_000,
    "-execution-results-", "-execution-results-eenvme", "-execution-results-eenvme-/../eenvstr-s",
    [], {}, [[]], ["stack"], {"a": {"b": []}}, [None], {"": None},
)  # fmt: skip


class Neighbours:
    """A cloud of three environments of two projects; two of them have one of everything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys = [Fernet.generate_key().decode()]
        self.hosts = {owner: self._host(owner) for owner in (ME, SIBLING, STRANGER)}
        for owner in (SIBLING, STRANGER):
            self._settle(owner)
        self.me = self.hosts[ME]
        self.before = self._rows()
        self.foreign = self._foreign()

    def _host(self, owner: Owner) -> EffectsHost:
        return build_host(
            {
                "cloud": {"kind": "record", "directory": str(self.folder)},
                "owner": {"project": owner.project, "environment": owner.environment, "user": "u"},
                "secrets": self.keys,
                "signing_key": str(self.folder / "key.pem"),
            }
        )

    def _settle(self, owner: Owner) -> None:
        host, at = self.hosts[owner], owner.environment
        secret = {"secret": {"type": "OS::Heat::Value", "properties": {"value": SECRET}}}
        outputs = {"secret": {"value": {"get_attr": ["secret", "value"]}}}
        host.perform("s", "stack.push", pushed(f"stack-{at}", secret, outputs=outputs))
        for number, name in enumerate(CASES):
            text = json.dumps(CASES[name][0]).replace('"web"', f'"web-{at}"').replace('"inner"', f'"inner-{at}"')
            try:
                host.perform(f"c{number}", "stack.push", pushed(f"case-{number}-{at}", json.loads(text)))
            except Exception as error:  # a type that takes what another case has taken: the others are there
                assert "Unknown" not in type(error).__name__
        plan = {**_AGENT, "queue": f"e{at}-hs", "listener": f"-execution-results-e{at}-s", "id": f"plan-{at}"}
        host.perform("a", "agent.send", {**plan, "plan": {"Name": "p", "Body": SECRET}})

    def _rows(self) -> set[tuple[str, str]]:
        """All rows of all files of the cloud that mention the others."""
        found = set()
        for path in (self.folder / "cloud.db", self.folder / "record.db", *self.folder.glob("channels/*/channel.db")):
            if not path.exists():
                continue
            with sqlite3.connect(path) as db:
                tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                for table in tables:
                    rows = map(repr, db.execute(f"SELECT * FROM {table}"))
                    found |= {(f"{path}/{table}", row) for row in rows if "envs" in row or "theirs" in row}
            db.close()
        return found

    def _foreign(self) -> dict[str, str]:
        """What the others' things are called, by what it is."""
        found = {"project": STRANGER.project, "environment": STRANGER.environment, "stack": "stack-envstr"}
        found |= {"queue": "eenvstr-hs", "results": "-execution-results-eenvstr-s", "plan": "plan-envstr"}
        found |= {"sibling queue": "eenvsib-hs", "sibling results": "-execution-results-eenvsib-s"}
        found |= {"sibling stack": "stack-envsib", "sealed": SecretCipher(self.keys, STRANGER.project).encrypt(SECRET)}
        with sqlite3.connect(self.folder / "cloud.db") as db:
            for id, kind, name in db.execute("SELECT id, kind, name FROM records WHERE project = ?", ("theirs",)):
                found[f"{kind} id"] = id
                if "envstr" in name:
                    found[f"{kind} name"] = name
            private = "('server', 'port', 'floatingip', 'config', 'deployment', 'wait_handle')"
            rows = db.execute(f"SELECT id, kind FROM records WHERE environment = 'envsib' AND kind IN {private}")
            found |= {f"sibling {kind} id": id for id, kind in rows}
            ids = db.execute("SELECT id FROM stacks WHERE project = 'theirs'").fetchall()
            found["stack id"] = ids[0][0]
        db.close()
        return found

    def ask(self, kind: str, args: Mapping[str, Any]) -> Any:
        """The answer or the error of an effect, as the task gets it."""
        ends: list[Any] = []
        request = Request(f"{kind}/{time.monotonic_ns()}", kind, args)
        self.me.begin(request, lambda key, answer, error: ends.append(error if error is not None else answer))
        until = time.monotonic() + SOON
        while not ends and time.monotonic() < until:
            time.sleep(0.001)
        self.me.stored(request.key) if ends else self.me.abandon(request.key)
        return ends[0] if ends else "nothing"

    def untouched(self, tried: Any) -> None:
        """What the others had is there as it was."""
        missing = self.before - self._rows()
        assert not missing, (tried, sorted(missing)[:3])

    def close(self) -> None:
        for host in self.hosts.values():
            host.close()


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neighbours]:
    found = Neighbours(tmp_path_factory.mktemp("cloud"))
    yield found
    found.close()


def test_every_kind_and_argument_has_an_entry() -> None:
    """As the library asks for them: a new one has to be thought of here."""
    assert set(EFFECTS) == set(KINDS)
    asked: dict[str, set[str]] = {}
    for path in Path(vetro.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "perform" or len(node.args) < 2:
                continue
            kind = node.args[1]
            if isinstance(kind, ast.Constant) and isinstance(kind.value, str):
                asked.setdefault(kind.value, set()).update(word.arg for word in node.keywords if word.arg)
    assert {"stack.push", "agent.call", "network"} & set(asked)
    for kind, names in asked.items():
        assert names <= set(EFFECTS[kind]), f"{kind}: {sorted(names - set(EFFECTS[kind]))}"


def test_the_others_have_something_to_take(neighbours: Neighbours) -> None:
    kinds = {"server id", "port id", "network id", "subnet id", "volume id", "keypair id", "security_group id"}
    assert kinds <= set(neighbours.foreign) and "sibling server id" in neighbours.foreign
    assert len(neighbours.before) > 100 and any(SECRET in row for _, row in neighbours.before)


@pytest.mark.attack("effects", "another project's ids")
@pytest.mark.parametrize("kind", EFFECTS)
def test_no_argument_reaches_another_project(neighbours: Neighbours, kind: str) -> None:
    valid = EFFECTS[kind]
    for argument in valid:
        for name, value in neighbours.foreign.items():
            answer = neighbours.ask(kind, {**valid, argument: value})
            assert SECRET not in json.dumps(answer, default=str), (argument, name)
            assert answer != "nothing" or answer_of(kind) is Answer.NONE, (argument, name)
        neighbours.untouched((kind, argument))
    # And all at once: another environment's name in each place where it fits.
    if kind.startswith("agent.") and valid:
        theirs = {"queue": "eenvstr-hs", "listener": "-execution-results-eenvstr-s", "id": "plan-envstr"}
        told = neighbours.ask(kind, {**valid, **{key: value for key, value in theirs.items() if key in valid}})
        assert isinstance(told, dict) and told["kind"] in ("bad-argument", "error"), told
        neighbours.untouched(kind)


@pytest.mark.attack("effects", "another project's servers")
@pytest.mark.parametrize("action", ["start", "stop", "restart"])
def test_no_server_of_others_is_switched(neighbours: Neighbours, action: str) -> None:
    ids = [value for name, value in neighbours.foreign.items() if name.endswith("server id")]
    assert len(ids) == 2
    told = neighbours.ask("server.power", {"action": action, "servers": ids})
    assert told == {"failed": {id: f"there is no server '{id}'" for id in ids}, "left": []}
    neighbours.untouched(action)


@pytest.mark.attack("effects", "wrong types and names")
@pytest.mark.parametrize("kind", EFFECTS)
def test_no_argument_that_is_none_does_harm(neighbours: Neighbours, kind: str) -> None:
    """It ends soon, with an error that is one, or has no effect; the host works on."""
    valid = EFFECTS[kind]
    for argument in valid:
        for value in WRONG:
            answer = neighbours.ask(kind, {**valid, argument: value})
            json.dumps(answer)
            assert answer != "nothing" or answer_of(kind) is Answer.NONE, (argument, value)
            if isinstance(answer, dict) and "message" in answer and "names" in answer:
                assert len(answer["message"]) < 5000, (argument, repr(value)[:50])
                assert "code" in answer, (argument, repr(value)[:50], answer)  # refused on purpose
        answer = neighbours.ask(kind, {key: item for key, item in valid.items() if key != argument})
        assert answer != "nothing" or answer_of(kind) is Answer.NONE, argument
    neighbours.untouched(kind)
    assert isinstance(neighbours.ask("clock", {}), float)


#: What properties want whose names do not say so.
_WANTED = {"instance_uuid": "server", "pool_member": "member", "address": "server", "image": "volume", "fixed": "port"}


def _chosen(foreign: Mapping[str, str], place: Any, number: int, every: bool) -> list[tuple[str, str]]:
    """All of them, or what the property is made for, and one more that comes in turn."""
    found = sorted(foreign.items())
    if every:
        return found
    words = " ".join(place[1]).lower()
    words += "".join(f" {kind}" for word, kind in _WANTED.items() if word in words)
    fitting = [(name, value) for name, value in found if name.split()[-2 if " " in name else 0] in words]
    return [*fitting, found[number % len(found)]]


@pytest.mark.attack("effects", "another project's ids")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.campaign)], ids=["some", "all"])
def test_no_property_of_a_template_reaches_another_project(neighbours: Neighbours, every: bool) -> None:
    """By default every second place; `test_no_argument_reaches_another_project` tries all arguments of effects."""
    for number, place in list(enumerate(places()))[:: 1 if every else 2]:
        for name, value in _chosen(neighbours.foreign, place, number, every):
            _, resources = template(place, value)
            args = pushed("probe", resources, outputs={})
            answer = neighbours.ask("stack.push", args)
            assert answer != "nothing", (place, name)
            assert SECRET not in json.dumps(answer), (place, name)
            told = neighbours.ask("stack.read", {"name": "probe", "region": None, "wait": False})
            assert SECRET not in json.dumps(told), (place, name)
            _holds_nothing(neighbours, (place, name))
            neighbours.ask("stack.delete", {"name": "probe", "region": None})
        neighbours.untouched(place)


def _holds_nothing(neighbours: Neighbours, tried: Any) -> None:
    """Nothing of ours lies in, on or at what is theirs."""
    ids = tuple(value for name, value in neighbours.foreign.items() if name.endswith(" id") and "sibling" not in name)
    marks = ",".join("?" * len(ids))
    with sqlite3.connect(neighbours.folder / "cloud.db") as db:
        rows = db.execute(
            f"SELECT kind, name FROM records WHERE project = 'mine' AND (parent IN ({marks}) OR holder IN ({marks}))",
            ids * 2,
        ).fetchall()
    db.close()
    assert not rows, (tried, rows)


@pytest.mark.attack("effects", "shared networks")
def test_a_tenant_s_network_is_not_for_all_however_it_is_called(neighbours: Neighbours) -> None:
    net = {"n": {"type": "OS::Neutron::Net", "properties": {"name": "for-all", "shared": True}}}
    assert "outputs" in neighbours.ask("stack.push", pushed("shared", net))
    theirs = neighbours.hosts[STRANGER]
    seen = theirs.perform("n", "network", {"region": None, "query": "networks"})
    assert "for-all" not in [record["name"] for record in seen]
    port = {"p": {"type": "OS::Neutron::Port", "properties": {"network": "for-all"}}}
    with pytest.raises(Exception, match="for-all"):
        theirs.perform("p", "stack.push", pushed("taker", port))
    # Nor does it stand for one that is there for all.
    named = {"n": {"type": "OS::Neutron::Net", "properties": {"name": "private", "shared": True}}}
    neighbours.ask("stack.push", pushed("shared", named))
    server = {"p": {"type": "OS::Neutron::Port", "properties": {"network": "private"}}}
    outputs = {"net": {"value": {"get_attr": ["p", "network_id"]}}}
    theirs.perform("q", "stack.push", pushed("taker", server, outputs=outputs))
    mine = {row["id"] for row in neighbours.me.perform("m", "network", {"region": None, "query": "networks"})}
    read = theirs.perform("r", "stack.read", {"name": "taker", "region": None, "wait": False})
    common = {row["id"] for row in theirs.perform("t", "network", {"region": None, "query": "networks"})}
    assert read["outputs"]["net"] in mine & common or read["outputs"]["net"] not in mine
    neighbours.ask("stack.delete", {"name": "shared", "region": None})


@pytest.mark.attack("effects", "sealed texts")
def test_sealed_texts_of_others_stay_closed(neighbours: Neighbours) -> None:
    told = neighbours.ask("secret", {"data": neighbours.foreign["sealed"]})
    assert told["code"] == "ENG322" and SECRET not in json.dumps(told)
    own = SecretCipher(neighbours.keys, ME.project).encrypt("mine")
    assert neighbours.ask("secret", {"data": own}) == "mine"
    # A project whose name begins as another one's, or holds what stands between name and text.
    for other in ("mine\0x", "min", "MINE", "mine "):
        assert neighbours.ask("secret", {"data": SecretCipher(neighbours.keys, other).encrypt("x")}) != "x"
