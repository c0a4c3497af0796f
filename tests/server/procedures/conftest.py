"""A shop whose deployment leaves a stack, in environments whose cloud writes down what it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.server.conftest import installed
from tests.server.layers import People, layer
from tests.server.tasks import shop
from vetro.engine.watching.states import State


class Market:
    """An environment with a shop, as one person uses it over the API."""

    def __init__(self, person: Any, drain: Callable[[], int], id: str) -> None:
        self.person = person
        self.drain = drain
        self.id = id
        #: How its components are when somebody looks.
        self.health: Mapping[str, State] = {}

    def draft(self, **properties: Any) -> str:
        """A session with the shop as it is to be; its id."""
        session = self.person.post(f"/v2/environments/{self.id}/sessions").json()["id"]
        model = self.person.get(f"/v2/sessions/{session}/model").json()
        one = {"?": {"type": "test.Shop", "id": "shop-1"}, "title": "corner", **properties}
        model["services"] = [one]
        assert self.person.put(f"/v2/sessions/{session}/model", model).status_code == 200
        return str(session)

    def deploy(self, session: str, **guard: Any) -> Any:
        """The response to deploying it."""
        return self.person.post(f"/v2/sessions/{session}/deploy", guard or None)

    def guarded(self, session: str, **guard: Any) -> str:
        """Begins an update with a way back; the id of the procedure."""
        answer = self.deploy(session, guard=True, **{"settle": 0, **guard})
        assert answer.status_code == 202, answer.content
        return str(answer.json()["procedure_id"])

    def shown(self, procedure: str) -> dict[str, Any]:
        """A procedure."""
        found: dict[str, Any] = self.person.get(f"/v2/procedures/{procedure}").json()
        return found

    def run(self, procedure: str, most: int = 30) -> dict[str, Any]:
        """Works and sweeps until it has ended, or waits for somebody; as it is then."""
        from vetro.server.procedures.sweep import sweep

        for _ in range(most):
            if not (self.drain() + sweep(lambda row: self.health)):
                break
        return self.shown(procedure)

    def environment(self) -> dict[str, Any]:
        """The environment."""
        found: dict[str, Any] = self.person.get(f"/v2/environments/{self.id}").json()
        return found

    def states(self) -> list[dict[str, Any]]:
        """Its states, newest first."""
        return list(self.person.get(f"/v2/environments/{self.id}/states").json()["items"])


@layer(installed)
def shop_package(people: People) -> None:
    """The package of the shop."""
    shop.add_package(people("ann").caller)


@pytest.fixture
def market(shop_package: None, ann: Any, drain: Any) -> Market:
    """A shop that is deployed."""
    made = ann.post("/v2/environments", {"name": "market"}).json()
    found = Market(ann, drain, made["id"])
    assert found.deploy(found.draft()).status_code == 202
    drain()
    assert found.environment()["status"] == "ready"
    return found
