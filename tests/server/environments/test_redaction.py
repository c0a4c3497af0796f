"""Which properties are secret: what cannot be read is not taken for public, and many classes cost as much as one."""

from __future__ import annotations

from typing import Any

import pytest

import vetro.packages
from tests.server.catalog.archives import archive
from vetro.model.secrets import conceal
from vetro.server.catalog import blobs
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.secret_names import secrets_of
from vetro.server.errors import Unavailable

pytestmark = pytest.mark.django_db
SAFE = """\
Namespaces: {'=': com.example, f: io.murano.metadata.forms}
Name: Safe%s
Properties:
  pin: {Contract: $.string(), Meta: {f:Secret: {}}}
  size: {Contract: $.int()}
"""


def imported(person: Any, name: str, count: int = 1) -> str:
    classes = {f"com.example.Safe{number}": SAFE % number for number in range(count)}
    return str(import_packages(person.caller, [archive(name, classes=classes)]).packages[0].digest)


def test_an_outage_of_the_store_shows_no_secret_then_or_later(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = secrets_of([imported(ann, "com.example.Out")])

    def away(digest: str) -> Any:
        raise Unavailable("the blob store cannot be read")

    with monkeypatch.context() as patched:
        patched.setattr(blobs, "local_path", away)
        with pytest.raises(Unavailable):
            secrets("com.example.Safe0")
    assert secrets("com.example.Safe0") == {"pin"}
    thing = {"?": {"type": "com.example.Safe0", "id": "s"}, "pin": "1234", "size": 1}
    assert conceal(thing, secrets)["pin"] == {"secret": "kept"}


def test_a_package_that_is_gone_hides_nothing_else_of_the_environment(
    ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = secrets_of([imported(ann, "com.example.Gone")])

    def gone(digest: str) -> Any:
        raise blobs.BlobMissing("blob is missing")

    with monkeypatch.context() as patched:
        patched.setattr(blobs, "local_path", gone)
        assert secrets("com.example.Safe0") == frozenset()
    assert secrets("com.example.Safe0") == {"pin"}  # it came back


def test_packages_are_read_once_for_all_classes_of_a_model(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    load = vetro.packages.load_path
    monkeypatch.setattr(vetro.packages, "load_path", lambda path: read.append(path) or load(path))
    secrets = secrets_of([imported(ann, "com.example.Many", 30)])
    model = [{"?": {"type": f"com.example.Safe{n}", "id": f"s{n}"}, "pin": "1234"} for n in range(30)]
    assert all(item["pin"] == {"secret": "kept"} for item in conceal(model, secrets))
    assert len(read) == 1
