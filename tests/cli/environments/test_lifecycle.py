"""Choosing an action of an environment on a server by what people call its application."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.cli.client.find import NotFound
from vetro.cli.environments.lifecycle import chosen_action

NAMES = {"e1": "shop", "f1": "WebFarm", "b1": "box"}


def offered(object_id: str, name: str, kind: str) -> dict[str, Any]:
    return {"id": f"{object_id}_{name}", "name": name, "object_id": object_id, "class": kind, "enabled": True}


KNOWN = [
    offered("e1", "deploy", "io.murano.Environment"),
    offered("f1", "grow", "com.example.WebFarm"),
    offered("b1", "grow", "com.example.Box"),
]


@pytest.mark.parametrize("app", ["f1", "WebFarm", "com.example.WebFarm"])
def test_an_application_goes_by_id_name_or_class(app: str) -> None:
    assert chosen_action(KNOWN, NAMES, "grow", app, "shop")["id"] == "f1_grow"


def test_what_is_called_otherwise_is_listed_by_name() -> None:
    with pytest.raises(NotFound) as caught:
        chosen_action(KNOWN, NAMES, "grow", "Farm", "shop")
    assert caught.value.hint == "there are WebFarm, box, shop"
    with pytest.raises(NotFound) as caught:
        chosen_action(KNOWN, NAMES, "grow", None, "shop")
    assert caught.value.hint == "say which with --app: WebFarm (f1), box (b1)"
