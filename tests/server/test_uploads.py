"""What is uploaded takes no memory of the processes that answer requests, however large it is or becomes."""

from __future__ import annotations

import io
import json
import random
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.service.attacked import Tenant, tenants
from benchmarks.service.running import Running, _children, service

pytestmark = [pytest.mark.attack("uploads", "H6"), pytest.mark.timeout(900)]
BOUNDARY = b"a-line-that-is-in-no-archive"
#: MiB that an upload may take of a process: pieces that are underway, and what the allocator keeps.
MOST = 24
HEAD = {"format": 1, "name": "e", "packages": []}
MODEL = {"Objects": {"?": {"id": "e", "type": "io.murano.Environment"}, "name": "e"}}
CLASS = "Namespaces: {{=: io.test, std: io.murano}}\nName: C{name}\nExtends: std:Application\n"


def form(*parts: tuple[str, bytes], **fields: bytes) -> bytes:
    """A body of archives and fields."""
    text = b""
    for name, data in parts:
        disposition = f'Content-Disposition: form-data; name="archive"; filename="{name}"\r\n\r\n'
        text += b"--" + BOUNDARY + b"\r\n" + disposition.encode() + data + b"\r\n"
    for name, data in fields.items():
        disposition = f'Content-Disposition: form-data; name="{name}"\r\n\r\n'
        text += b"--" + BOUNDARY + b"\r\n" + disposition.encode() + data + b"\r\n"
    return text + b"--" + BOUNDARY + b"--\r\n"


def archive(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return target.getvalue()


def noise(size: int) -> bytes:
    """What packs to a fortieth: no bomb by its ratio."""
    rnd = random.Random(1)
    return b"".join(rnd.randbytes(100).hex().encode() + b" " * 4000 for _ in range(size // 4200))


def package(name: str, more: str = "", **files: bytes) -> bytes:
    manifest = (
        f"Format: '1.3'\nType: Application\nFullName: io.test.{name}\nName: n\nClasses: {{io.test.C{name}: a.yaml}}\n"
    )
    found = {"manifest.yaml": (manifest + more).encode(), "Classes/a.yaml": CLASS.format(name=name).encode()}
    return archive({**found, **{path.replace("__", "/"): data for path, data in files.items()}})


def environment(packages: int = 0, **files: bytes) -> bytes:
    listed = [{"name": f"a{n}", "version": "1", "digest": f"d{n}"} for n in range(packages)]
    heads = {"environment.json": json.dumps({**HEAD, "packages": listed}), "model-1.json": json.dumps(MODEL)}
    return archive({**{n: t.encode() for n, t in heads.items()}, **{f"packages/{n}.zip": d for n, d in files.items()}})


class Uploads:
    """A service, a tenant of it, and the memory of the processes that answer requests."""

    def __init__(self, running: Running) -> None:
        self._tenant: Tenant = tenants(running)[0]
        found, todo = [], [running.pid]
        while todo:
            below = _children(todo.pop())
            todo += below
            found += [c for c in below if b"http.server" in Path(f"/proc/{c}/cmdline").read_bytes()]
        assert found
        self._processes = found
        self.send("POST", "/v2/packages/check", form(("a.zip", package("First"))))  # loads what it needs

    def send(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        kind = f"multipart/form-data; boundary={BOUNDARY.decode()}"
        return self._tenant.send(method, path, body, kind)

    def memory(self) -> dict[int, float]:
        """MiB of each process that are its own: not what it maps of files."""
        found = {}
        for process in self._processes:
            lines = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
            found[process] = (int(lines["RssAnon"].split()[0]) + int(lines["RssShmem"].split()[0])) / 1024
        return found

    def rise(self, path: str, body: bytes) -> tuple[float, int, str]:
        """(by how much memory rose, status, answer)."""
        before, answers = self.memory(), []
        peak = dict(before)
        sending = threading.Thread(target=lambda: answers.append(self.send("POST", path, body)))
        sending.start()
        while sending.is_alive():
            peak = {process: max(peak[process], now) for process, now in self.memory().items()}
            time.sleep(0.005)
        return max(peak[p] - before[p] for p in peak), answers[0][0], answers[0][1].decode(errors="replace")


@pytest.fixture(scope="module")
def uploads() -> Iterator[Uploads]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("VETRO_DATABASE__URL", raising=False)  # that of the tests has keys of its own
        with service() as running:
            yield Uploads(running)


def many() -> bytes:
    rnd = random.Random(2)
    return form(*((f"{n}.zip", package(f"N{n}", Resources__x=rnd.randbytes(4_900_000))) for n in range(6)))


def compared() -> bytes:
    """Two versions of a package, almost as large as they may be."""
    made = [
        package("N0", f"Version: {version}\n", Resources__x=random.Random(int(version[0])).randbytes(4_900_000))
        for version in ("1.0.0", "2.0.0")
    ]
    whole = form(("old.zip", made[0]), ("new.zip", made[1]))
    return whole.replace(b'name="archive"; filename="old', b'name="old_archive"; filename="old').replace(
        b'name="archive"; filename="new', b'name="new_archive"; filename="new'
    )


#: Text that takes four bytes a character once it is read.
WIDE = b"x" * (40 << 20) + "\U0001f600".encode()
CASES = {
    "field": ("/v2/packages", lambda: form(("a.zip", b"x"), tags=WIDE), 413, "524,288 bytes"),
    "field of an environment": ("/v2/environments/import", lambda: form(("a.zip", b"x"), name=WIDE), 413, "524,288"),
    "field of v1": ("/v1/catalog/packages", lambda: form(("a.zip", b"x"), json=WIDE[-(5 << 20) :]), 413, "Too Large"),
    "many packages": ("/v2/packages", many, 201, "io.test.N5"),
    "many packages that are checked": ("/v2/packages/check", many, 200, "io.test.N5"),
    "packages that are compared": ("/v2/packages/compare", compared, 200, '"name": "io.test.N0"'),
    "field of a comparison": ("/v2/packages/compare", lambda: form(("a.zip", b"x"), old=WIDE), 413, "524,288 bytes"),
    "a package of which the impact is asked": (
        "/v2/packages/impact",
        lambda: form(("a.zip", package("N0", Resources__x=random.Random(5).randbytes(4_900_000)))),
        400, "no environment uses a version",
    ),
    "field of an impact": ("/v2/packages/impact", lambda: form(("a.zip", b"x"), package=WIDE), 413, "524,288 bytes"),
    "form definition": (
        "/v2/packages", lambda: form(("a.zip", package("U", **{"UI/ui.yaml": b"#" + noise(50 << 20)}))),
        400, "its form definition has 5",
    ),
    "logo": (
        "/v2/packages",
        lambda: form(("a.zip", package("L", "Logo: l.png\n", **{"l.png": b"\x89PNG\r\n\x1a\n" + noise(50 << 20)}))),
        400, "at most 500 KiB are allowed",
    ),
    "packages of an environment": (
        "/v2/environments/import",
        lambda: form(("e.zip", environment(4, **{f"d{n}": b"ab" * (27 << 20) for n in range(4)}))),
        400, "has more than 5 MiB",
    ),
    "names of packages of an environment": (
        "/v2/environments/import", lambda: form(("e.zip", environment(20_000))), 400, "lists 20,000, 500 at most",
    ),
    "a large environment": (
        "/v2/environments/import",
        lambda: form(("e.zip", environment(0, pad=random.Random(3).randbytes(50 << 20)))), 201, "environment_id",
    ),
}  # fmt: skip


#: Those that take seconds and go the same ways as others: only with ``script/test --all``.
LONG = {
    "a large environment", "field of v1", "form definition", "logo", "many packages", "packages of an environment",
    "packages that are compared",
}  # fmt: skip


@pytest.mark.parametrize("case", [pytest.param(c, marks=[pytest.mark.campaign] if c in LONG else []) for c in CASES])
def test_uploads_take_no_memory_of_who_answers(uploads: Uploads, case: str) -> None:
    path, body, status, text = CASES[case]
    rise, found, answer = uploads.rise(path, body())
    assert (found, text in answer) == (status, True), (found, answer[:500])
    assert rise < MOST, f"{rise:.0f} MiB"


def test_nothing_else_takes_files() -> None:
    """Templates of environments and marks of images come as JSON, which is measured before it is read."""
    from vetro.server.api.v2.api import api

    found = {
        path
        for path, methods in api.get_openapi_schema()["paths"].items()
        for operation in methods.values()
        if "multipart/form-data" in operation.get("requestBody", {}).get("content", {})
    }
    assert found and found == {path for path, *_ in CASES.values() if path.startswith("/v2/")}
