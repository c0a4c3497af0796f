"""Log lines: what they say, and what they never say."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog

from vetro.server import setup
from vetro.server.caller import Caller
from vetro.server.observe import logs
from vetro.server.observe.current_request import current
from vetro.server.observe.requests import answered

TOKEN = "vetro_" + "Ab1-_" * 8


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., io.StringIO]]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level

    def start(**settings: Any) -> io.StringIO:
        stream = io.StringIO()
        monkeypatch.setattr("sys.stderr", stream)
        named = {f"observe.{name}": value for name, value in settings.items()}
        logs.configure(setup.config().changed(named), stream)
        return stream

    yield start
    root.handlers[:] = before
    root.setLevel(level)
    logs._State.access = False
    structlog.reset_defaults()


def environ() -> dict[str, Any]:
    return {
        "vetro.request_id": "req-1",
        "vetro.caller": Caller("u", "ann", "p", "demo"),
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/v1/environments",
        "REMOTE_ADDR": "10.0.0.9",
        "QUERY_STRING": "secret=1",
    }


def test_lines_of_any_logger_bear_the_request_they_belong_to(lines: Any) -> None:
    stream = lines(log_format="json")
    token = current.set(environ())
    logging.getLogger("vetro.somewhere").warning("took %d s", 3)
    structlog.get_logger("vetro.other").info("done", task="t1")
    current.reset(token)
    logging.getLogger("vetro.somewhere").warning("later")
    first, second, third = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["event"], first["request"], first["user"], first["project"]) == ("took 3 s", "req-1", "ann", "demo")
    assert (second["task"], second["level"], second["logger"]) == ("t1", "info", "vetro.other")
    assert "request" not in third


def test_a_request_gets_one_line_without_its_query(lines: Any) -> None:
    stream = lines(log_format="json")
    answered(environ(), 200, 0.0123)
    line = json.loads(stream.getvalue())
    assert (line["path"], line["status"], line["ms"], line["user"]) == ("/v1/environments", 200, 12.3, "ann")
    assert "secret" not in stream.getvalue()


def test_request_lines_can_be_switched_off_and_probes_have_none(lines: Any) -> None:
    stream = lines(access=False)
    answered(environ(), 200, 0.01)
    stream2 = lines(access=True)
    answered({**environ(), "PATH_INFO": "/health"}, 200, 0.01)
    assert (stream.getvalue(), stream2.getvalue()) == ("", "")


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_hidden(lines: Any, form: str) -> None:
    stream = lines(log_format=form)
    log = structlog.get_logger("vetro.x")
    log.warning("hello", password="hunter2", new_token="t0k", options={"api_key": "k3y", "list": [{"secret": "s3c"}]})
    logging.getLogger("lib").warning("sent X-Auth-Token: %s to it", "abcdef")
    logging.getLogger("lib").warning("got %s, password='pa ss' and Authorization: Bearer b34r3r", TOKEN)
    answered({**environ(), "PATH_INFO": f"/app/link/{TOKEN}"}, 200, 0.01)
    text = stream.getvalue()
    for secret in ("hunter2", "t0k", "k3y", "s3c", "abcdef", "pa ss", "b34r3r", TOKEN):
        assert secret not in text
    assert "hello" in text


def test_a_traceback_shows_no_values_of_variables(lines: Any) -> None:
    stream = lines(log_format="json")
    hidden_in_a_variable = "s3cr3t-value"
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("vetro.x").exception("defect")
    assert "ValueError: broken" in json.loads(stream.getvalue())["exception"]
    assert hidden_in_a_variable not in stream.getvalue().replace("hidden_in_a_variable", "")


def test_nobody_writes_a_second_line(lines: Any) -> None:
    stream = lines(log_format="text")
    logging.getLogger("vetro.x").warning("name: %s", "a\n2026-01-01 [info] forged")
    answered({**environ(), "PATH_INFO": "/v1/a\nforged\x1b[31m"}, 404, 0.01)
    # A Keystone lets names be what they like.
    odd = Caller("u", "mia\n[info] forged", "p", "shop\x1b[2J", ("member",))
    answered({**environ(), "vetro.caller": odd}, 200, 0.01)
    assert len(stream.getvalue().splitlines()) == 3
    assert "\x1b" not in stream.getvalue()
