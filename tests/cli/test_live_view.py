"""What the live view says of a task that waits."""

from __future__ import annotations

import pytest

from vetro.cli.live_view import Watch


def test_reports_of_the_host_are_shown_like_those_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with Watch({"one": "Web"}) as watch:
        watch.event({"event": "progress", "key": "1", "waits": "the stack is held", "seconds": 3.0})
        watch.event(
            {
                "event": "progress",
                "key": "1",
                "report": {"id": "one", "level": "warning", "text": "the agent of server 'web' has not come for 45 s"},
            }
        )
    (line,) = capsys.readouterr().err.splitlines()
    assert "warning" in line and line.endswith("Web: the agent of server 'web' has not come for 45 s")
