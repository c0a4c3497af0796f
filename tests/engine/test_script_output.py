"""What servers tell of their scripts: made of whole lines, measured, and heard by whoever waits only."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.clouds.messages import Message
from vetro.engine.host import script_output
from vetro.engine.host.agents import Agents
from vetro.engine.host.answer import Request
from vetro.engine.host.script_output import LONGEST, ScriptOutput
from vetro.yaql.redact import MASK, Secrets

SECRET = "correct-horse-battery"


def piece(text: str, number: int = 1, **more: Any) -> dict[str, Any]:
    about = {"Action": "Execution:Output", "PlanID": "p", "Script": "s.sh", "Stream": "stdout", "Left": 0}
    return {**about, "Number": number, "Text": text, **more}


@given(st.lists(st.integers(0, 80), max_size=6), st.sampled_from(["\n", " ", "="]))
def test_a_secret_is_masked_wherever_the_text_is_cut(cuts: list[int], around: str) -> None:
    text = f"before\npassword{around}{SECRET}{around}after\nPASS={SECRET}"
    said: list[str] = []
    secrets = Secrets([SECRET])
    output = ScriptOutput("i1", lambda told: said.append(secrets.text(told["text"])))
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    for number, (start, end) in enumerate(pairwise(places)):
        output.take(piece(text[start:end], number))
    output.end()
    assert "\n".join(said) == secrets.text(text) and SECRET[:6] not in "".join(said)
    assert "".join(said).count(MASK) == 2


def test_what_is_told_of_a_piece() -> None:
    told: list[Any] = []
    output = ScriptOutput("i1", told.append)
    output.take(piece("one\n\x1b[31mtwo\n", 7, Left=12))
    output.take(piece("three", 8, Script="\x1bs" * 300, Stream="stderr"))
    output.end()
    output.end()
    assert told == [
        {"id": "i1", "number": "7", "script": "s.sh", "stream": "stdout", "text": "one\ntwo", "left": 12},
        {**told[1], "stream": "stderr", "text": "three", "left": 0},
    ]
    assert told[1]["number"] != "8" and "\x1b" not in told[1]["script"] and len(told[1]["script"]) <= 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"Text": 7}, {"Text": None}, {"Script": []}, {"Stream": "disk"}, {"Stream": {}}, {"Text": ""},
        *({"Text": "x\n", "Number": number} for number in (None, True, -1, 1 << 63, [], "1", "\0", "\ud800")),
    ],
)  # fmt: skip
def test_what_is_none_is_dropped(wrong: dict[str, Any]) -> None:
    told: list[Any] = []
    output = ScriptOutput("i1", told.append)
    output.take(piece("", **wrong))
    output.end()
    assert told == []
    output.take(piece("x\n", Left="many"))
    output.take(piece("y\n", Left=True))
    assert [one["left"] for one in told] == [0, 0]


@pytest.mark.attack("database", "script output")
def test_what_is_told_is_text_that_a_database_holds() -> None:
    """JSON can spell characters that are none: one piece with such a name ended the deployment of its environment."""
    told: list[Any] = []
    output = ScriptOutput("i1", told.append)
    output.take(piece("half \ud800\0\nrest \udfff", Script="s\0\ud800\n\0"))
    output.end()
    assert [one["text"] for one in told] == ["half ?", "rest ?"]
    for text in (str(value) for one in told for value in one.values()):
        assert text.encode("utf-8") and "\0" not in text


def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    output = ScriptOutput("i1", told.append)
    for _ in range(20):
        output.take(piece("x" * LONGEST))
    output.take(piece("x\nshort\n"))
    assert told[0]["text"] == "(a line that is too long to be shown)\nshort"
    for number in range(300):
        output.take(piece("y" * 10_000 + "\n", number))
    assert sum(len(one["text"]) for one in told) <= script_output.MOST
    many = ScriptOutput("i1", told.append)
    told.clear()
    for number in range(5000):
        many.take(piece("z\n", number, Script=f"s{number % 1000}"))
    assert len(told) == script_output.MOST_PIECES


class Line:
    """A channel of which the test says what comes."""

    def __init__(self) -> None:
        self.coming: list[Message] = []
        self.sent: list[Message] = []
        self.done: list[str] = []
        self.ready = threading.Condition()

    def say(self, id: str, body: Any) -> None:
        with self.ready:
            self.coming.append(Message(id, json.dumps(body)))
            self.ready.notify_all()

    def send(self, queue: str, message: Message) -> None:
        self.sent.append(message)

    def receive(self, queue: str, timeout: float) -> Message | None:
        with self.ready:
            self.ready.wait_for(lambda: self.coming, timeout)
            return self.coming.pop(0) if self.coming else None

    def acknowledge(self, queue: str, id: str) -> None:
        self.done.append(id)

    def connected(self, queue: str) -> bool | None:
        return None

    def close(self) -> None:
        pass


@pytest.fixture
def line() -> Iterator[Line]:
    yield Line()


def test_who_waits_hears_it_and_the_answer_stays_the_answer(line: Line) -> None:
    agents = Agents(line)
    told: list[Any] = []
    ended: list[Any] = []
    over = threading.Event()
    args = {"queue": "eenv-hserver1", "listener": "-execution-results-x", "id": "p", "plan": {}, "timeout": 20}
    request = Request("0/1", "agent.call", args, progress=told.append)

    def done(answer: Any, error: Any) -> None:
        ended.append((answer, error))
        over.set()

    try:
        agents.call(request, done)
        wait(lambda: line.sent)  # else the answer is there first, and nothing is sent
        line.say("p#1", piece("hello\n"))
        line.say("other#1", piece("of another plan\n", PlanID="other"))
        line.say("p#2", piece("half", 2))
        line.say("p", {"SourceID": "p", "Body": 1})
        assert over.wait(20)
        assert ended == [({"result": {"SourceID": "p", "Body": 1}}, None)]
        assert [(one["output"]["id"], one["output"]["text"]) for one in told] == [
            ("server1", "hello"),
            ("server1", "half"),
        ]
        assert [message.output for message in line.sent] == [True]
        wait(lambda: {"p#1", "p#2", "other#1"} <= set(line.done) and "p" not in line.done)
    finally:
        agents.close()


def wait(condition: Callable[[], object]) -> None:
    for _ in range(6000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not happen")
