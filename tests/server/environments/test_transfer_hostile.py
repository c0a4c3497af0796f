"""Archives of environments that are small and become large: read behind walls, or not at all."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.support.fuzzing import every
from vetro.server import setup
from vetro.server.catalog.inspection import pool
from vetro.server.environments import imports, removal
from vetro.server.environments.models import State
from vetro.server.errors import Invalid
from vetro.server.secrets.encryption import loads_compressed, unpacked_size

pytestmark = [pytest.mark.django_db, pytest.mark.attack("uploads", "H6")]
HEAD = {"format": 1, "name": "e", "packages": []}


def archived(files: dict[str, bytes], size: int | None = None) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {"environment.json": json.dumps(HEAD).encode(), **files}.items():
            archive.writestr(name, data)
    return target.getvalue()


def model(**more: Any) -> bytes:
    return json.dumps({"Objects": {"?": {"id": "e", "type": "io.murano.Environment"}, "name": "e", **more}}).encode()


def lists(count: int) -> bytes:
    return b'{"Objects": {"?": {"id": "e", "type": "t"}, "x": [' + b"[]," * count + b"[]]}}"


@pytest.mark.parametrize(
    ("files", "text"),
    every(3, [
        (lambda: {"model-1.json": lists(2_500_000)}, "parts"),
        (lambda: {f"model-{n}.json": lists(900_000) for n in range(4)}, "parts"),
        (lambda: {"model-1.json": model(x="y" * (40 << 20))}, "characters"),
        (lambda: {"model-1.json": b" " * (300 << 20) + model()}, "more than 64 MiB"),
        (lambda: {"model-1.json": b'{"a":' * 100_000}, "no JSON|nested"),
        (lambda: {"model-1.json": model(x=json.loads("[" * 250 + "]" * 250))}, "nested deeper"),
        (lambda: {f"file-{n}": b"" for n in range(20_001)}, "20,000 files"),
        (lambda: {"model-1.json": b"\0" * (600 << 20)}, "512 MiB"),
        (dict, "no model"),
    ]),
)  # fmt: skip
def test_bombs_never_reach_the_process_that_answers(ann: Any, files: Callable[[], dict[str, bytes]], text: str) -> None:
    data = archived(files())
    assert len(data) < 8 << 20
    sound = SimpleUploadedFile("e.zip", archived({"model-1.json": model()}))
    assert ann._client.post("/v2/environments/import", {"archive": sound}).status_code == 201  # loads what it needs
    tracemalloc.start()
    try:
        answer = ann._client.post("/v2/environments/import", {"archive": SimpleUploadedFile("e.zip", data)})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.status_code == 400 and re.search(text, answer.content.decode()), answer.content[:500]
    assert peak < (8 << 20) + 4 * len(data)


@pytest.mark.attack("database", "H2")
@pytest.mark.parametrize("id", ["x" * 256, "nul\0", "half \ud800", ["list"]])
@pytest.mark.parametrize("place", ["Objects", "ObjectsCopy"])
def test_ids_that_no_row_can_have_are_not_imported(ann: Any, place: str, id: Any) -> None:
    """What an archive says is deployed was watched: its ids went into rows of everybody."""
    root = json.loads(model())["Objects"]
    evil = {**root, "applications": [{"?": {"id": id, "type": "com.example.App"}}]}
    data = archived({"model-1.json": json.dumps({"Objects": root, place: evil}).encode()})
    answer = ann._client.post("/v2/environments/import", {"archive": SimpleUploadedFile("e.zip", data)})
    assert answer.status_code == 400 and "the id of an object" in answer.content.decode()


def test_the_sizes_of_what_the_walls_give_back_are_not_believed(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the process behind the walls had been taken over."""
    import zlib

    bomb = zlib.compress(b"\0" * (300 << 20), 9)

    class Taken:
        def ask(self, owner: str, head: dict[str, Any], *_: Any) -> Any:
            if head["want"] == "head":
                besides = {"tasks": 0, "files": [], "more": 0}
                return {"head": {"id": None, "name": "e", "packages": []}, "numbers": [1], "besides": besides}, []
            return {"resources": False}, [bomb]

    sound = SimpleUploadedFile("e.zip", archived({"model-1.json": model()}))
    assert ann._client.post("/v2/environments/import", {"archive": sound}).status_code == 201  # loads what it needs
    monkeypatch.setattr(imports, "pool", Taken)
    tracemalloc.start()
    try:
        for fresh in ("", "true"):
            given = {"archive": SimpleUploadedFile("e.zip", b"x"), **({"fresh": fresh} if fresh else {})}
            assert ann._client.post("/v2/environments/import", given).status_code == 400
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    for broken in (b"", b"x", bomb[:-10]):
        with pytest.raises(Invalid):
            unpacked_size(broken, 1 << 30)
    assert loads_compressed(zlib.compress(b'{"a": 1}'), 100) == {"a": 1}


def test_many_states_are_as_many_as_would_be_kept(ann: Any) -> None:
    data = archived({f"model-{n}.json": model(number=n) for n in range(300)})
    answer = ann._client.post("/v2/environments/import", {"archive": SimpleUploadedFile("e.zip", data)})
    assert answer.status_code == 201, answer.content
    found = ann.get(f"/v2/environments/{answer.json()['environment_id']}/states?limit=1000").json()["items"]
    assert [row["number"] for row in found] == list(range(299, 199, -1))


@pytest.mark.django_db(transaction=True)
def test_many_states_are_written_in_steps(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others write in between; an environment that is removed meanwhile stays so; that of a killed import is whole."""
    sizes = []
    atomic = imports.transaction.atomic

    @contextlib.contextmanager
    def measured() -> Iterator[None]:
        before = State.objects.count()
        with atomic():
            yield
        sizes.append(State.objects.count() - before)

    def imported(name: str) -> str:
        data = archived({f"model-{n}.json": model(number=n) for n in range(4)})
        given = {"archive": SimpleUploadedFile("e.zip", data), "name": name}
        answer = ann._client.post("/v2/environments/import", given)
        assert answer.status_code == 201, answer.content
        return str(answer.json()["environment_id"])

    def numbers(id: str) -> list[int]:
        return list(State.objects.filter(environment_id=id).order_by("number").values_list("number", flat=True))

    monkeypatch.setattr(imports.transaction, "atomic", lambda *_, **__: measured())
    restored = imports._restore_older
    id = imported("steps")
    assert numbers(id) == [0, 1, 2, 3]
    assert max(sizes) == 1 and sizes.count(1) >= 4
    monkeypatch.setattr(imports, "_restore_older", lambda own, states, locks: None)
    half = imported("killed")
    shown = ann.get(f"/v2/environments/{half}").json()
    assert (numbers(half), shown["version"], shown["status"]) == ([3], 3, "ready")
    monkeypatch.setattr(imports, "_restore_older", lambda own, *rest: (removal.remove(own), restored(own, *rest)))
    assert numbers(imported("removed")) == []


def test_states_that_do_not_fit_together_leave_nothing(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "_current", setup.config().changed({"quotas.states": 1}))
    noise = {f"model-{n}.json": model(x=os.urandom(200_000).hex()) for n in range(5)}
    answer = ann._client.post("/v2/environments/import", {"archive": SimpleUploadedFile("e.zip", archived(noise))})
    assert answer.status_code == 413 and b"Quota 'states'" in answer.content, answer.content
    assert ann.get("/v2/environments").json()["items"] == []


def test_it_is_the_pool_that_reads(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = pool.Pool.ask
    monkeypatch.setattr(pool.Pool, "ask", lambda self, *a, **k: asked.append(a[1]["op"]) or real(self, *a, **k))
    given = {"archive": SimpleUploadedFile("e.zip", archived({"model-1.json": model()}))}
    assert ann._client.post("/v2/environments/import", given).status_code == 201
    assert asked == ["environment", "environment"]
