"""From the service's settings to an agent: its environment's login reaches it through Heat, and nobody else sees it."""

from __future__ import annotations

import base64
import configparser
import json
import queue
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amqp import Connection as RawConnection
from amqp import Message as RawMessage
from amqp.exceptions import AccessRefused, NotAllowed

from tests.agent.agentworld import AgentProcess, body_plan, wait_for
from tests.agent.broker import Broker
from tests.library.deploying import Deployed, server
from tests.plugins.openstack.fake import Fake
from vetro.agent.broker_accounts import BrokerAccounts, broker_of
from vetro.agent.hidden_password import PLACEHOLDER
from vetro.agent.sockets import results_prefix
from vetro.clouds.interface import Owner
from vetro.engine.host.answer import BadRequest, Request
from vetro.engine.host.config import build_host
from vetro.engine.host.performer import EffectsHost
from vetro.library.broker_names import answers_exchange, server_mark
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.tasks import spec

OWNER = Owner("project", "env")
#: Stands for the password of the environment where tests are collected.
PASSWORD = "(the password)"
TASK: Any = SimpleNamespace(id="t", kind="deploy", project_id="project", environment_id="env", user_id="u", spec={})


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake("compute") as found:
        yield found


@pytest.fixture
def config(broker: Broker, fake: Fake, tmp_path: Path) -> Iterator[Config]:
    admin = {"url": f"http://127.0.0.1:{broker.management_port}"}
    found = Config.load(
        tmp_path,
        environ={},
        overrides={
            "cloud.kind": "openstack",
            "cloud.openstack": {
                "auth_url": fake.url, "username": "worker", "password": "secret", "project_name": "p",
            },
            "engine.broker": {
                "host": "127.0.0.1", "port": broker.port, "login": "guest", "password": "guest", "management": admin,
            },
        },
    )  # fmt: skip
    yield found
    spec.forget_environment(found, TASK)


@pytest.fixture
def host(config: Config) -> Iterator[EffectsHost]:
    found = build_host(spec.host_config(config, TASK))
    yield found
    found.close()


def accounts(config: Config) -> BrokerAccounts:
    broker, management = broker_of(config["engine.broker"])
    assert management is not None
    return BrokerAccounts(broker, management, config.path("engine.signing_key"))


def password(config: Config) -> str:
    return accounts(config).password(OWNER)


def test_the_login_gets_to_the_server_and_not_to_the_task(
    config: Config, fake: Fake, host: EffectsHost, tmp_path: Path, program: Path
) -> None:
    # The real library makes the boot script out of what tasks see.
    settings = spec.engine_settings(config, OWNER.environment)
    made = Deployed(server(), settings=settings)
    pushes = made.host.performed("stack.push")
    seen = json.dumps([settings, made.model, pushes])
    assert "server_password" in seen and password(config) not in seen

    for number, push in enumerate(pushes):
        host.perform(f"0/{number}", "stack.push", {**push, "known": None})
    (stack,) = fake.stacks.values()
    script = stack["body"]["template"]["resources"]["boot_script_web"]["properties"]["config"]
    files = {
        path: base64.b64decode(text).decode()
        for path, text in re.findall(r"^unpack \d+ (\S+) <<'END_OF_FILE'\n(.*?)\nEND_OF_FILE$", script, re.S | re.M)
    }
    conf = configparser.RawConfigParser()
    conf.read_string(files["/etc/murano/agent.conf"])
    assert conf["rabbitmq"]["password"] == accounts(config).server_password(OWNER, server_mark("eenv-hsrv"))
    assert "PasswordOfThis" not in json.dumps(stack["body"])

    # What comes back is what was sent, also where it is read by somebody who does not know it.
    pushed = host.perform("1/0", "stack.read", {"name": pushes[-1]["name"]})
    assert pushed["digest"] == pushes[-1]["digest"]
    assert conf["rabbitmq"]["password"] not in json.dumps(pushed)
    assert host.perform("1/1", "stack.push", {**pushes[-1], "known": None})["outputs"] is not None

    agent = AgentProcess(tmp_path / "agent", program, {})
    own = {name: value for name, value in conf["rabbitmq"].items() if name not in conf.defaults()}
    (agent.folder / "z.conf").write_text("[rabbitmq]\n" + "".join(f"{key} = {own[key]}\n" for key in own))
    try:
        agent.start()
        plan = body_plan("return 'here'")
        call = {
            "queue": own["input_queue"],
            "listener": own["result_routing_key"],
            "id": plan["ID"],
            "plan": plan,
            "timeout": 30,
            "login": True,
        }
        assert host.perform("2/0", "agent.call", call)["result"]["Body"] == "here"
    finally:
        agent.stop()


def test_a_console_does_not_show_it(config: Config, fake: Fake, host: EffectsHost) -> None:
    made = Deployed(server(), settings=spec.engine_settings(config, OWNER.environment))
    for number, push in enumerate(made.host.performed("stack.push")):
        host.perform(f"0/{number}", "stack.push", {**push, "known": None})
    (stack,) = fake.stacks.values()
    stack["resources"] = [{"resource_name": "web", "resource_type": "OS::Nova::Server", "physical_resource_id": "n1"}]
    fake.answers["nova", "/servers/n1/action"] = {"output": f"login with {password(config)} failed"}
    assert host.cloud.console(OWNER, "n1") == f"login with {PLACEHOLDER} failed"


@pytest.mark.parametrize(
    ("output", "status", "words"),
    [
        ("no more space on device\npip: no matching distribution", 200, "its console ends with:\nno more space on"),
        (f"{PASSWORD} is wrong", 200, f"its console ends with:\n{PLACEHOLDER} is wrong"),
        pytest.param("", 200, "the agent of server 'web' has not come for ", marks=pytest.mark.campaign),
        pytest.param(
            "",
            404,
            "the console of its server cannot be read: Nova has no server 'n1' any more",
            marks=pytest.mark.campaign,
        ),
    ],
)
def test_an_agent_that_never_comes_is_told_with_what_nova_shows(
    config: Config,
    fake: Fake,
    host: EffectsHost,
    monkeypatch: pytest.MonkeyPatch,
    output: str,
    status: int,
    words: str,
) -> None:
    deadlines = "vetro.engine.host.agent_watch."
    monkeypatch.setattr(deadlines + "GLANCE", 0.05)
    monkeypatch.setattr(deadlines + "WAITS", 0.1)
    made = Deployed(server(), settings=spec.engine_settings(config, OWNER.environment))
    for number, push in enumerate(made.host.performed("stack.push")):
        host.perform(f"0/{number}", "stack.push", {**push, "known": None})
    (stack,) = fake.stacks.values()
    stack["resources"] = [{"resource_name": "web", "resource_type": "OS::Nova::Server", "physical_resource_id": "n1"}]
    fake.servers = {"n1": {"id": "n1", "name": "web", "status": "ACTIVE"}}
    if status == 200:
        fake.answers["nova", "/servers/n1/action"] = {"output": output.replace(PASSWORD, password(config))}
    told: queue.Queue[Any] = queue.Queue()
    plan = body_plan("return 'here'")
    args = {"queue": "eenv-hsrv", "listener": results_prefix(OWNER) + "x", "id": plan["ID"], "plan": plan}
    request = Request("2/0", "agent.call", {**args, "timeout": 600, "login": True}, progress=told.put)
    host.begin(request, lambda *end: told.put(end))
    first = told.get(timeout=60)["report"]
    assert first["level"] == "info" and first["text"].startswith("waits for the agent ")
    assert ("of server 'web'" in first["text"]) == (status == 200)
    monkeypatch.setattr(deadlines + "TOO_LONG", 0.2)
    last = told.get(timeout=60)["report"]
    assert last["level"] == "warning" and words in last["text"]


def test_a_plan_knows_the_placeholder_only(config: Config, host: EffectsHost) -> None:
    """A dry run compares with what Heat has."""
    from vetro.engine.host.config import cloud_of

    made = Deployed(server(), settings=spec.engine_settings(config, OWNER.environment))
    for number, push in enumerate(made.host.performed("stack.push")):
        host.perform(f"0/{number}", "stack.push", {**push, "known": None})
    cloud = cloud_of(cloud_settings.cloud(config), OWNER)
    try:
        (stack,) = cloud.stacks(OWNER)
        read = cloud.read_stack(OWNER, "", stack.name)
        assert read is not None and read.digest == made.host.performed("stack.push")[-1]["digest"]
        assert password(config) not in json.dumps(read.template)
    finally:
        cloud.close()


def test_without_management_servers_share_the_login(config: Config) -> None:
    broker = {key: value for key, value in config["engine.broker"].items() if key != "management"}
    shared = Config.load(
        config.data,
        environ={},
        overrides={
            "cloud.kind": "openstack",
            "cloud.openstack": config["cloud.openstack"],
            "engine.broker": broker,
            "engine.settings": {"rabbitmq": {"host": "from.outside"}},
        },
    )
    assert spec.engine_settings(shared, "env")["rabbitmq"] == {"host": "from.outside"}
    assert set(cloud_settings.cloud(shared)) == {"kind", "directory", "settings"}
    assert spec.engine_settings(config, "env")["rabbitmq"]["login"] == "vetro-env"


def test_what_a_question_needs_at_the_broker_is_not_made_anew_for_the_next_one(
    config: Config, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts of checks live for a question; each made a virtual host, logins and limits once more."""
    asked: list[str] = []
    request = BrokerAccounts._request

    def counted(self: BrokerAccounts, method: str, path: str, *args: Any, **more: Any) -> bytes:
        asked.append(f"{method} {path.partition('?')[0]}")
        return request(self, method, path, *args, **more)

    queue, listener = "eenv-hweb", f"{results_prefix(OWNER)}x"
    mark = server_mark(queue)

    def question(number: int, *reached: str) -> list[str]:
        del asked[:]
        monkeypatch.setattr(BrokerAccounts, "_request", counted)
        host = build_host({**spec.host_config(config, TASK), "own": [], "reached": list(reached)})
        plan = body_plan(f"return {number}")
        args = {"queue": queue, "listener": listener, "id": plan["ID"], "plan": plan, "timeout": 30, "login": True}
        ends: list[Any] = []
        try:
            host.begin(Request("1", "agent.call", args), lambda key, answer, error: ends.append(error or answer))
            _answer(broker, accounts(config), queue, listener, plan)
            wait_for(lambda: bool(ends))
        finally:
            host.close()
            monkeypatch.undo()
        assert ends[0]["result"]["Body"] == "well", ends
        return list(asked)

    first = question(1)
    assert len(first) > 10 and f"PUT users/vetro-env.{mark}" in first
    assert question(2, queue) == ["GET vhosts/vetro-env"]
    assert [made for made in question(3, "eenv-hanother") if "users/" in made] == [f"PUT users/vetro-env.{mark}"]
    accounts(config).remove(OWNER)  # a broker that lost everything gets it again
    assert len(question(4, "eenv-hanother")) > 10


def _answer(broker: Broker, accounts: BrokerAccounts, queue: str, listener: str, plan: dict[str, Any]) -> None:
    """As the agent of the server, with its login as soon as that is there."""
    mark = server_mark(queue)
    told = {"userid": f"vetro-env.{mark}", "password": accounts.server_password(OWNER, mark)}

    def plan_of() -> Any:
        try:
            connection = RawConnection(f"127.0.0.1:{broker.port}", virtual_host="vetro-env", **told)
            connection.connect()
        except (AccessRefused, NotAllowed):
            return None
        channel = connection.channel()
        if (got := channel.basic_get(queue, no_ack=True)) is None:
            connection.close()
            return None
        assert got.properties["message_id"] == plan["ID"]
        said = {"FormatVersion": "2.0.0", "SourceID": plan["ID"], "ErrorCode": 0, "Body": "well"}
        message = RawMessage(json.dumps(said), message_id=plan["ID"])
        channel.basic_publish(message, answers_exchange(queue), listener)
        connection.close()
        return True

    wait_for(plan_of)


def test_a_copy_of_an_environment_gets_its_own_answers_only(config: Config, broker: Broker) -> None:
    """Its model says the same names; with one login for all both use one virtual host."""
    step = '{Return: !yaql "$server.getRegion().agentListener.queueName()"}'
    first = Deployed(server("LinuxInstance"), step=step)
    copy = Deployed(server("LinuxInstance"), step=step, deploy=False)
    copy.model = json.loads(json.dumps(first.model).replace('"env"', '"copy"'))
    queues = [done.load().call("run", object_id="app") for done in (first, copy)]
    (name,) = (row[3] for row in first.model["Attributes"] if row[2] == "generatedStackName")
    assert queues == [f"-execution-results-eenv-{name}".lower(), f"-execution-results-ecopy-{name}".lower()]

    shared = {key: value for key, value in config["engine.broker"].items() if key != "management"}
    hosts = []
    try:
        for environment in ("env", "copy"):
            given = spec.host_config(config, SimpleNamespace(**{**vars(TASK), "environment_id": environment}))  # type: ignore[arg-type]
            hosts.append(build_host({**given, "broker": shared}))
        for host, queue, theirs in zip(hosts, queues, reversed(queues), strict=True):
            host.perform("0/0", "agent.listen", {"queue": queue, "on": True})
            with pytest.raises(BadRequest, match=re.escape(queue.removesuffix(name.lower()))):
                host.perform("0/1", "agent.listen", {"queue": theirs, "on": True})
    finally:
        for host in hosts:
            host.close()
        with RawConnection(f"127.0.0.1:{broker.port}", userid="guest", password="guest") as connection:
            for queue in queues:
                connection.channel().queue_delete(queue)
