"""Agents: what is sent, what comes back, and what packages can catch (AGENT.md 5, 6; CORE_LIBRARY.md 3, 4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.library.deploying import Deployed, server
from vetro.library.natives.agent import AgentDisabled, AgentException, AgentTimeout
from vetro.yaql.errors import NoMatchingMethod

PLAN = {"FormatVersion": "2.0.0", "Body": "return 1", "Scripts": {}, "Files": {}}
FILES = {
    "scripts/run.sh": "run",
    "plan.template": "FormatVersion: 2.0.0\nBody: return s()\nScripts: {s: {Type: Application, EntryPoint: run.sh}}\n",
}
TEMPLATE = "sys:Resources.yaml('plan.template')"


def asked(expression: str, answer: Any = ..., **more: Any) -> tuple[Deployed, Any]:
    """The value of an expression with ``$server`` on a deployed server whose agent answers so."""
    done = Deployed(
        server("LinuxInstance"),
        step=f'{{Return: !yaql "{expression}"}}',
        resources=FILES,
        **more,
    )
    if answer is not ...:
        done.cloud.answer = answer if callable(answer) else lambda plan: answer
    result = done.load().call("run", object_id="app")
    return done, result


def test_a_call_sends_a_plan_and_gives_the_result() -> None:
    answer = {"FormatVersion": "2.0.0", "ErrorCode": 0, "Body": {"x": [1]}}
    done, result = asked(f"$server.agent.call({TEMPLATE}, new(sys:Resources), 60)", answer)
    assert result == {"x": (1,)}
    (sent,) = done.cloud.plans
    listener = done.host.performed("agent.listen")[0]["queue"]
    assert listener.startswith("-execution-results-")
    plan = sent.pop("plan")
    assert sent == {"queue": "eenv-hsrv", "listener": listener, "id": plan["ID"], "timeout": 60}
    assert plan["Stamp"] == 1_700_000_000 * 10_000
    assert [file["Body"] for file in plan["Files"].values()] == ["run"]


def test_stamps_of_a_run_increase_on_a_clock_that_stands() -> None:
    plans = ", ".join([f"$server.agent.send({TEMPLATE}, new(sys:Resources))"] * 3)
    done, _ = asked(f"[{plans}]")
    stamps = [sent["plan"]["Stamp"] for sent in done.cloud.plans]
    assert stamps == [stamps[0], stamps[0] + 1, stamps[0] + 2]
    assert len({sent["id"] for sent in done.cloud.plans}) == 3
    assert "timeout" not in done.cloud.plans[0]


def test_the_default_timeout_is_a_setting() -> None:
    done, _ = asked(f"$server.agent.call({TEMPLATE}, new(sys:Resources))", settings={"engine": {"agent_timeout": 7}})
    assert done.cloud.plans[0]["timeout"] == 7
    done, _ = asked(f"$server.agent.call({TEMPLATE}, new(sys:Resources))")
    assert done.cloud.plans[0]["timeout"] == 3600


def test_raw_plans_are_sent_as_they_are() -> None:
    done, _ = asked("[$server.agent.callRaw({ID => mine, a => 1}), $server.agent.sendRaw({b => 2})]")
    first, second = done.cloud.plans
    assert (first["id"], first["plan"], first["timeout"]) == ("mine", {"ID": "mine", "a": 1}, 3600)
    assert (len(second["id"]), second["plan"]) == (32, {"b": 2})


def test_the_built_plan_can_be_looked_at() -> None:
    done, plan = asked(f"$server.agent.buildExecutionPlan({TEMPLATE}, new(sys:Resources))")
    assert plan["Action"] == "Execute" and done.cloud.plans == []


FAILURE = {
    "FormatVersion": "2.0.0", "ErrorCode": 101, "Time": "now", "More": 1,
    "Body": {"Message": "Script run returned error code", "AdditionalInfo": {"exitCode": 3}},
}  # fmt: skip


def test_failures_of_plans() -> None:
    with pytest.raises(AgentException, match="Script run returned error code") as caught:
        asked(f"$server.agent.call({TEMPLATE}, null)", FAILURE)
    assert caught.value.extra == {
        "message": "Script run returned error code", "details": {"exitCode": 3}, "errorCode": 101, "time": "now",
        "extra": {"More": 1},
    }  # fmt: skip


@pytest.mark.parametrize("name", ["With: murano.engine.system.agent.AgentException, ", ""])
def test_failures_can_be_caught(name: str) -> None:
    handler = "{" + name + "As: e, Do: [{Return: [$e.message, $e.extra.errorCode]}]}"
    step = f'{{Try: !yaql "$server.agent.call({TEMPLATE}, null)", Catch: {handler}}}'
    done = Deployed(server("LinuxInstance"), step=step, resources=FILES)
    done.cloud.answer = lambda plan: FAILURE
    assert done.load().call("run", object_id="app") == ("Script run returned error code", 101)


@pytest.mark.parametrize("code", [0, None])
def test_answers_without_error(code: Any) -> None:
    _, result = asked(f"$server.agent.call({TEMPLATE}, null)", {"FormatVersion": "2.0.0", "ErrorCode": code, "Body": 5})
    assert result == 5


@pytest.mark.parametrize("answer", ["text", [1]])
def test_answers_that_are_none(answer: Any) -> None:
    with pytest.raises(AgentException, match="is no mapping"):
        asked(f"$server.agent.call({TEMPLATE}, null)", answer)


def test_answers_of_the_first_format() -> None:
    rows = [{"IsException": False, "Result": 1}, {"IsException": False, "Result": {"a": 2}}]
    assert asked("$server.agent.callRaw({})", {"IsException": False, "Result": rows})[1] == {"a": 2}
    assert asked("$server.agent.callRaw({})", {"IsException": False, "Result": []})[1] is None


@pytest.mark.parametrize("whole", [True, False])
def test_failures_of_the_first_format(whole: bool) -> None:
    told = ["System.Exception", "went wrong", "Get-It", "more"]
    failed = {"IsException": True, "Result": told}
    answer = failed if whole else {"IsException": False, "Result": [{"IsException": False, "Result": 1}, failed]}
    with pytest.raises(AgentException, match="went wrong") as caught:
        asked("$server.agent.callRaw({})", answer)
    assert caught.value.extra == {
        "type": "System.Exception", "message": "went wrong", "command": "Get-It", "details": "more", "timestamp": None,
        "source": "execution_plan" if whole else "command",
    }  # fmt: skip


def test_agents_that_do_not_answer() -> None:
    with pytest.raises(AgentTimeout, match="did not respond within 5 seconds"):
        asked(f"$server.agent.call({TEMPLATE}, null, 5)", None)
    with pytest.raises(AgentTimeout, match="within 100 seconds"):
        asked("$server.agent.waitReady()", None)
    assert asked("$server.agent.isReady(3)", None)[1] is False


def test_agents_that_are_ready() -> None:
    done, result = asked("[$server.agent.isReady(), $server.agent.waitReady(7)]")
    assert result == (True, None)
    assert [(p["timeout"], p["plan"]["Body"]) for p in done.cloud.plans] == [(100, "return"), (7, "return")]


@pytest.mark.parametrize(
    "call", ["call({}, null)", "send({}, null)", "callRaw({})", "sendRaw({})", "waitReady()", "isReady()"]
)
def test_agents_can_be_switched_off(call: str) -> None:
    with pytest.raises(AgentDisabled, match="switched off by the settings"):
        asked(f"$server.agent.{call}", settings={"engine": {"disable_murano_agent": True}})


def test_the_signing_key_is_asked_for_once() -> None:
    done = Deployed(
        server("LinuxInstance"),
        step="{Return: !yaql \"[$a.signingKey('> '), $a.signingKey(), $a.queueName()]\"}".replace(
            "$a", "$server.agent"
        ),
    )
    done.host.inner.register("agent.key", lambda args: "A\nB\n")
    assert done.load().call("run", object_id="app") == ("> A\n> B", "A\nB", "eenv-hsrv")
    assert done.host.performed("agent.key") == [{}]


def test_without_a_key_there_is_no_text() -> None:
    assert asked("$server.agent.signingKey('> ')")[1] == ""


def test_files_come_from_resources_and_nothing_else() -> None:
    with pytest.raises(NoMatchingMethod, match="as 'resources'"):
        asked(f"$server.agent.call({TEMPLATE}, $server)")


def test_listeners_are_started_once_and_end_with_the_run() -> None:
    done, _ = asked("[$server.agent.isReady(), $server.agent.isReady()]")
    done.session.finish()
    done.session.finish()
    assert [args["on"] for args in done.host.performed("agent.listen")] == [True, False]


# -- io.murano.configuration.Linux -------------------------------------------------------------------------------------

LINUX = "type('io.murano.configuration.Linux')"


def test_commands() -> None:
    done, result = asked(
        f"{LINUX}.runCommand($server.agent, 'echo $x', captureStderr => false, ignoreErrors => true, timeout => 9)",
        {"FormatVersion": "2.0.0", "ErrorCode": 0, "Body": {"exitCode": 3, "stdout": "o", "stderr": None}},
    )
    assert result == {"exitCode": 3, "stdout": "o", "stderr": None}
    (sent,) = done.cloud.plans
    plan = sent["plan"]
    assert (sent["timeout"], plan["FormatVersion"], plan["Name"]) == (9, "2.0.0", "Execute echo $x")
    assert plan["Body"] == "return runCommand()\n"
    (made,) = plan["Scripts"].values()
    assert made["Options"] == {"captureStdout": True, "captureStderr": False, "verifyExitcode": False}
    assert plan["Files"][made["EntryPoint"]] == {"Name": "scriptFile.sh", "BodyType": "Text", "Body": "echo $x"}


@pytest.mark.parametrize("code", [0, 1])
def test_files_are_put(code: int) -> None:
    answer = {"FormatVersion": "2.0.0", "ErrorCode": 0, "Body": {"exitCode": code}}
    done, result = asked(f"{LINUX}.putFile($server.agent, 'content', '/etc/x', helpText => help)", answer)
    assert result is (code == 0)
    plan = done.cloud.plans[0]["plan"]
    assert (plan["Name"], plan["Parameters"]) == ("help", {"path": "/etc/x"})
    (made,) = plan["Scripts"].values()
    assert plan["Files"][made["EntryPoint"]]["Name"] == "putFile.sh"
    (file,) = made["Files"]
    assert plan["Files"][file] == {"Name": "content", "BodyType": "Base64", "Body": "Y29udGVudA=="}
