"""Lists of operations on a model."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.server.environments import drafts, patching, service, sessions
from vetro.server.errors import Forbidden, Invalid, NotFound


@pytest.fixture
def env(ann: Any) -> str:
    return str(service.create(ann.caller, {"name": "e", "region": None})["id"])


@pytest.fixture
def patch(ann: Any, env: str) -> Any:
    session = sessions.open_session(ann.caller, env).id
    drafts.add_services(ann.caller, env, session, {"?": {"type": "T", "id": "a"}, "x": [1, 2]})

    def apply(*operations: Any) -> Any:
        return patching.patch(ann.caller, env, session, [dict(zip(("op", "path", "value"), o)) for o in operations])

    return apply


def test_operations_change_the_model_in_order(patch: Any) -> None:
    model = patch(
        ("replace", "/name", "m"), ("replace", "/region", "R"), ("add", "/new", {"a~b": {"c/d": 1}}),
        ("replace", "/new/a~0b/c~1d", 2), ("add", "/services/0/x/1", "between"), ("add", "/services/a/x/-", "last"),
        ("remove", "/services/a/x/0", None), ("add", "/services/-", {"?": {"type": "U", "id": "b"}}),
        ("replace", "/defaultNetworks/flat", True), ("replace", "/?/type", "my.Environment"),
    )  # fmt: skip
    assert (model["name"], model["region"], model["new"]) == ("m", "R", {"a~b": {"c/d": 2}})
    assert model["services"][0]["x"] == ["between", 2, "last"]
    assert [s["?"]["id"] for s in model["services"]] == ["a", "b"]
    assert model["defaultNetworks"]["flat"] is True
    assert model["?"]["type"] == "my.Environment"


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (("replace", "/?/id", "x"), Forbidden),
        (("remove", "/?", 1), Forbidden),
        (("remove", "/name", 1), Forbidden),
        (("add", "/name", "x"), Forbidden),
        (("remove", "/defaultNetworks", 1), Forbidden),
        (("move", "/name", 1), Forbidden),
        (("test", "/x", 1), Forbidden),
        (("add", "/applications", []), Forbidden),
        (("replace", "/", 1), Forbidden),
        (("replace", "/nosuch", 1), NotFound),
        (("remove", "/nosuch", 1), NotFound),
        (("remove", "/services/0/x/9", 1), NotFound),
        (("add", "/services/0/x/9", 1), NotFound),
        (("add", "/name/x", 1), NotFound),
        (("replace", "", "x"), Invalid),
        (("replace", "name", "x"), Invalid),
        (("replace", "/name", 5), Invalid),
        (("replace", "/name", " "), Invalid),
        (("replace", "/region", 5), Invalid),
        (("replace", "/services", {}), Invalid),
        (("add", "/services/-", 5), Invalid),
        (("add", "/services/-", {"?": {"type": "T", "id": "a"}}), Invalid),
        (("replace", "/?/type", ""), Invalid),
        ((5, "/name", "x"), Invalid),
        (("replace", "/name"), Invalid),
    ],
)
def test_refused_operations_change_nothing(patch: Any, operation: Any, error: type[Exception]) -> None:
    before = patch(("add", "/ok", 1))
    with pytest.raises(error):
        patch(("add", "/other", 1), operation)
    after = patch(("add", "/ok", 1))
    assert after == before


def test_values_may_not_be_endlessly_deep(patch: Any) -> None:
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(Invalid, match="nested deeper"):
        patch(("add", "/x", deep))


@pytest.mark.parametrize("body", [None, {}, [], "x", [1], 5])
def test_the_body_is_a_list_of_operations(ann: Any, env: str, body: Any) -> None:
    with pytest.raises(Invalid):
        patching.patch(ann.caller, env, sessions.open_session(ann.caller, env).id, body)
