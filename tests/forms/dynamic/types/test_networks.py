from __future__ import annotations

from typing import Any

import pytest

from tests.forms.dynamic.making import Session, cleaned, definition
from vetro.forms.dynamic import BadAttribute, load


def offered(attributes: str = "", **changes: Any) -> list[Any]:
    field = Session(definition(f"name: a, type: network{attributes}"), **changes).field("a")
    return [[c.value, c.label] for c in field.choices]


def test_names_only() -> None:
    assert offered(", include_subnets: false, allow_auto: false") == [
        [["net-a", None], "alpha"],
        [["net-b", None], "beta"],
        [["net-env", None], "prod-network-3f2a"],
    ]


def test_filter_is_anchored_at_the_beginning() -> None:
    assert [label for _, label in offered(", filter: '(beta|pha)$', allow_auto: false")] == [
        "beta: 10.1.0.0/24 b-one",
        "beta: random subnet",
    ]


def test_longest_environment_name_wins() -> None:
    cloud = {
        "environments": [{"id": "1", "name": "prod"}, {"id": "2", "name": "prod-network"}],
        "networks": [
            {
                "id": "n",
                "name": "prod-network-network-1",
                "external": False,
                "subnets": [{"id": "s", "name": "s", "cidr": "c"}],
            }
        ],
    }
    found = offered(", murano_networks: translate", cloud=cloud)
    assert found[1] == [["n", "s"], "Network of 'prod-network'"]


@pytest.mark.parametrize(
    ("attributes", "raw", "value"),
    [
        ("", ["net-a", "sub-a1"], ["net-a", "sub-a1"]),
        ("", '["net-a", null]', ["net-a", None]),
        ("", "[null, null]", [None, None]),
        ("", None, [None, None]),
        ("", "net-a", "refused"),
        ("", "[net-a]", "refused"),
        ("", [1, 2], "refused"),
        ("", {"a": 1}, "refused"),
        ("", "[" * 10000, "refused"),
        (", allow_auto: false", None, "refused"),
        (", allow_auto: false, required: false", None, [None, None]),
        (", enabled: false", '["x", "y"]', ["x", "y"]),
        (", enabled: false", "nonsense", [None, None]),
    ],
)
def test_cleaned(attributes: str, raw: Any, value: Any) -> None:
    found = cleaned(f"type: network{attributes}", raw)
    if value == "refused":
        assert len(found) == 1 and found[0].startswith("Select a valid choice.")
    else:
        assert found == value


@pytest.mark.parametrize("attributes", [", murano_networks: EXCLUDE", ", filter: '(a'", ", murano_networks: [a]"])
def test_refused(attributes: str) -> None:
    with pytest.raises(BadAttribute):
        load(definition(f"name: a, type: network{attributes}"))
