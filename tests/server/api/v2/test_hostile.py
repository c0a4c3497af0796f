"""What only a hostile client sends: characters that databases refuse, nesting, odd headers, archives that lie.

Everything is answered by a 4xx and changes nothing, on every database.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from tests.server.api.v2.conftest import MANIFEST, TREE, archive, part, tree
from tests.server.api.v2.test_api import send

pytestmark = pytest.mark.attack("database", "hostile clients")

BAD_TEXTS = ["a\0b", "\ud800", "\udfff\ud800"]


def zipped(**files: str | bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name, text in files.items():
            made.writestr(name.replace("__", "/").replace("_dot_", "."), text)
    return target.getvalue()


@pytest.mark.parametrize("text", BAD_TEXTS)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v2/environments", {"name": "X"}),
        ("POST", "/v2/environments", {"name": "e", "default_networks": {"environment": {"X": 1}}}),
        ("POST", "/v2/templates", {"name": "X"}),
        ("POST", "/v2/templates", {"name": "t", "services": [{"?": {"type": "X", "id": "1"}}]}),
        ("POST", "/v2/actions", {"class": "X", "method": "m"}),
        ("POST", "/v2/actions", {"class": "test.Tree", "method": "sum", "args": {"X": "X"}}),
        ("POST", "/v2/auth/login", {"name": "X", "password": "X"}),
        ("POST", "/v2/tokens", {"name": "X"}),
        ("POST", "/v2/packages/known", {"items": [{"fqn": "X", "version": "1", "digest": "0"}]}),
        ("POST", "/v2/packages/import", {"url": "http://X/"}),
    ],
)  # fmt: skip
def test_texts_that_cannot_be_stored(ann: Any, method: str, path: str, body: Any, text: str) -> None:
    written = json.dumps(body).replace("X", json.dumps(text)[1:-1])
    answer = send(ann, method, path, written.encode())
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["code"] == "SRV401"


@pytest.mark.parametrize("field", ["name", "fresh"])
def test_fields_of_forms_that_cannot_be_stored(ann: Any, orchard: Any, environment: str, field: str) -> None:
    data = ann.get(f"/v2/environments/{environment}/export").getvalue()
    answer = ann._client.post("/v2/environments/import", {"archive": part(data), field: "a\0b"})
    assert answer.status_code == 400, answer.content
    for name in ("tags", "categories"):
        answer = ann._client.post("/v2/packages", {"archive": [part(archive("2.0.0"))], name: "a\0b"})
        assert answer.status_code == 400, answer.content
    assert ann.get("/v2/environments").json()["total"] == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Name: Orchard", 'Name: "Orch\\0ard"'), ("Description: Trees for tests", 'Description: "\\0"'),
        ("Tags: [garden]", 'Tags: ["gar\\0den"]'), ("Author: Vetro", 'Author: "\\uD800"'),
        ("FullName: test.orchard", 'FullName: "test.\\0"'), ("Version: 1.0.0", 'Version: "1.0.0-\\0"'),
        ("Name: Orchard", 'Name: "Orch\\uD800ard"'), ("Tags: [garden]", 'Tags: ["\\uDFFF"]'),
        ("Author: Vetro", 'Author: x\nSupplier: {Name: "a\\0b", "\\0": c}'),
    ],
)  # fmt: skip
def test_packages_with_texts_that_cannot_be_stored(ann: Any, installed: None, old: str, new: str) -> None:
    """What names something is refused; what is for people to read is stored without those characters."""
    data = zipped(
        manifest_dot_yaml=MANIFEST.replace(old, new), Classes__Tree_dot_yaml=TREE,
        Classes__Nest_dot_yaml="Name: test.Nest\n", UI__ui_dot_yaml="Version: 2\n",
    )  # fmt: skip
    checked = ann._client.post("/v2/packages/check", {"archive": [part(data, "x.zip")]})
    stored = ann._client.post("/v2/packages", {"archive": [part(data, "x.zip")]})
    assert (checked.status_code, stored.status_code) == ((200, 201) if checked.json().get("ok") else (200, 400))
    for package in ann.get("/v2/packages?owned=true").json()["items"]:
        assert old.startswith(("Name", "Desc", "Auth"))
        shown = ann.get(f"/v2/packages/{package['id']}")
        assert shown.status_code == 200 and b"\\u0000" not in shown.content


@pytest.mark.parametrize(
    "head",
    [
        {"name": "a\0b"}, {"name": "\ud800"}, {"id": "a\0b", "name": 5}, {"format": 10**30}, {"format": "1"},
        {"packages": [{"name": "a\0b", "version": "1", "digest": "x"}]}, {"packages": [7]},
        {"packages": [{"name": "test.none", "version": "\ud800", "digest": "../../etc/passwd"}]},
    ],
)  # fmt: skip
def test_archives_of_environments_that_lie(ann: Any, orchard: Any, environment: str, head: dict[str, Any]) -> None:
    files: dict[str, Any] = {}
    with zipfile.ZipFile(io.BytesIO(ann.get(f"/v2/environments/{environment}/export").getvalue())) as found:
        files = {name: found.read(name) for name in found.namelist()}
    files["environment.json"] = json.dumps({**json.loads(files["environment.json"]), "name": "n", **head}).encode()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name, data in files.items():
            made.writestr(name, data)
    answer = ann._client.post("/v2/environments/import", {"archive": part(target.getvalue())})
    assert answer.status_code == 400, answer.content
    assert ann.get("/v2/environments").json()["total"] == 1


def deep(levels: int, inside: str = "1") -> str:
    return '{"a":' * levels + inside + "}" * levels


@pytest.mark.parametrize("levels", [250, 900, 5000])
@pytest.mark.parametrize("inside", ["1", '"\\u0000"', '"\\ud800"', '"\\udead"'])
def test_nesting(ann: Any, session: str, levels: int, inside: str) -> None:
    value = deep(levels, inside)
    for method, path, body in (
        ("POST", "/v2/environments", f'{{"name": "n", "default_networks": {value}}}'),
        ("POST", "/v2/templates", f'{{"name": "n", "services": [{value}]}}'),
        ("POST", "/v2/actions", f'{{"class": "test.Tree", "method": "sum", "args": {value}}}'),
        ("POST", f"{session}/components", f'{{"?": {{"type": "test.Tree"}}, "name": {value}}}'),
        ("PUT", f"{session}/model", value),
        ("POST", "/v2/tasks/x/resolve", f'{{"key": "0", "decision": "done", "answer": {value}}}'),
        ("POST", "/v2/auth/login", value),
    ):
        answer = send(ann, method, path, body.encode())
        assert answer.status_code in (400, 404), (path, answer.status_code, answer.content[:300])
    assert ann.get(session).json()["revision"] == 0


@pytest.fixture
def session(ann: Any, environment: str) -> str:
    """A session of ann's; its address."""
    return f"/v2/sessions/{ann.post(f'/v2/environments/{environment}/sessions').json()['id']}"


@pytest.mark.parametrize(
    "words",
    ['"', "a*", "NEAR(a b)", "a OR", "(", "'", "%", "_", "\\", "a:b", "-a", "^a", "{a}", ",,,", "😀", "a" * 400],
)
def test_searches_are_words_and_no_language(ann: Any, orchard: Any, words: str) -> None:
    for query in (
        {"search": words},
        {"tag": words[:255]},
        {"category": words[:255]},
        {"class": words[:300]},
        {"name": words[:200]},
    ):
        answer = ann._client.get("/v2/packages", query)
        assert answer.status_code == 200, (query, answer.content)
    assert ann._client.get("/v2/environments", {"search": words[:200]}).status_code == 200
    assert ann._client.get("/v2/packages", {"version": words[:200]}).status_code in (200, 400)


@pytest.mark.parametrize(
    "headers",
    [
        {"content-length": "-1"}, {"content-type": "application/json; charset=nonsense"},
        {"content-type": "application/json; boundary=x"}, {"content-type": "\xff"}, {"if-match": "\xff"},
        {"x-auth-token": "x" * 9000}, {"accept": "text/html"}, {"host": "evil.example"},
    ],
)  # fmt: skip
def test_odd_headers_break_nothing(ann: Any, headers: dict[str, str]) -> None:
    from django.test import Client

    given = {"x-auth-token": ann.token, **headers}
    meta = {f"HTTP_{name}".upper().replace("-", "_"): value for name, value in given.items()}
    meta.update({name[5:]: meta.pop(name) for name in ("HTTP_CONTENT_LENGTH", "HTTP_CONTENT_TYPE") if name in meta})
    for method, path in (("GET", "/v2/environments"), ("POST", "/v2/environments"), ("POST", "/v2/packages")):
        answer = Client().generic(method, path, b'{"name": "x"}', meta.get("CONTENT_TYPE", "application/json"), **meta)
        assert answer.status_code < 500, (method, path, answer.content)


def test_a_draft_with_values_of_any_type_is_refused_by_its_task_only(
    ann: Any, session: str, drain: Callable[..., Any]
) -> None:
    odd = tree("t1", height="tall", nest=["?", {}], neighbour={"?": {"type": 5}})
    answer = ann.post(f"{session}/components", odd)
    assert answer.status_code in (201, 400)
    ann.post(f"{session}/components", tree("t2", height="tall"))
    task = ann.post(f"{session}/deploy").json()
    drain()
    assert ann.get(f"/v2/tasks/{task['id']}").json()["state"] == "failed"
