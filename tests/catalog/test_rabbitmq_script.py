"""What is done at a server of RabbitMQ: users and their rights, names that are taken, backups that hold no secret."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.catalog.scripts import script

ADMIN = {"user": "vetro_admin", "password": "admin-Password-1"}
LOGINS = [{"user": name, "password": f"{name}-Password-1"} for name in ("shop", "shop_a")]
GIVEN = {"admin": ADMIN, "node": "rabbit@mq-1", "first": "rabbit@mq-1", "applications": ["shop", "shop_a"]}


class Broker:
    """Users, virtual hosts and rights as RabbitMQ keeps them, behind its HTTP interface."""

    def __init__(self) -> None:
        self.users: dict[str, dict[str, Any]] = {}
        self.hosts = ["/"]
        self.rights: dict[tuple[str, str], dict[str, str]] = {}
        self.nodes = {"rabbit@mq-1": True}
        self.queues: list[dict[str, Any]] = []
        self.definitions: dict[str, Any] = {}
        self.imported: dict[str, Any] = {}
        self.changes: list[str] = []
        self.programs: list[tuple[str, ...]] = []
        self.put("users", ADMIN["user"], {"password": ADMIN["password"], "tags": "administrator"})
        self.changes.clear()

    def program(self, *words: str) -> None:
        self.programs.append(words)
        if words[1] == "add_vhost":
            self.hosts.append(words[2])
        if words[1] == "grow":
            for queue in self.queues:
                queue["members"].append(words[2])

    def put(self, kind: str, name: str, body: dict[str, Any], user: str = "") -> None:
        self.changes.append(f"PUT {kind}/{name}")
        if kind == "users":
            digest = b"salt" + hashlib.sha256(b"salt" + body["password"].encode()).digest()
            tags = [tag for tag in body["tags"].split(",") if tag]
            self.users[name] = {"name": name, "password_hash": base64.b64encode(digest).decode(), "tags": tags}
        else:
            self.rights[name, user] = body

    def get(self, kind: str, *names: str) -> Any:
        rights = [{"vhost": host, "user": user, **found} for (host, user), found in self.rights.items()]
        if kind == "permissions" and names:
            return self.rights.get((names[0], names[1]))
        if kind == "users" and names:
            return self.users.get(names[0])
        return {
            "overview": {"rabbitmq_version": "3.10.8", "object_totals": {"queues": 2}, "queue_totals": {"messages": 7}},
            "users": list(self.users.values()),
            "vhosts": [{"name": name} for name in self.hosts],
            "permissions": rights,
            "nodes": [{"name": name, "running": up, "mem_alarm": not up} for name, up in self.nodes.items()],
            "queues": self.queues,
            "definitions": {"users": list(self.users.values()), "permissions": rights, **self.definitions},
        }[kind]

    def delete(self, kind: str, name: str) -> None:
        self.changes.append(f"DELETE {kind}/{name}")
        if kind == "users":
            del self.users[name]
        self.rights = {key: value for key, value in self.rights.items() if name != key[kind == "users"]}
        self.hosts = [one for one in self.hosts if kind != "vhosts" or one != name]


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def node(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The script, beside the broker."""
    word = base64.b64encode(f"{ADMIN['user']}:{ADMIN['password']}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            _, _, kind, *names = [unquote(part) for part in urlsplit(self.path).path.split("/")]
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
            status, found = 200, None
            if self.headers["Authorization"] != f"Basic {word}":
                status, found = 401, {"error": "not_authorised"}
            elif self.command == "GET":
                found = broker.get(kind, *names)
                status = 200 if found is not None else 404
            elif self.command == "PUT":
                broker.put(kind, names[0], body, *names[1:])
            elif self.command == "DELETE":
                broker.delete(kind, names[0])
            else:
                broker.imported = body
            data = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_DELETE = do_POST = answer

        def log_message(self, *words: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    module = script("RabbitMQ", "1.1.0", "rabbitmq.py")
    monkeypatch.setattr(module, "PORT", server.server_port)
    monkeypatch.setattr(module, "PATIENCE", 0)
    monkeypatch.setattr(module, "program", broker.program)
    mask = os.umask(0o022)
    yield module
    os.umask(mask)
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_virtual_host_belongs_to_its_logins_and_to_nobody_else(broker: Broker, node: Any) -> None:
    assert node.host({**GIVEN, "name": "shop", "logins": LOGINS[:1]}) == {"changed": True}
    assert broker.programs == [("rabbitmqctl", "add_vhost", "shop", "--default-queue-type", "quorum")]
    changes = len(broker.changes)
    assert node.host({**GIVEN, "name": "shop", "logins": LOGINS[:1]}) == {"changed": False}
    assert len(broker.changes) == changes and len(broker.programs) == 1
    node.host({**GIVEN, "name": "shop", "logins": LOGINS})
    assert {*broker.users} == {"vetro_admin", "shop", "shop_a"}
    node.host({**GIVEN, "name": "shop", "logins": LOGINS[1:]})
    assert {*broker.users} == {"vetro_admin", "shop_a"} and {*broker.rights} == {("shop", "shop_a")}
    node.drop({**GIVEN, "name": "shop"})
    assert {*broker.users} == {"vetro_admin"} and broker.hosts == ["/"]


@pytest.mark.parametrize("user", ["vetro_admin", "news", "shop_c", "guest"])
def test_whoever_is_no_login_of_a_virtual_host_does_not_get_it(broker: Broker, node: Any, user: str) -> None:
    with pytest.raises(SystemExit, match=f"'{user}' is no login of the virtual host 'shop'"):
        node.host({**GIVEN, "name": "shop", "logins": [*LOGINS, {"user": user, "password": "x" * 12}]})
    assert broker.changes == [] and broker.programs == []


@pytest.mark.parametrize("person", ["shop", "shop_a", "shop_b"])
def test_people_become_no_logins_of_applications(broker: Broker, node: Any, person: str) -> None:
    """Somebody was called so before the virtual host was made: neither do they get it, nor do they go with it."""
    broker.put("users", person, {"password": "person-Password", "tags": "management"})
    with pytest.raises(SystemExit, match=f"a person '{person}', who would get the virtual host 'shop'"):
        node.host({**GIVEN, "name": "shop", "logins": LOGINS[:1]})
    assert broker.programs == [] and node.same("person-Password", broker.users[person]["password_hash"])
    node.drop({**GIVEN, "name": "shop"})
    assert person in broker.users


def test_a_password_that_is_another_one_is_set(broker: Broker, node: Any) -> None:
    node.host({**GIVEN, "name": "shop", "logins": LOGINS[:1]})
    other = {**LOGINS[0], "password": "another-Password"}
    assert node.host({**GIVEN, "name": "shop", "logins": [other]}) == {"changed": True}
    assert node.same("another-Password", broker.users["shop"]["password_hash"])


@pytest.mark.parametrize(
    "name", ["shop_a", "vetro_admin", "vetro_x", "guest", "Shop", "shop\n", "../users", "/", "", "a b", "--vhost"]
)
def test_names_of_virtual_hosts_that_are_none(broker: Broker, node: Any, name: str) -> None:
    for command in (node.host, node.drop):
        with pytest.raises(SystemExit, match="no virtual host"):
            command({**GIVEN, "name": name, "logins": LOGINS})
    assert broker.changes == [] and broker.programs == []


@pytest.mark.parametrize("name", ["vetro_admin", "vetro_x", "guest", "shop", "shop_b", "Ada", "ada\n"])
def test_people_do_not_take_names_of_others(broker: Broker, node: Any, name: str) -> None:
    broker.hosts.append("shop")
    with pytest.raises(SystemExit, match="nobody can be called"):
        node.grant({**GIVEN, "login": {"user": name, "password": "x" * 12}, "host": "shop", "writes": True})
    assert broker.changes == []


def test_people(broker: Broker, node: Any) -> None:
    node.host({**GIVEN, "name": "shop", "logins": LOGINS[:1]})
    ada = {"user": "ada", "password": "ada-Password-1"}
    with pytest.raises(SystemExit, match="no virtual host 'news', only /, shop"):
        node.grant({**GIVEN, "login": ada, "host": "news", "writes": False})
    node.grant({**GIVEN, "login": ada, "host": "shop", "writes": False})
    assert node.users(GIVEN) == [{"user": "ada", "virtualHosts": ["shop"], "writes": False}]
    assert broker.rights["shop", "ada"]["write"] == broker.rights["shop", "ada"]["configure"] == ""
    node.grant({**GIVEN, "login": ada, "host": "shop", "writes": True})
    assert node.users(GIVEN)[0]["writes"]
    for user in ("shop", "vetro_admin", "eve"):
        with pytest.raises(SystemExit, match="no user"):
            node.revoke({**GIVEN, "user": user})
    node.revoke({**GIVEN, "user": "ada"})
    assert node.users(GIVEN) == []


def test_a_backup_is_for_nobody_else_and_brings_no_user_back(broker: Broker, node: Any, tmp_path: Path) -> None:
    node.host({**GIVEN, "name": "shop", "logins": LOGINS[:1]})
    node.grant({**GIVEN, "login": {"user": "ada", "password": "ada-Password-1"}, "host": "shop", "writes": True})
    work = {"name": "work", "vhost": "shop"}
    broker.definitions = {"queues": [work], "global_parameters": [{"name": "cluster_id"}]}
    path = tmp_path / "one"
    assert node.save({**GIVEN, "path": str(path)})["queues"] == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    assert not [word for word in ("password", "vetro_admin", "cluster_id", "ada", "permissions") if word in text]
    node.drop({**GIVEN, "name": "shop"})
    node.revoke({**GIVEN, "user": "ada"})
    accounts = [{"name": "shop", "logins": LOGINS[1:]}]
    done = node.restore({**GIVEN, "path": str(path), "accounts": accounts})
    assert done == {"changed": True, "queues": 1, "hosts": ["shop"], "left": []}
    assert broker.hosts == ["/", "shop"] and broker.imported["queues"] == [work]
    assert {*broker.imported} == {*node.SAVED} and not {"users", "permissions"} & {*broker.imported}
    assert {*broker.users} == {"vetro_admin", "shop_a"} and {*broker.rights} == {("shop", "shop_a")}


def test_what_is_no_applications_now_stays_in_the_backup(
    broker: Broker, node: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Virtual hosts of applications that were removed do not come back, nor does anybody by rights of the file."""
    rows = [{"name": "work", "vhost": host} for host in ("/", "old", "shop")]
    rights = [{"user": "eve", "vhost": "shop", "configure": ".*", "write": ".*", "read": ".*"}]
    saved = {"queues": rows, "permissions": rights, "users": [{"name": "eve"}], "policies": [{"vhost": "old"}]}
    path = tmp_path / "one"
    path.write_text(json.dumps({"format": node.FORMAT, "hosts": ["/", "old", "shop"], "definitions": saved}))
    accounts = [{"name": "shop", "logins": LOGINS[:1]}, {"name": "late", "logins": []}]
    done = node.restore({**GIVEN, "path": str(path), "accounts": accounts})
    assert (done["hosts"], done["left"]) == (["shop"], ["old"]) and broker.hosts == ["/", "shop"]
    assert "no application's: the virtual hosts old" in capsys.readouterr().err
    assert {key: value for key, value in broker.imported.items() if value} == {"queues": [rows[2]]}


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"format": "other"}', "\x00\xff"])
def test_a_file_that_is_no_backup(broker: Broker, node: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "one").write_text(text)
    with pytest.raises(SystemExit, match="no whole backup"):
        node.restore({**GIVEN, "path": str(tmp_path / "one"), "accounts": []})
    assert broker.imported == {}


def test_a_member_takes_what_queues_of_the_cluster_hold(broker: Broker, node: Any) -> None:
    broker.queues = [{"name": "work", "vhost": "shop", "type": "quorum", "members": ["rabbit@mq-1"]}]
    assert node.member(GIVEN) == {"changed": False} and broker.programs == []
    broker.nodes["rabbit@mq-2"] = True
    assert node.member({**GIVEN, "node": "rabbit@mq-2"}) == {"changed": True}
    assert broker.programs == [("rabbitmq-queues", "grow", "rabbit@mq-2", "all")]
    broker.queues[0]["online"] = ["rabbit@mq-1"]
    with pytest.raises(SystemExit, match="does not have all queues of the cluster yet: work"):
        node.member({**GIVEN, "node": "rabbit@mq-2"})
    with pytest.raises(SystemExit, match="cluster of its own"):
        node.member({**GIVEN, "first": "rabbit@other-1"})


def test_a_member_does_not_wait_for_queues_that_come_later(
    broker: Broker, node: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client declares one queue after the other, each on three nodes of five; another client's goes meanwhile."""
    broker.nodes["rabbit@mq-2"] = True
    broker.queues = [
        {"name": name, "vhost": "shop", "type": "quorum", "members": ["rabbit@mq-1"]} for name in ("work", "brief")
    ]

    def program(*words: str) -> None:
        broker.program(*words)
        broker.queues = [*broker.queues[:1], {**broker.queues[0], "name": "later", "members": ["rabbit@mq-1"]}]

    monkeypatch.setattr(node, "program", program)
    assert node.member({**GIVEN, "node": "rabbit@mq-2"}) == {"changed": True}
    assert [one["members"] for one in broker.queues] == [["rabbit@mq-1", "rabbit@mq-2"], ["rabbit@mq-1"]]


LEAVING = ["rabbit@mq-2", "rabbit@mq-3"]


@pytest.mark.parametrize("kind", ["quorum", "stream"])
@pytest.mark.parametrize("members", [LEAVING, LEAVING[:1]])
def test_a_queue_of_leaving_nodes_only_keeps_them(broker: Broker, node: Any, kind: str, members: list[str]) -> None:
    """Each of them alone could go: the other one has the queue."""
    broker.nodes = dict.fromkeys(("rabbit@mq-1", *LEAVING), True)
    queue = {"name": "old", "vhost": "shop", "type": kind, "node": members[0], "members": members, "messages": 0}
    broker.queues = [queue, {**queue, "name": "wide", "members": ["rabbit@mq-1", *LEAVING]}]
    with pytest.raises(SystemExit, match=r"has the messages of the queues old of shop: take them first, nobody leaves"):
        node.leaving({**GIVEN, "gone": LEAVING})
    assert broker.programs == []
    broker.queues.remove(queue)
    assert node.leaving({**GIVEN, "gone": LEAVING}) == {"changed": False}


def test_messages_that_come_while_a_node_leaves_keep_it(
    broker: Broker, node: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.nodes["rabbit@mq-3"] = True
    late = {"name": "late", "vhost": "shop", "type": "classic", "node": "rabbit@mq-3", "messages": 1}

    def program(*words: str) -> None:
        broker.program(*words)
        broker.queues = [late]

    monkeypatch.setattr(node, "program", program)
    with pytest.raises(SystemExit, match="queues late of shop"):
        node.forget({**GIVEN, "gone": "rabbit@mq-3"})
    assert [words[1] for words in broker.programs] == ["shrink"]


def test_who_has_messages_alone_does_not_leave(broker: Broker, node: Any) -> None:
    gone = {**GIVEN, "gone": "rabbit@mq-3"}
    assert node.forget(gone) == {"changed": False}
    broker.nodes["rabbit@mq-3"] = True
    broker.queues = [{"name": "old", "vhost": "shop", "type": "classic", "node": "rabbit@mq-3", "messages": 2}]
    with pytest.raises(SystemExit, match="nobody but rabbit@mq-3 has the messages of the queues old of shop"):
        node.forget(gone)
    with pytest.raises(SystemExit, match="nobody but rabbit@mq-3 has the messages of the queues old of shop"):
        node.leaving({**GIVEN, "gone": ["rabbit@mq-2", "rabbit@mq-3"]})
    assert broker.programs == []
    broker.queues[0]["messages"] = 0
    assert node.forget(gone) == {"changed": True}
    assert [words[1] for words in broker.programs] == ["shrink", "stop_app", "forget_cluster_node"]
    with pytest.raises(SystemExit, match="no name of a node"):
        node.forget({**GIVEN, "gone": "--all"})


def test_a_dead_server_is_forgotten_without_being_asked(broker: Broker, node: Any) -> None:
    broker.nodes["rabbit@mq-3"] = False
    broker.queues = [{"name": "old", "vhost": "shop", "type": "classic", "node": "rabbit@mq-3", "messages": 2}]
    assert node.leaving({**GIVEN, "gone": ["rabbit@mq-3"]}) == {"changed": False}
    node.forget({**GIVEN, "gone": "rabbit@mq-3"})
    assert [words[1] for words in broker.programs] == ["shrink", "forget_cluster_node"]
    broker.nodes["rabbit@mq-1"] = False
    seen = node.status(GIVEN)
    assert seen["alarms"] == ["memory"] and seen["away"] == ["rabbit@mq-1", "rabbit@mq-3"] and seen["messages"] == 7


def test_who_is_not_let_in_is_told(node: Any) -> None:
    wrong = {**GIVEN, "admin": {**ADMIN, "password": "wrong"}}
    with pytest.raises(node.Failed, match="status 401"):
        node.member(wrong)
