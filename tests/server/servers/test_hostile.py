"""What hostile clients send to routes about day two is answered by a 4xx, or harmlessly, never by a defect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.api.v2.test_api import send
from tests.server.servers.test_logs import House, use_cloud
from tests.support.commands import Execution

pytestmark = [pytest.mark.campaign, pytest.mark.attack("routes", "day two")]

#: Values that stand for each argument in turn.
HOSTILE: tuple[Any, ...] = (
    None, True, -1, 1 << 80, 1e308, "", " ", "a\0b", "\ud800", "x" * 70_000, "../../etc/passwd", "a\r\nX: b",
    "{{7*7}}", "http://169.254.169.254/", "https://[::1]/", "https://0x7f.1/", "file:///etc/passwd", [], [[]], [None],
    {}, {"a": []}, ["\ud800"], ["a\0b"], ["x"] * 20_000, [1], [{}],
)  # fmt: skip
BODIES: dict[str, dict[str, Any]] = {
    "POST {e}/stop": {"what": "front"},
    "POST {e}/start": {"what": "front"},
    "POST {e}/restart": {"what": "front"},
    "POST {e}/repair": {"plan": True},
    "POST {e}/servers/front/commands": {"command": ["true"], "terminal": {"columns": 80, "rows": 24}, "input": False},
    "POST {e}/commands/x/input": {"data": "aGk=", "end": False, "columns": 80, "rows": 24},
    "POST /v2/notices/targets": {
        "name": "n", "kind": "webhook", "url": "https://a.example/", "language": "en", "template": "{}",
        "to": ["a@b.c"],
    },
    "POST /v2/notices/rules": {"target": "x", "events": ["task"], "least": "error", "environment": "x", "kinds": ["a"]},
    "PATCH {e}": {"name": "house", "repair": "auto"},
}  # fmt: skip
QUERIES = {
    "{e}/servers/front/log": ("lines", "what", "kind"),
    "{e}/health": ("limit", "after", "component"),
    "{e}/metrics": ("server", "minutes"),
    "{e}/drift": ("x",),
    "{e}/servers": ("task", "x"),
    "{e}/report": ("x",),
    "/v2/notices/deliveries": ("limit", "after", "target", "state"),
    "/v2/notices/rules": ("limit", "target"),
    "/v2/audit": ("limit", "after", "action", "project"),
}


@pytest.fixture
def house(ann: Any, drain: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    use_cloud(tmp_path / "cloud", monkeypatch)
    yield House(ann, drain)


def end(answer: Any) -> None:
    """Nobody follows what was begun: a shell would wait for its input."""
    if answer.streaming:
        next(answer._iterator, None)
        answer._iterator.close()


def test_bodies(house: House, ann: Any, monkeypatch: pytest.MonkeyPatch, drain: Callable[..., int]) -> None:
    Execution(monkeypatch)
    tried, wrong = 0, []
    for route, body in BODIES.items():
        method, path = route.format(e=f"/v2/environments/{house.row.id}").split(" ")
        variants = [{**body, name: value} for name in body for value in HOSTILE] + [*HOSTILE]
        for one in variants:
            tried += 1
            answer = send(ann, method, path, json.dumps(one).encode())
            end(answer)
            if answer.status_code >= 500:
                wrong.append((route, str(one)[:200], answer.status_code))
    drain()
    assert not wrong, wrong
    assert tried > 600


def test_queries_and_names(house: House, ann: Any) -> None:
    texts = [
        "",
        "-1",
        "0",
        "9" * 400,
        "1e9",
        "NaN",
        "%00",
        "a%00b",
        "%ff",
        "%ed%a0%80",
        "..%2f..%2fetc",
        "x" * 5000,
        "'--",
    ]
    environment = f"/v2/environments/{house.row.id}"
    wrong = []
    for route, names in QUERIES.items():
        path = route.format(e=environment)
        for name in names:
            for text in texts:
                answer = ann.get(f"{path}?{name}={text}")
                end(answer)
                if answer.status_code >= 500:
                    wrong.append((path, name, text, answer.status_code))
    for text in texts[1:]:
        for path in (
            f"{environment}/servers/{text}/log",
            f"/v2/notices/targets/{text}",
            f"/v2/environments/{text}/health",
        ):
            answer = ann.get(path)
            end(answer)
            if answer.status_code >= 500:
                wrong.append((path, text, answer.status_code))
    assert not wrong, wrong
