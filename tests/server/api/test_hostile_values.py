"""Values that databases refuse, in each place of each write of /v1 and /v2: a 4xx or a value that is kept, never a 5xx.

On SQLite and, with script/with-postgresql, on PostgreSQL. A part of the cases by default, all of them as a campaign.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.db import transaction

pytestmark = [pytest.mark.database, pytest.mark.attack("database", "hostile values")]

#: As they stand in JSON.
VALUES = {
    "nul": r'"a\u0000b"',
    "surrogate": r'"\ud800"',
    "reversed pair": r'"\udfff\ud800"',
    "noncharacters": r'"\uffff\ufdd0"',
    "long": json.dumps("x" * 300),
    "longer": json.dumps("\u00e9" * 70_000),
    "combining": json.dumps("e" + "\u0301" * 600),
    "right to left": r'"\u202e\u2066"',
    "quotes": json.dumps("'\"\\;--%s%%$1{}"),
    "int64": str(2**63),
    "huge": "9" * 4000,
    "exponent": "1e400",
    "negative": str(-(2**200)),
    "nan": "NaN",
    "float": "0.1",
    "true": "true",
    "null": "null",
    "empty": '""',
    "list": "[]",
    "deep list": "[" * 900 + "]" * 900,
    "deep mapping": '{"a":' * 400 + "1" + "}" * 400,
    "nul in a key": r'{"a\u0000b": 1}',
    "surrogate in a key": r'{"\ud83d": {"\udc00": "\udc00"}}',
    "same keys": '{"a": 1, "a": 2}',
    "wide": "[" + ",".join(["1"] * 20_000) + "]",
}
SERVICE = {"?": {"type": "X", "id": "X", "name": "X"}, "name": "X", "list": ["X"], "X": {"X": 1}}
#: Method, path, body; each X is where a value goes, one at a time. ENV, SES, TPL, PKG stand for what is there.
WRITES: list[tuple[str, str, Any]] = [
    ("POST", "/v1/environments", {"name": "X", "region": "X", "description_text": "X", "defaultNetworks": {"X": "X"}}),
    ("PUT", "/v1/environments/ENV", {"name": "X"}),
    ("POST", "/v1/environments/ENV/services", SERVICE),
    ("PUT", "/v1/environments/ENV/services", [SERVICE]),
    ("PATCH", "/v1/environments/ENV/model/", [{"op": "replace", "path": "/defaultNetworks", "value": "X"}]),
    ("PATCH", "/v1/environments/ENV/model/", [{"op": "X", "path": "X", "value": 1}]),
    ("POST", "/v1/templates", {"name": "X", "description_text": "X", "is_public": "X"}),
    ("PUT", "/v1/templates/TPL", {"name": "X"}),
    ("POST", "/v1/templates/TPL/services", SERVICE),
    ("POST", "/v1/templates/TPL/create-environment", {"name": "X"}),
    ("POST", "/v1/templates/TPL/clone", {"name": "X"}),
    ("POST", "/v1/catalog/categories", {"name": "X"}),
    ("PATCH", "/v1/catalog/packages/PKG", [{"op": "replace", "path": "/name", "value": "X"}]),
    ("PATCH", "/v1/catalog/packages/PKG", [{"op": "add", "path": "/tags", "value": ["X"]}]),
    ("PATCH", "/v1/catalog/packages/PKG", [{"op": "replace", "path": "X", "value": "X"}]),
    ("POST", "/v1/actions", {"className": "X", "methodName": "X", "classVersion": "X", "parameters": {"X": "X"}}),
    ("POST", "/v1/environments/ENV/actions/X", {"X": "X"}),
    ("POST", "/v2/environments", {"name": "X", "description": "X", "region": "X", "default_networks": "X"}),
    ("PATCH", "/v2/environments/ENV", {"name": "X", "description": "X"}),
    ("POST", "/v2/templates", {"name": "X", "services": [SERVICE], "description": "X", "public": "X"}),
    ("POST", "/v2/categories", {"name": "X"}),
    ("POST", "/v2/auth/login", {"name": "X", "password": "X", "project": "X"}),
    ("POST", "/v2/tokens", {"name": "X", "days": "X"}),
    ("POST", "/v2/users", {"name": "X", "password": "X", "email": "X"}),
    ("POST", "/v2/projects", {"name": "X", "description": "X"}),
    ("POST", "/v2/packages/known", {"items": [{"fqn": "X", "version": "X", "digest": "X"}]}),
    ("POST", "/v2/actions", {"class": "X", "method": "X", "version": "X", "args": {"X": "X"}}),
]
READS = [
    "/v1/catalog/packages?search=X", "/v1/catalog/packages?fqn=X&order_by=X", "/v1/catalog/packages?marker=X&limit=X",
    "/v1/catalog/packages?category=X&tag=X&class_name=X", "/v1/catalog/categories?sort_keys=X&sort_dir=X",
    "/v1/schemas/X", "/v1/schemas/X/X?classVersion=X", "/v1/environments?tenant=X", "/v1/environments/X",
    "/v1/environments/ENV/services/X", "/v1/environments/ENV/model/X", "/v1/environments/ENV/deployments/X",
    "/v1/environments/ENV/actions/X", "/v1/templates/X", "/v2/environments?search=X&sort=X&page=X", "/v2/audit?user=X",
    "/v2/packages?search=X&sort=X&tag=X&category=X", "/v2/tasks?environment=X&state=X&after=X", "/v2/tasks/X",
]  # fmt: skip


def cases() -> list[tuple[str, str, str, str, str]]:
    """(name, method, path, body, value): one place and one value each."""
    found = []
    for method, path, body in WRITES:
        text = json.dumps(body)
        for place in range(text.count('"X"')):
            found += [(f"{method} {path} {place} {kind}", method, path, put(text, place, value), value)
                      for kind, value in VALUES.items()]  # fmt: skip
    for path in READS:
        found += [(f"GET {path} {kind}", "GET", path, "", value) for kind, value in VALUES.items() if len(value) < 4000]
    return found


def put(text: str, place: int, value: str) -> str:
    """The body with a value in one of its places; keys stay texts."""
    parts = text.split('"X"')
    before, after = '"X"'.join(parts[: place + 1]), '"X"'.join(parts[place + 1 :])
    key = after.lstrip().startswith(":")
    text = value if not key or value.startswith('"') else json.dumps(value)
    return f"{before}{text}{after}".replace('"X"', '"x"')


@pytest.fixture
def there(root: Any) -> Iterator[dict[str, str]]:
    """Ids of what there is."""
    from tests.server.tasks import shop

    package = shop.add_package(root.caller)
    environment = root.post("/v1/environments", {"name": "there"}).json()["id"]
    yield {
        "ENV": environment,
        "SES": root.post(f"/v1/environments/{environment}/configure").json()["id"],
        "TPL": root.post("/v1/templates", {"name": "there"}).json()["id"],
        "PKG": package.id,
    }


def attack(root: Any, there: dict[str, str], chosen: list[tuple[str, str, str, str, str]]) -> set[int]:
    statuses: set[int] = set()
    failed: list[str] = []
    root._client.raise_request_exception = False
    for name, method, path, body, value in chosen:
        for word, id in there.items():
            path = path.replace(word, id)
        plain = json.loads(value) if value.startswith('"') else value
        path = path.replace("X", quote(str(plain).encode("utf-8", "surrogatepass"), safe="")[:3000])
        more: dict[str, Any] = {}
        if body:
            more = {"content_type": "application/json", "data": body.encode()}
            if path.startswith("/v1/catalog/packages/"):
                more["content_type"] = "application/murano-packages-json-patch"
            elif method == "PATCH":
                more["content_type"] = "application/env-model-json-patch" if "/model" in path else "application/json"
        with transaction.atomic():
            answer = getattr(root._client, method.lower())(
                path, headers={"x-configuration-session": there["SES"]}, **more
            )
            transaction.set_rollback(True)
        if answer.status_code >= 500:
            failed.append(f"{name}: {answer.status_code} {answer.content[:200]!r}")
        statuses.add(answer.status_code)
    assert not failed, "\n".join(failed)
    return statuses


def test_a_part_of_them(root: Any, there: dict[str, str]) -> None:
    chosen = random.Random(13).sample(cases(), 100)
    statuses = attack(root, there, chosen)
    assert {200, 400, 404} <= statuses


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_all_of_them(root: Any, there: dict[str, str]) -> None:
    attack(root, there, cases())
