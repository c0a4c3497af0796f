"""What tests of the pages about environments share: an environment with one plant, and what a page says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.server.environments.conftest import plant

Browser = Callable[[Any], Client]
EVIL = "<script>alert('x')</script>"
POT = {"?": {"type": "test.Pot", "id": "pot"}}


def text(answer: Any, status: int = 200) -> str:
    assert answer.status_code == status, answer.content.decode()[-2000:]
    return str(answer.content.decode())


def words(answer: Any, status: int = 200) -> str:
    """What a page says, without its markup."""
    main = text(answer, status).partition("<main")[2]
    return " ".join(re.sub(r"<[^>]*>", " ", main).split())


@pytest.fixture
def garden(planting: Any) -> Any:
    """An environment with one plant, deployed."""
    return planting(plant(password="canary-secret", pot=dict(POT)))


@pytest.fixture
def client(ann: Any, browser: Browser) -> Client:
    """Ann's browser."""
    return browser(ann)


def at(garden: Any, rest: str = "") -> str:
    return f"/app/environments/{garden.id}/{rest}"
