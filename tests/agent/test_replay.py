"""Plans that somebody saw at the broker and sends again: each runs once, on the server it was signed for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from amqp import Channel as RawChannel
from amqp import Connection as RawConnection
from amqp import Message as RawMessage

from tests.agent.agentworld import QUEUE, RESULTS, AgentProcess, next_stamp, script_plan, wait_for
from tests.agent.broker import Broker
from vetro.agent.amqp import QUEUE_ARGUMENTS
from vetro.agent.signing import SigningKey, ensure_key

pytestmark = pytest.mark.attack("agent", "replay")

OTHER = "eenv1-hother"


@pytest.fixture
def raw(broker: Broker) -> Iterator[RawChannel]:
    with RawConnection(f"127.0.0.1:{broker.port}", userid="guest", password="guest") as connection:
        channel = connection.channel()
        for queue in (QUEUE, OTHER, RESULTS):
            channel.queue_delete(queue)
            channel.queue_declare(queue, durable=True, auto_delete=False, arguments=QUEUE_ARGUMENTS)
        yield channel
        for queue in (QUEUE, OTHER, RESULTS):
            channel.queue_delete(queue)


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    return ensure_key(tmp_path / "key.pem")


@pytest.fixture
def agents(tmp_path: Path, program: Path, broker: Broker, key: SigningKey) -> Iterator[dict[str, AgentProcess]]:
    """Two servers, both of which trust the engine's key."""
    told = {"host": "127.0.0.1", "port": broker.port}
    made = {}
    for queue in (QUEUE, OTHER):
        made[queue] = AgentProcess(tmp_path / queue, program, told, engine_key=key.public_pem())
        (made[queue].folder / "z.conf").write_text(f"[rabbitmq]\ninput_queue = {queue}\n")
        made[queue].start()
    yield made
    for agent in made.values():
        agent.stop()


def send(raw: RawChannel, queue: str, body: str, signature: bytes | None, id: str, **headers: Any) -> None:
    told = {**headers, **({} if signature is None else {"signature": signature})}
    raw.basic_publish(RawMessage(body, message_id=id, application_headers=told), "", queue)


def answers(raw: RawChannel) -> list[dict[str, Any]]:
    """What has been answered by the time a plan that comes last is."""
    found = []
    while message := raw.basic_get(RESULTS, no_ack=True):
        found.append(json.loads(message.body))
    return found


def drained(raw: RawChannel, *queues: str) -> None:
    """Each agent has taken all it was sent."""
    for queue in queues:
        wait_for(lambda queue=queue: raw.queue_declare(queue, passive=True).message_count == 0)


def test_a_plan_that_was_seen_runs_once_and_nowhere_else(
    raw: RawChannel, agents: dict[str, AgentProcess], key: SigningKey, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    plan = script_plan(f"echo ran >> {ran}\n")
    body = json.dumps(plan)
    signature = key.sign(QUEUE, body)
    send(raw, QUEUE, body, signature, plan["ID"])
    wait_for(ran.exists)

    send(raw, QUEUE, body, signature, plan["ID"])
    send(raw, QUEUE, body, signature, "another id")
    send(raw, QUEUE, body, signature, plan["ID"], patience=1_000_000)
    send(raw, OTHER, body, signature, plan["ID"])
    for changed in (
        {**plan, "Stamp": next_stamp()},
        {**plan, "ID": "f" * 32, "Stamp": next_stamp()},
        {**plan, "ReplyTo": OTHER},
        {name: value for name, value in plan.items() if name != "Stamp"},
    ):
        for queue in (QUEUE, OTHER):
            send(raw, queue, json.dumps(changed), signature, changed["ID"])
    for unsigned in (None, b"", bytes(len(signature)), signature[:-1]):
        send(raw, QUEUE, json.dumps({**plan, "ID": "e" * 32}), unsigned, "e" * 32)
    send(raw, QUEUE, body + " ", signature, plan["ID"])
    drained(raw, QUEUE, OTHER)
    wait_for(lambda: agents[OTHER].log.count("without a valid signature") == 5)

    agents[QUEUE].kill()
    agents[QUEUE].start()
    send(raw, QUEUE, body, signature, plan["ID"])
    drained(raw, QUEUE)

    last = script_plan(f"echo last >> {ran}\n")
    send(raw, QUEUE, json.dumps(last), key.sign(QUEUE, json.dumps(last)), last["ID"])
    wait_for(lambda: "last" in ran.read_text())
    assert ran.read_text().split() == ["ran", "last"]
    told = wait_for(lambda: answers(raw))
    assert {item["SourceID"] for item in told} <= {plan["ID"], last["ID"]}


def test_an_older_plan_that_was_held_back_is_refused_when_a_newer_one_has_run(
    raw: RawChannel, agents: dict[str, AgentProcess], key: SigningKey, tmp_path: Path
) -> None:
    """Whoever takes a plan off the queue cannot deliver it at a time of their choice, not after hours anyway."""
    ran = tmp_path / "ran"
    old = script_plan(f"echo old >> {ran}\n", Stamp=next_stamp() - 24 * 3600 * 10_000)
    new = script_plan(f"echo new >> {ran}\n")
    for plan in (new, old):
        body = json.dumps(plan)
        send(raw, QUEUE, body, key.sign(QUEUE, body), plan["ID"])
        drained(raw, QUEUE)
    wait_for(lambda: "is not newer" in agents[QUEUE].log and ran.exists() and ran.read_text() != "")
    assert ran.read_text().split() == ["new"]
