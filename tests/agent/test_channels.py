"""One suite of plans over both channels: the answers are the same whatever carries them (AGENT.md 7)."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.agentworld import OWNER, QUEUE, RESULTS, AgentProcess, body_plan, call, message_of, script_plan
from vetro.agent.amqp import AmqpChannel
from vetro.agent.amqp_link import BrokerSettings
from vetro.agent.signing import SigningKey, ensure_key
from vetro.agent.sockets import SocketChannel
from vetro.clouds.messages import Channel

pytestmark = pytest.mark.xdist_group("agent: broker")  # asked for by name, see `served`


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> SigningKey:
    return ensure_key(tmp_path_factory.mktemp("key") / "key.pem")


@pytest.fixture(scope="module", params=["local", "amqp", "amqp-tls"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, program: Path, key: SigningKey
) -> Iterator[Channel]:
    """A channel with a running agent at its other end."""
    folder = tmp_path_factory.mktemp("served")
    channel: Channel
    if request.param == "local":
        (folder / "socket").mkdir()
        channel = SocketChannel(folder / "cloud", OWNER, {QUEUE: folder / "socket"})
        settings: dict[str, Any] = {"host": f"unix:{folder}/socket/agent.sock"}
    else:
        broker = request.getfixturevalue("broker")
        tls = request.param == "amqp-tls"
        port = broker.tls_port if tls else broker.port
        ca = str(broker.ca_file) if tls else ""
        channel = AmqpChannel(BrokerSettings("localhost", port, ssl=tls, ca_certs=ca), OWNER)
        settings = {"host": "localhost", "port": port, "login": "guest", "password": "guest", "virtual_host": "/"}
        settings |= {"ssl": tls, "ca_certs": ca, "insecure": False}
    agent = AgentProcess(folder / "agent", program, settings, engine_key=key.public_pem()).start()
    yield channel
    assert agent.stop() == 0
    channel.close()


def successful(channel: Channel, key: SigningKey, plan: dict[str, Any]) -> Any:
    result = call(channel, plan, key=key)
    assert result["ErrorCode"] == 0, result
    assert result["SourceID"] == plan["ID"]
    assert result["Action"] == "Execution:Result"
    assert result["FormatVersion"] == "2.0.0"
    return result["Body"]


def test_a_script_answers(served: Channel, key: SigningKey) -> None:
    plan = script_plan("echo hello $1", body="return s('{0}'.format(args.x)).stdout", Parameters={"x": "world"})
    assert successful(served, key, plan) == "hello world"


def test_readiness_plan(served: Channel, key: SigningKey) -> None:
    assert successful(served, key, body_plan("return")) is None


def test_exit_codes_and_streams(served: Channel, key: SigningKey) -> None:
    text = "echo out; echo err >&2; exit 3"
    result = call(served, script_plan(text), key=key)
    assert result["ErrorCode"] == 100
    assert result["Body"]["Message"] == "Script s returned error code"
    assert result["Body"]["AdditionalInfo"] == {"exitCode": 3, "stdout": "out", "stderr": "err"}
    plan = script_plan(text, body="return s()", options={"verifyExitcode": False})
    assert successful(served, key, plan) == {"exitCode": 3, "stdout": "out", "stderr": "err"}


def test_binary_files_and_unicode(served: Channel, key: SigningKey) -> None:
    data = bytes(range(256))
    plan = script_plan("cat data/all | sha256sum; echo 'ж\r'", body="return s().stdout")
    plan["Files"]["d"] = {"Name": "data/all", "BodyType": "Base64", "Body": base64.encodebytes(data).decode() + "\n"}
    plan["Scripts"]["s"]["Files"] = ["d"]
    assert successful(served, key, plan).splitlines() == [
        "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880  -",
        "ж",
    ]


def test_a_large_answer_and_one_that_is_too_large(served: Channel, key: SigningKey) -> None:
    assert len(successful(served, key, body_plan("return 'x' * 3000000"))) == 3_000_000
    result = call(served, body_plan("return 'x' * 20000000"), key=key)
    assert result["ErrorCode"] == 1
    assert "20000" in result["Body"]["Message"]


def test_a_malformed_plan_is_answered_and_does_not_stop_the_next(served: Channel, key: SigningKey) -> None:
    result = call(served, {**body_plan("return 1"), "Files": []}, key=key)
    assert (result["ErrorCode"], "Files" in result["Body"]["Message"]) == (2, True)
    assert call(served, body_plan("return 1", FormatVersion="2.3.0"), key=key)["ErrorCode"] == 9
    assert call(served, "[1]", key=key)["ErrorCode"] == 2
    assert successful(served, key, body_plan("return 1")) == 1


def test_first_format_says_that_it_cannot_run(served: Channel, key: SigningKey) -> None:
    served.send(QUEUE, message_of({"Scripts": [], "Commands": [{"Name": "x"}], "RebootOnCompletion": 0}, key=key))
    message = served.receive(RESULTS, 30)
    assert message is not None
    served.acknowledge(RESULTS, message.id)
    result = json.loads(message.body)
    assert result["IsException"] is True
    assert "PowerShell" in result["Result"][1]


@pytest.mark.attack("agent", "forged plans")
def test_forged_plans_are_dropped(served: Channel, key: SigningKey) -> None:
    """Unsigned, tampered with, and signed for another queue: no answer; the next good plan is answered."""
    unsigned = message_of(body_plan("return 'unsigned'"))
    good = message_of(body_plan("return 'good'"), key=key)
    tampered = message_of(good.body.replace("good", "evil"), id="tampered")
    tampered = type(good)(tampered.id, tampered.body, good.signature, good.reply_to)
    elsewhere = message_of(body_plan("return 'elsewhere'"), key=key, queue="eenv1-hother")
    for message in (unsigned, tampered, elsewhere):
        served.send(QUEUE, message)
    assert successful(served, key, body_plan("return 'last'")) == "last"


@pytest.mark.attack("agent", "forged plans")
def test_the_same_plan_again_is_not_run_again(served: Channel, key: SigningKey, tmp_path: Path) -> None:
    plan = script_plan(f"echo run >> {tmp_path}/runs")
    call(served, plan, key=key)
    served.send(QUEUE, message_of(plan, key=key))
    served.send(QUEUE, message_of(plan, key=key, id="another-message-id"))
    assert successful(served, key, body_plan("return 2")) == 2
    assert (tmp_path / "runs").read_text() == "run\n"


def test_plans_run_in_the_order_of_sending(served: Channel, key: SigningKey, tmp_path: Path) -> None:
    plans = [script_plan(f"echo {n} >> {tmp_path}/order") for n in range(6)]
    for plan in plans:
        served.send(QUEUE, message_of(plan, key=key))
    ids = []
    for _ in plans:
        message = served.receive(RESULTS, 30)
        assert message is not None
        served.acknowledge(RESULTS, message.id)
        ids.append(message.id)
    assert ids == [plan["ID"] for plan in plans]
    assert (tmp_path / "order").read_text().split() == list("012345")


def test_what_scripts_write_comes_while_they_run(served: Channel, key: SigningKey) -> None:
    """To whoever asks for it, before the answer and apart from it; nobody else notices."""
    plan = script_plan("echo first; sleep 0.7; echo second; echo wrong >&2")
    served.send(QUEUE, replace(message_of(plan, key=key), output=True))
    found: list[tuple[float, dict[str, Any]]] = []
    while not found or "SourceID" not in found[-1][1]:
        message = served.receive(RESULTS, 30)
        assert message is not None
        served.acknowledge(RESULTS, message.receipt)
        found.append((time.monotonic(), json.loads(message.body)))
        assert message.id == plan["ID"] or message.id == f"{plan['ID']}#{len(found)}"
    (_, answer), pieces = found[-1], found[:-1]
    assert answer["Body"] == "first\nsecond"
    assert all(piece["Action"] == "Execution:Output" and piece["PlanID"] == plan["ID"] for _, piece in pieces)
    said = sorted((piece["Stream"], piece["Script"], piece["Text"]) for _, piece in pieces)
    assert said == [("stderr", "s", "wrong\n"), ("stdout", "s", "first\n"), ("stdout", "s", "second\n")]
    assert found[-1][0] - found[0][0] > 0.4, "the first line came long before the end"
    quiet = script_plan("echo quiet")
    assert successful(served, key, quiet) == "quiet", "the answer is the first message where nobody asked for more"
