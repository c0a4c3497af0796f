"""The agent as a process: killed, restarted, sent the same again. A script runs once and every plan is answered."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.agentworld import (
    OWNER,
    QUEUE,
    RESULTS,
    AgentProcess,
    answer,
    body_plan,
    call,
    message_of,
    script_plan,
    wait_for,
)
from vetro.agent.guest.loop import OVERTAKING, Delay
from vetro.agent.sockets import SocketChannel

MakeAgent = Callable[..., AgentProcess]


def plan_folders(agent: AgentProcess) -> list[str]:
    return [path.name for path in (agent.storage / "plans").glob("*") if path.name.isdigit()]


def gated(folder: Path, **more: Any) -> dict[str, Any]:
    """A plan that notes its run and ends when ``gate`` is there."""
    text = f"echo $$ >> {folder}/runs; while [ ! -e {folder}/gate ]; do sleep 0.02; done; echo end"
    return script_plan(text, **more)


def test_killed_in_mid_plan(channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path) -> None:
    """The restarted agent answers with an error and does not run the script again; what was left of it is killed."""
    agent = make_agent()
    plan = gated(tmp_path)
    channel.send(QUEUE, message_of(plan))
    wait_for(lambda: (tmp_path / "runs").exists() and (tmp_path / "runs").read_text())
    script = int((tmp_path / "runs").read_text())
    os.kill(script, 0)
    agent.kill()
    agent.start()
    result = answer(channel)
    assert (result["ErrorCode"], result["SourceID"]) == (1, plan["ID"])
    assert result["Body"]["Message"] == "agent restarted during execution"
    wait_for(lambda: not _alive(script))
    channel.send(QUEUE, message_of(plan))
    assert call(channel, body_plan("return 1"))["Body"] == 1
    assert len((tmp_path / "runs").read_text().split()) == 1


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_stopped_in_mid_plan(channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path) -> None:
    agent = make_agent()
    channel.send(QUEUE, message_of(gated(tmp_path)))
    script = int(wait_for(lambda: (tmp_path / "runs").exists() and (tmp_path / "runs").read_text()))
    assert agent.stop() == 0
    assert not _alive(script)
    agent.start()
    assert answer(channel)["Body"]["Message"] == "agent restarted during execution"


def test_killed_before_the_answer_is_sent(
    channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path, socket_folder: Path
) -> None:
    """The engine is away when the plan ends and the agent is killed: the next agent sends the stored answer."""
    agent = make_agent()
    plan = gated(tmp_path)
    channel.send(QUEUE, message_of(plan))
    wait_for((tmp_path / "runs").exists)
    channel.close()
    (tmp_path / "gate").touch()
    wait_for(lambda: list((agent.storage / "plans").glob("*/result.json")))
    agent.kill()
    again = SocketChannel(tmp_path / "cloud", OWNER)
    try:
        agent.start()
        assert answer(again)["Body"] == "end"
        wait_for(lambda: not plan_folders(agent))
    finally:
        again.close()
    assert len((tmp_path / "runs").read_text().split()) == 1


def test_killed_after_storing_and_before_running(channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path) -> None:
    """A second plan waits on disk while the first runs; after a kill it runs, once."""
    agent = make_agent()
    first = gated(tmp_path)
    second = script_plan(f"echo x >> {tmp_path}/second")
    for plan in (first, second):
        channel.send(QUEUE, message_of(plan))
    wait_for(lambda: len(plan_folders(agent)) == 2)
    agent.kill()
    agent.start()
    assert {answer(channel)["SourceID"] for _ in range(2)} == {first["ID"], second["ID"]}
    assert (tmp_path / "second").read_text() == "x\n"


def test_the_process_of_a_plan_is_killed(channel: SocketChannel, make_agent: MakeAgent) -> None:
    make_agent()
    result = call(channel, body_plan("import os\nos.kill(os.getpid(), 9)"))
    assert result["ErrorCode"] == 1
    assert "signal 9" in result["Body"]["Message"]
    result = call(channel, body_plan("import os\nos._exit(3)"))
    assert "code 3" in result["Body"]["Message"]
    assert call(channel, body_plan("return 1"))["Body"] == 1


def test_a_plan_that_takes_too_long(channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path) -> None:
    """With the setting plan_timeout everything in its process group is killed, also what it put into background."""
    make_agent(plan_timeout=0.5)
    result = call(channel, script_plan(f"sleep 1000 & echo $! > {tmp_path}/child; wait"))
    assert result["ErrorCode"] == 1
    assert "0.5 seconds" in result["Body"]["Message"]
    wait_for(lambda: not _alive(int((tmp_path / "child").read_text())))
    assert call(channel, body_plan("return 1"))["Body"] == 1


def test_a_plan_ends_when_nobody_waits_any_more(channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path) -> None:
    """The sender's time is over: everything of the plan is killed, what happened is told, the next plan begins.

    A plan that waited behind it for longer than its own sender does is not begun.
    """
    make_agent(plan_timeout=1000)
    first = script_plan(f"sleep 1000 & echo $! > {tmp_path}/child; wait")
    late = script_plan(f"touch {tmp_path}/late")
    third = body_plan("return 3")
    begun = time.time()
    for plan, patience in ((first, 3.0), (late, 0.1), (third, None)):
        until = None if patience is None else begun + patience
        channel.send(QUEUE, replace(message_of(plan), until=until))
    found = {message["SourceID"]: message for message in (answer(channel) for _ in range(3))}
    assert found[first["ID"]]["ErrorCode"] == 1
    assert "its sender waits and was stopped" in found[first["ID"]]["Body"]["Message"]
    assert "was not begun" in found[late["ID"]]["Body"]["Message"]
    assert found[third["ID"]]["Body"] == 3
    assert begun + 3.0 <= time.time() < begun + 30
    wait_for(lambda: not _alive(int((tmp_path / "child").read_text())))
    assert not (tmp_path / "late").exists()


def test_the_senders_time_goes_on_through_a_restart(
    channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path
) -> None:
    agent = make_agent()
    first, late = gated(tmp_path), script_plan(f"touch {tmp_path}/late")
    channel.send(QUEUE, message_of(first))
    channel.send(QUEUE, replace(message_of(late), until=time.time() + 0.5))
    wait_for(lambda: len(plan_folders(agent)) == 2)
    agent.kill()
    time.sleep(0.5)  # until its time is over
    agent.start()
    found = {message["SourceID"]: message for message in (answer(channel) for _ in range(2))}
    assert "was not begun" in found[late["ID"]]["Body"]["Message"]
    assert not (tmp_path / "late").exists()


def test_a_plan_ends_with_its_agent(channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path) -> None:
    """Nobody starts the agent again, and no init system tidies up behind it."""
    agent = make_agent()
    text = f"sleep 1000 & echo $! > {tmp_path}/child; sh -c 'echo $$ > {tmp_path}/script; exec sleep 1000'"
    channel.send(QUEUE, message_of(script_plan(text)))
    wait_for(lambda: (tmp_path / "script").exists() and (tmp_path / "script").read_text())
    pids = [int((tmp_path / name).read_text()) for name in ("child", "script")]
    assert all(map(_alive, pids))
    agent.kill()
    wait_for(lambda: not any(map(_alive, pids)))


def test_what_a_plan_leaves_in_a_session_of_its_own_outlives_it(
    channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path
) -> None:
    """As services do that scripts start."""
    agent = make_agent()
    text = f"setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > {tmp_path}/child; echo ok"
    assert call(channel, script_plan(text))["Body"] == "ok"
    agent.kill()
    child = int((tmp_path / "child").read_text())
    try:
        assert _alive(child)
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGPIPE, signal.SIGTERM, signal.SIGSEGV])
def test_the_signal_that_ended_a_plan_is_told(channel: SocketChannel, make_agent: MakeAgent, number: int) -> None:
    make_agent()
    body = f"import os, signal\nsignal.signal({int(number)}, signal.SIG_DFL)\nos.kill(os.getpid(), {int(number)})"
    assert f"signal {int(number)}" in call(channel, body_plan(body))["Body"]["Message"]


def test_a_guard_that_is_killed_takes_the_plan_with_it(
    channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path
) -> None:
    make_agent()
    channel.send(QUEUE, message_of(script_plan(f"echo $$ > {tmp_path}/script; echo; exec sleep 1000")))
    script = int(wait_for(lambda: (tmp_path / "script").exists() and (tmp_path / "script").read_text()))
    os.kill(os.getpgid(script), signal.SIGKILL)
    assert "signal 9" in answer(channel)["Body"]["Message"]
    wait_for(lambda: not _alive(script))


def test_an_endless_body_does_not_stop_the_agent(channel: SocketChannel, make_agent: MakeAgent) -> None:
    agent = make_agent(plan_timeout=0.3)
    result = call(channel, body_plan("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass"))
    assert "0.3 seconds" in result["Body"]["Message"]
    assert agent.stop() == 0


def test_answers_are_forgotten_when_they_were_stored(channel: SocketChannel, make_agent: MakeAgent) -> None:
    agent = make_agent()
    for n in range(3):
        call(channel, body_plan(f"return {n}"))
    wait_for(lambda: not plan_folders(agent))
    assert os.listdir(agent.storage / "files") == []
    assert len((agent.storage / "plans" / "known").read_text().splitlines()) == 3


def test_ids_are_remembered_by_the_next_agent(channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path) -> None:
    agent = make_agent()
    plan = script_plan(f"echo x >> {tmp_path}/runs")
    call(channel, plan)
    agent.kill()
    agent.start()
    channel.send(QUEUE, message_of(plan, id="under another name"))
    assert call(channel, body_plan("return 1"))["Body"] == 1
    assert (tmp_path / "runs").read_text() == "x\n"


def test_a_plan_without_own_id_is_known_by_its_content(
    channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path
) -> None:
    """Nobody signs the message's id, so a replay under another one must be recognised."""
    make_agent()
    plan = script_plan(f"echo x >> {tmp_path}/runs")
    del plan["ID"]
    channel.send(QUEUE, message_of(plan, id="first"))
    assert answer(channel)["SourceID"] == "first"
    channel.send(QUEUE, message_of(plan, id="second"))
    call(channel, body_plan("return 1"))
    assert (tmp_path / "runs").read_text() == "x\n"


@pytest.mark.parametrize("step", [0, -OVERTAKING - 1, -100 * OVERTAKING])
def test_an_old_stamp_is_an_error(channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path, step: int) -> None:
    """A replay, or an engine whose clock was set back: not run, logged, and answered so that nobody waits."""
    agent = make_agent()
    first = body_plan("return 1")
    call(channel, first)
    old = script_plan(f"touch {tmp_path}/ran", Stamp=first["Stamp"] + step)
    result = call(channel, old)
    assert (result["ErrorCode"], result["SourceID"]) == (1, old["ID"])
    assert "stamp" in result["Body"]["Message"]
    assert "clock" in agent.log
    assert call(channel, body_plan("return 2"))["Body"] == 2
    assert not (tmp_path / "ran").exists()


def test_the_last_stamp_outlives_the_agent(channel: SocketChannel, make_agent: MakeAgent) -> None:
    agent = make_agent()
    first = body_plan("return 1")
    call(channel, first)
    agent.kill()
    agent.start()
    assert "stamp" in call(channel, body_plan("return 2", Stamp=first["Stamp"]))["Body"]["Message"]


def test_plans_of_parallel_branches_may_overtake_each_other(
    channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path
) -> None:
    """A little older than the newest is fine for a plan that was never seen; one that was seen is still known."""
    agent = make_agent()
    newest = body_plan("return 1")
    call(channel, newest)
    overtaken = script_plan(f"echo x >> {tmp_path}/runs", Stamp=newest["Stamp"] - 10_000)
    assert call(channel, overtaken)["ErrorCode"] == 0
    channel.send(QUEUE, message_of(overtaken, id="replayed"))
    assert call(channel, body_plan("return 2"))["Body"] == 2
    assert (tmp_path / "runs").read_text() == "x\n"
    assert int((agent.storage / "plans" / "stamp").read_text()) > newest["Stamp"]


def test_plans_without_stamp_are_not_checked_for_age(channel: SocketChannel, make_agent: MakeAgent) -> None:
    make_agent()
    call(channel, body_plan("return 1"))
    plan = body_plan("return 2")
    del plan["Stamp"]
    assert call(channel, plan)["Body"] == 2


@pytest.mark.parametrize(
    "change",
    [{"Stamp": "1"}, {"Stamp": True}, {"Stamp": 1.5}, {"ID": 5}, {"ID": ["x"]}, {"ID": "x" * 500}, {"ReplyTo": 1}],
)
def test_wrong_envelopes_are_answered(channel: SocketChannel, make_agent: MakeAgent, change: dict[str, Any]) -> None:
    make_agent()
    plan = {**body_plan("return 1"), **change}
    id = plan["ID"] if isinstance(plan["ID"], str) and len(plan["ID"]) < 100 else "message"
    channel.send(QUEUE, message_of(plan, id=id))
    result = answer(channel)
    assert (result["ErrorCode"], result["SourceID"]) == (2, id)
    assert call(channel, body_plan("return 1"))["Body"] == 1


def test_hostile_ids_stay_in_the_folder(channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path) -> None:
    agent = make_agent()
    for id in ("../../../../escaped", "/tmp/escaped", "..", ".", "a/b", "a\0b"):
        result = call(channel, script_plan("pwd", ID=id))
        assert result["Body"].startswith(str(agent.storage / "files")), result
    assert os.listdir(agent.storage / "files") == []


def test_environment_of_scripts(channel: SocketChannel, make_agent: MakeAgent) -> None:
    """HOME and the folders of system programs are set even if the init system sets neither."""
    make_agent()
    text = call(channel, script_plan("env"))["Body"]
    found = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    assert found["HOME"].startswith("/")
    assert {"/usr/sbin", "/sbin", "/usr/bin"} <= set(found["PATH"].split(":"))
    assert found["DEBIAN_FRONTEND"] == "noninteractive"


def test_scripts_hold_nothing_of_the_agent(channel: SocketChannel, make_agent: MakeAgent) -> None:
    """No socket, lock or pipe is inherited, and the signals are as programs expect them."""
    make_agent()
    result = call(
        channel, script_plan("ls -l /proc/self/fd | grep -c -E 'socket|lock|memfd'; grep SigIgn /proc/self/status")
    )
    count, ignored = result["Body"].splitlines() if result["ErrorCode"] == 0 else ("?", "?")
    assert count == "0", result
    assert int(ignored.split()[1], 16) & (1 << (signal.SIGPIPE - 1)) == 0


def test_an_unwritable_storage_is_answered(channel: SocketChannel, make_agent: MakeAgent, tmp_path: Path) -> None:
    """As with a full disk: the plan is not run, and the engine hears why at once."""
    agent = make_agent()
    call(channel, body_plan("return 1"))
    wait_for(lambda: not plan_folders(agent))
    plans = agent.storage / "plans"
    plans.rename(tmp_path / "moved")
    plans.write_text("not a folder")
    result = call(channel, script_plan(f"touch {tmp_path}/ran"))
    assert result["ErrorCode"] == 1
    assert "cannot keep the plan" in result["Body"]["Message"]
    assert not (tmp_path / "ran").exists()


def test_once(channel: SocketChannel, make_agent: MakeAgent) -> None:
    agent = make_agent()
    agent.stop()
    for n in range(2):
        channel.send(QUEUE, message_of(body_plan(f"return {n}")))
    agent.start("--once")
    assert agent.wait() == 0
    assert answer(channel)["Body"] == 0


def test_one_agent_a_storage(channel: SocketChannel, make_agent: MakeAgent) -> None:
    agent = make_agent()
    call(channel, body_plan("return 1"))
    first, agent._process = agent._process, None
    agent.start()
    assert agent.wait() == 1
    assert "another agent" in agent.log
    agent._process = first


def test_dynamic_result_queue(channel: SocketChannel, make_agent: MakeAgent) -> None:
    make_agent(enable_dynamic_result_queue=True)
    channel.send(QUEUE, message_of(body_plan("return 1", ReplyTo="-execution-results-other")))
    assert answer(channel, "-execution-results-other")["Body"] == 1
    channel.send(QUEUE, message_of(body_plan("return 2")))
    assert answer(channel, RESULTS)["Body"] == 2


def test_delays_grow_to_a_limit() -> None:
    delay = Delay(5, 1.2, 60)
    pauses = [delay.next() for _ in range(20)]
    assert pauses[:3] == [5, 6, pytest.approx(7.2)]
    assert pauses[-1] == 60
    delay.reset()
    assert delay.next() == 5
