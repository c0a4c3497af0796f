"""What the live view says of a task that waits."""

from __future__ import annotations

import time

import pytest

from vetro.cli import live_view
from vetro.cli.live_view import Watch


def test_reports_of_the_host_are_shown_like_those_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with Watch({"one": "Web"}) as watch:
        watch.event(
            {
                "event": "progress",
                "key": "1",
                "report": {"id": "one", "level": "warning", "text": "the agent of server 'web' has not come for 45 s"},
            }
        )
    (line,) = capsys.readouterr().err.splitlines()
    assert "warning" in line and line.endswith("Web: the agent of server 'web' has not come for 45 s")


def test_what_is_waited_for_is_said_with_since_when_and_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def said() -> list[str]:
        return [line.partition("waits   ")[2] for line in capsys.readouterr().err.splitlines()]

    with Watch({}) as watch:
        waits = [{"text": "the agent of server 'web'", "since": time.time() - 7.2}]  # as the worker here tells
        watch.event({"event": "progress", "waits": waits})
        assert said() == ["waits for the agent of server 'web', for 7 s already"]
        watch.event({"event": "progress", "waits": [{**waits[0], "seconds": 9.0}]})  # as a server tells
        assert said() == []
        monkeypatch.setattr(live_view, "AGAIN", 0.0)
        watch.event({"event": "progress", "waits": [*waits, {"text": "a person", "seconds": None}]})
        assert said() == ["waits for the agent of server 'web', for 7 s already", "waits for a person"]
        watch.event({"event": "progress", "waits": []})
        assert said() == []
