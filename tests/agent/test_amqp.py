"""What is on the wire to a real RabbitMQ: exactly what old agents expect, and what old agents send is understood."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from amqp import Channel as RawChannel
from amqp import Connection as RawConnection
from amqp import Message as RawMessage
from amqp.exceptions import NotFound as QueueNotFound
from amqp.exceptions import PreconditionFailed

from tests.agent.agentworld import (
    OWNER,
    PATIENCE,
    QUEUE,
    RESULTS,
    AgentProcess,
    answer,
    body_plan,
    message_of,
    wait_for,
)
from tests.agent.broker import Broker
from tests.agent.relay import Relay
from vetro.agent.amqp import QUEUE_ARGUMENTS, AmqpChannel
from vetro.agent.amqp_link import BrokerSettings
from vetro.agent.errors import BrokerUnavailable, ChannelClosed
from vetro.clouds.interface import NotFound
from vetro.clouds.messages import Channel, Message
from vetro.engine.host.agents import Agents
from vetro.engine.host.answer import Request


@pytest.fixture
def raw(broker: Broker) -> Iterator[RawChannel]:
    """The broker as another program sees it; the queues of the test are empty."""
    with RawConnection(f"127.0.0.1:{broker.port}", userid="guest", password="guest") as connection:
        channel = connection.channel()
        for queue in (QUEUE, RESULTS):
            channel.queue_delete(queue)
        yield channel


@pytest.fixture
def channel(raw: RawChannel, broker: Broker) -> Iterator[AmqpChannel]:
    found = AmqpChannel(BrokerSettings("127.0.0.1", broker.port), OWNER, patience=PATIENCE)
    yield found
    found.close()


def get(raw: RawChannel, queue: str) -> Any:
    return wait_for(lambda: raw.basic_get(queue, no_ack=True))


def test_it_is_a_channel(channel: AmqpChannel) -> None:
    assert isinstance(channel, Channel)


def test_messages_on_the_wire(channel: AmqpChannel, raw: RawChannel) -> None:
    """Default exchange, key = queue; body = the exact text; id, signature and reply_to where old agents look."""
    channel.send(QUEUE, Message("the id", '{"ж": 1}', b"\0\xff\x80", RESULTS))
    message = get(raw, QUEUE)
    body = message.body if isinstance(message.body, bytes) else message.body.encode()
    assert body == '{"ж": 1}'.encode()
    assert message.properties["message_id"] == "the id"
    assert message.properties["reply_to"] == RESULTS
    assert message.properties["delivery_mode"] == 2
    assert message.headers["signature"] == b"\0\xff\x80"
    assert message.delivery_info["exchange"] == ""
    assert message.delivery_info["routing_key"] == QUEUE


def test_whether_an_agent_is_there_is_known(channel: AmqpChannel, raw: RawChannel) -> None:
    assert channel.connected("another") is None
    assert channel.connected(QUEUE) is False
    tag = raw.basic_consume(QUEUE)
    wait_for(lambda: channel.connected(QUEUE))
    raw.basic_cancel(tag)
    wait_for(lambda: channel.connected(QUEUE) is False)


def test_messages_without_signature(channel: AmqpChannel, raw: RawChannel) -> None:
    channel.send(QUEUE, Message("1", "{}"))
    message = get(raw, QUEUE)
    assert "signature" not in (message.headers or {})
    assert "reply_to" not in message.properties


def test_a_plan_that_nobody_waits_for_any_more_is_gone(channel: AmqpChannel, raw: RawChannel) -> None:
    channel.send(QUEUE, Message("1", "{}", None, RESULTS, time.time() + 0.5))
    channel.send(QUEUE, Message("2", "{}", None, RESULTS, time.time() + 3600))
    wait_for(lambda: raw.queue_declare(QUEUE, passive=True).message_count == 1)
    assert get(raw, QUEUE).properties["message_id"] == "2"


def test_queues_are_declared_as_old_engines_do(channel: AmqpChannel, raw: RawChannel, broker: Broker) -> None:
    """Durable with these arguments: the broker refuses any other declaration afterwards."""
    assert QUEUE_ARGUMENTS == {"x-ha-policy": "all", "x-expires": 86400000}
    channel.send(QUEUE, Message("1", "{}"))
    channel.receive(RESULTS, 0.01)
    for queue in (QUEUE, RESULTS):
        wait_for(lambda queue=queue: _exists(broker, queue))
        raw.queue_declare(queue, durable=True, auto_delete=False, arguments=QUEUE_ARGUMENTS)
        for change in ({"durable": False}, {"arguments": {"x-expires": 1}}, {"auto_delete": True}):
            with RawConnection(f"127.0.0.1:{broker.port}", userid="guest", password="guest") as connection:
                given = {"durable": True, "auto_delete": False, "arguments": QUEUE_ARGUMENTS} | change
                with pytest.raises(PreconditionFailed):
                    connection.channel().queue_declare(queue, **given)


def _exists(broker: Broker, queue: str) -> bool:
    with RawConnection(f"127.0.0.1:{broker.port}", userid="guest", password="guest") as connection:
        try:
            connection.channel().queue_declare(queue, passive=True)
            return True
        except QueueNotFound:
            return False


def test_an_old_agent(channel: AmqpChannel, raw: RawChannel) -> None:
    """It opens its queue passively, acknowledges each plan, and publishes to the result queue with message_id."""
    plan = body_plan("return 1")
    channel.send(QUEUE, message_of(plan))
    channel.receive(RESULTS, 0.01)
    raw.queue_declare(QUEUE, passive=True)
    message = wait_for(lambda: raw.basic_get(QUEUE))
    raw.basic_ack(message.delivery_tag)
    result = json.dumps({"FormatVersion": "2.0.0", "SourceID": plan["ID"], "ErrorCode": 0, "Body": "old"})
    for properties in ({"message_id": plan["ID"]}, {}):  # one without id is known by its SourceID
        raw.basic_publish(RawMessage(result, **properties), "", RESULTS)
    assert answer(channel)["Body"] == "old"
    assert channel.receive(RESULTS, 0.2) is None


def test_results_are_kept_until_acknowledged(raw: RawChannel, broker: Broker) -> None:
    settings = BrokerSettings("127.0.0.1", broker.port)
    raw.queue_declare(RESULTS, durable=True, auto_delete=False, arguments=QUEUE_ARGUMENTS)
    raw.basic_publish(RawMessage('{"n": 1}', message_id="1"), "", RESULTS)
    first = AmqpChannel(settings, OWNER)
    message = first.receive(RESULTS, PATIENCE)
    first.close()
    second = AmqpChannel(settings, OWNER)
    assert second.receive(RESULTS, PATIENCE) == message == Message("1", '{"n": 1}')
    second.acknowledge(RESULTS, "1")
    second.close()
    assert raw.queue_declare(RESULTS, passive=True).message_count == 0


def test_answers_reach_the_host_that_asked_while_another_one_listens(raw: RawChannel, broker: Broker) -> None:
    """Agents answer an environment on one queue: a deployment begins while it is asked how it is."""
    settings, answers, ids = BrokerSettings("127.0.0.1", broker.port), dict[str, Any](), [f"d{n}" for n in range(4)]
    question = Agents(AmqpChannel(settings, OWNER, prefetch=0), own=["before"])
    task = Agents(AmqpChannel(settings, OWNER))

    def begin(agents: Agents, id: str, timeout: float) -> None:
        args = {"queue": QUEUE, "listener": RESULTS, "id": id, "plan": {}, "timeout": timeout}
        request = Request(id, "agent.call", args)
        agents.starters()["agent.call"](request, lambda answer, error: answers.update({id: answer}))

    begin(question, "q", 0.5)
    assert wait_for(lambda: answers.get("q")) == {"timeout": 0.5}  # its method computes now
    for id in ids:
        begin(task, id, 2 * PATIENCE)
    wait_for(lambda: raw.queue_declare(RESULTS, passive=True).consumer_count == 2)
    for id in ids:
        raw.basic_publish(RawMessage(json.dumps({"SourceID": id}), message_id=id), "", RESULTS)
    assert wait_for(lambda: all(id in answers for id in ids))
    assert [answers[id]["result"]["SourceID"] for id in ids] == ids
    question.close()
    task.close()


def test_what_is_no_text_does_not_come_again(channel: AmqpChannel, raw: RawChannel) -> None:
    channel.receive(RESULTS, 0.01)
    wait_for(lambda: channel.receive(RESULTS, 0.01) is None and True)
    raw.queue_declare(RESULTS, durable=True, auto_delete=False, arguments=QUEUE_ARGUMENTS)
    raw.basic_publish(RawMessage(b"\xff\xfe", message_id="1"), "", RESULTS)
    raw.basic_publish(RawMessage(b"{}", message_id="2"), "", RESULTS)
    refused, message = (channel.receive(RESULTS, PATIENCE) for _ in range(2))
    assert refused is not None and message is not None
    assert "refused: it is not UTF-8" in json.loads(refused.body)["Body"]["Message"]
    assert message.id == "2"


def test_the_same_message_is_sent_once(channel: AmqpChannel, raw: RawChannel) -> None:
    for _ in range(2):
        channel.send(QUEUE, Message("1", "{}"))
    channel.send(QUEUE, Message("2", "{}"))
    assert [get(raw, QUEUE).properties["message_id"] for _ in range(2)] == ["1", "2"]


def test_queues_of_other_environments_are_not_found(channel: AmqpChannel) -> None:
    with pytest.raises(NotFound):
        channel.send("eenv2-hserver", Message("1", "{}"))
    with pytest.raises(NotFound):
        channel.receive("-execution-results-eenv2-stack", 0.01)


def test_a_broker_that_is_not_there() -> None:
    channel = AmqpChannel(BrokerSettings("127.0.0.1", 1), OWNER, patience=0.2)
    try:
        with pytest.raises(BrokerUnavailable, match=r"127\.0\.0\.1:1"):
            channel.send(QUEUE, Message("1", "{}"))
        assert channel.receive(RESULTS, 0.05) is None
    finally:
        channel.close()
    with pytest.raises(ChannelClosed):
        channel.send(QUEUE, Message("1", "{}"))


def test_wrong_passwords_are_named_and_not_shown(broker: Broker) -> None:
    settings = BrokerSettings("127.0.0.1", broker.port, password="s3cret")
    begin = time.monotonic()
    assert "s3cret" not in repr(settings)
    channel = AmqpChannel(settings, OWNER, patience=PATIENCE)
    try:
        with pytest.raises(BrokerUnavailable) as caught:
            channel.send(QUEUE, Message("1", "{}"))
        assert "s3cret" not in str(caught.value)
        assert "ACCESS_REFUSED" in str(caught.value)
        assert time.monotonic() - begin < PATIENCE / 2  # at once, not when patience ends
    finally:
        channel.close()


def test_close_wakes_who_waits(channel: AmqpChannel) -> None:
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            channel.receive(RESULTS, PATIENCE)
        except ChannelClosed as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    channel.close()
    thread.join(PATIENCE)
    assert caught


# -- broken connections, and our own agent -----------------------------------------------------------------------------


@pytest.fixture
def relay(broker: Broker) -> Iterator[Relay]:
    """A way to the broker that can be cut."""
    with Relay(broker.port) as found:
        yield found


@pytest.fixture
def agent(tmp_path: Path, program: Path, raw: RawChannel, relay: Relay) -> Iterator[AgentProcess]:
    found = AgentProcess(tmp_path / "agent", program, {"host": "127.0.0.1", "port": relay.port})
    yield found
    found.stop()


def test_connections_break(relay: Relay, agent: AgentProcess, raw: RawChannel) -> None:
    """Both sides reconnect by themselves; every plan is answered once."""
    channel = AmqpChannel(BrokerSettings("127.0.0.1", relay.port), OWNER, patience=PATIENCE)
    try:
        agent.start()
        for n in range(4):
            channel.send(QUEUE, message_of(body_plan(f"return {n}")))
            if n == 1:
                relay.cut()
            assert answer(channel)["Body"] == n
            relay.cut()
        received = body_plan("return 'kept'")
        channel.send(QUEUE, message_of(received))
        message = channel.receive(RESULTS, PATIENCE)
        assert message is not None
        relay.cut()  # received and not acknowledged: the broker delivers it again, we do not
        assert channel.receive(RESULTS, 1) is None
        channel.acknowledge(RESULTS, message.id)
        wait_for(lambda: raw.queue_declare(RESULTS, passive=True).message_count == 0)
    finally:
        channel.close()


def test_a_silent_link_does_not_lose_an_answer(relay: Relay, agent: AgentProcess, raw: RawChannel) -> None:
    """The agent's link is cut while the plan runs: the answer arrives over the next."""
    channel = AmqpChannel(BrokerSettings("127.0.0.1", relay.target), OWNER, patience=PATIENCE)
    try:
        agent.start()
        channel.send(QUEUE, message_of(body_plan("import time\ntime.sleep(0.5)\nreturn 1")))
        wait_for(lambda: "runs as process" in agent.log)
        relay.cut()
        assert answer(channel)["Body"] == 1
    finally:
        channel.close()


def test_the_agent_waits_for_its_queue(agent: AgentProcess, channel: AmqpChannel, raw: RawChannel) -> None:
    """It does not declare: the engine does, with its first plan."""
    agent.start()
    wait_for(lambda: "NOT_FOUND" in agent.log)
    channel.send(QUEUE, message_of(body_plan("return 1")))
    assert answer(channel)["Body"] == 1


def test_an_answer_waits_for_its_queue(agent: AgentProcess, raw: RawChannel) -> None:
    """The broker drops what no queue takes; the agent asks for it back and tries again."""
    raw.queue_declare(QUEUE, durable=True, auto_delete=False, arguments=QUEUE_ARGUMENTS)
    plan = body_plan("return 'late'")
    raw.basic_publish(RawMessage(json.dumps(plan), message_id=plan["ID"]), "", QUEUE)
    agent.start()
    wait_for(lambda: "NO_ROUTE" in agent.log)
    raw.queue_declare(RESULTS, durable=True, auto_delete=False, arguments=QUEUE_ARGUMENTS)
    message = get(raw, RESULTS)
    assert (json.loads(message.body)["Body"], message.properties["message_id"]) == ("late", plan["ID"])
    assert message.properties["delivery_mode"] == 2


def test_plans_of_old_engines(agent: AgentProcess, raw: RawChannel) -> None:
    """Without ID in the plan the message's counts, and reply_to of the message where the agent is told so."""
    (agent.folder / "z.conf").write_text("[DEFAULT]\nenable_dynamic_result_queue = true\n")
    raw.queue_declare(QUEUE, durable=True, auto_delete=False, arguments=QUEUE_ARGUMENTS)
    reply = f"reply-{uuid.uuid4().hex}"
    raw.queue_declare(reply, exclusive=True)
    plan = body_plan("return 1")
    id = plan.pop("ID")
    raw.basic_publish(RawMessage(json.dumps(plan), message_id=id, reply_to=reply), "", QUEUE)
    agent.start()
    assert json.loads(get(raw, reply).body)["SourceID"] == id


def test_a_queue_that_is_removed(agent: AgentProcess, channel: AmqpChannel, raw: RawChannel) -> None:
    channel.send(QUEUE, message_of(body_plan("return 1")))
    agent.start()
    assert answer(channel)["Body"] == 1
    raw.queue_delete(QUEUE)
    wait_for(lambda: "was removed" in agent.log)
    raw.queue_declare(QUEUE, durable=True, auto_delete=False, arguments=QUEUE_ARGUMENTS)
    channel.send(QUEUE, message_of(body_plan("return 2")))
    assert answer(channel)["Body"] == 2


def test_a_broker_with_an_unknown_certificate_is_refused(
    broker: Broker, raw: RawChannel, tmp_path: Path, program: Path
) -> None:
    settings = {"host": "localhost", "port": broker.tls_port, "ssl": True}
    agent = AgentProcess(tmp_path / "strict", program, settings).start()
    wait_for(lambda: "certificate" in agent.log.lower())
    assert "waiting for plans" not in agent.log
    agent.stop()
    raw.queue_declare(QUEUE, durable=True, auto_delete=False, arguments=QUEUE_ARGUMENTS)
    agent = AgentProcess(tmp_path / "lax", program, {**settings, "insecure": True}).start()
    wait_for(lambda: "waiting for plans" in agent.log)
    agent.stop()


def test_the_agent_keeps_heartbeats(agent: AgentProcess, channel: AmqpChannel, raw: RawChannel) -> None:
    """It asks for 20 to 40 seconds, and keeps the connection while a plan runs."""
    from vetro.agent.guest.amqp_transport import AmqpTransport
    from vetro.agent.guest.config import read_config

    channel.send(QUEUE, message_of(body_plan("return 1")))
    config = read_config([str(agent.folder / "agent.conf")], [])
    transport = AmqpTransport(config, None)
    try:
        assert 20 <= transport._heartbeat <= 40
        wait_for(transport.read)  # the plan; nothing else is due
        transport._written -= transport._heartbeat  # as if it were long ago
        written = transport._written
        assert 0 < transport.tick() <= transport._heartbeat / 2
        assert transport._written > written
        transport._heard -= 3 * transport._heartbeat
        with pytest.raises(Exception, match="silent"):
            transport.tick()
    finally:
        transport.close()
