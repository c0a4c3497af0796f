"""What a hostile author or member of a project sends to the catalog: answered by a 4xx, soon, and nothing changes."""

from __future__ import annotations

import json
import stat
import threading
import warnings
import zipfile
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
import yaml

from tests.server.api.v1.test_packages import PACKAGES, PATCH, upload
from tests.server.catalog.archives import archive, zipped
from vetro.server.catalog import limits, service
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.models import Package, PackageTag
from vetro.server.catalog.sources import read_bundle
from vetro.server.errors import Conflict, Invalid

pytestmark = pytest.mark.attack("uploads", "hostile authors")

BAD = ["a\0b", "\ud800", "\udfff\ud800"]


def manifest(**given: Any) -> bytes:
    content = {"Format": "1.3", "Type": "Application", "FullName": "com.example.Bad", "Classes": {}, **given}
    return zipped({"manifest.yaml": yaml.dump(content, Dumper=yaml.CSafeDumper)})


def raw(text: str) -> bytes:
    return zipped({"manifest.yaml": f"Format: 1.3\nType: Application\nFullName: com.example.Bad\n{text}\n"})


def patch(person: Any, id: str, operations: Any) -> Any:
    return person.request("PATCH", f"{PACKAGES}/{id}", content_type=PATCH, data=json.dumps(operations))


def stored() -> int:
    return int(Package.objects.filter(embedded=False).count())


@pytest.mark.parametrize("text", BAD)
def test_texts_beside_an_archive_that_cannot_be_stored(ann: Any, text: str) -> None:
    """Texts for people are stored without such characters, what names something is refused."""
    answer = upload(ann, archive(), json.dumps({"name": f"x{text}", "description": text}))
    assert answer.status_code == 200
    row = Package.objects.get(id=answer.json()["id"])
    assert row.name.startswith("x") and all(c not in row.name + row.description for c in text if c not in "ab")
    for key in ("tags", "categories"):
        answer = upload(ann, archive("com.example.Other"), json.dumps({key: [text]}))
        assert answer.status_code == 400, answer.content
    assert upload(ann, archive("com.example.Other"), json.dumps({text: 1})).status_code == 400
    assert stored() == 1


@pytest.mark.parametrize("text", BAD)
def test_patches_with_texts_that_cannot_be_stored(ann: Any, text: str) -> None:
    id = upload(ann, archive()).json()["id"]
    before = ann.get(f"{PACKAGES}/{id}").json()
    for operation in (
        {"op": "replace", "path": "/name", "value": text},
        {"op": "replace", "path": "/description", "value": text},
        {"op": "add", "path": "/tags", "value": [text]},
        {"op": "remove", "path": "/tags", "value": [text]},
        {"op": "replace", "path": "/categories", "value": [text]},
        {"op": "replace", "path": f"/{text}", "value": "x"},
        {"op": "replace", "path": text, "value": "x"},
        {"op": text, "path": "/name", "value": "x"},
    ):
        answer = patch(ann, id, [operation])
        assert 400 <= answer.status_code < 500, (operation, answer.content)
    assert ann.get(f"{PACKAGES}/{id}").json() == before


def test_patches_that_would_grow_for_ever(ann: Any) -> None:
    id = upload(ann, archive()).json()["id"]
    many = [f"t{n}" for n in range(limits.MOST_TAGS + 1)]
    for operations in (
        [{"op": "add", "path": "/tags", "value": [tag]} for tag in many],
        [{"op": "replace", "path": "/tags", "value": many}],
        [{"op": "add", "path": "/categories", "value": many}],
        [{"op": "add", "path": "/tags", "value": []}] * (limits.MOST_OPERATIONS + 1),
        [{"op": "replace", "path": "/description", "value": "x" * (limits.LONGEST_TEXT + 1)}],
        [{"op": "replace", "path": "/tags", "value": ["x" * 256]}],
    ):
        assert patch(ann, id, operations).status_code == 400
    assert not PackageTag.objects.exists()
    # As many as are allowed, taken out again one by one.
    fine = many[:-1]
    assert patch(ann, id, [{"op": "add", "path": "/tags", "value": fine}]).status_code == 200
    assert patch(ann, id, [{"op": "remove", "path": "/tags", "value": [tag]} for tag in fine]).json()["tags"] == []


@pytest.mark.parametrize(
    "query",
    [
        "&".join(f"tag=t{n}" for n in range(1100)),
        "&".join(["order_by=name"] * 1100),
        "category=in:" + ",".join(f"c{n}" for n in range(600)),
        "id=in:" + ",".join(f"i{n}" for n in range(600)),
        "&".join(f"tag=t{n}" for n in range(600)),
        "limit=" + "9" * 5000,
    ],
    ids=["parameters", "orders", "categories", "ids", "tags", "digits"],
)
def test_lists_with_too_many_values(ann: Any, query: str) -> None:
    assert ann.get(f"{PACKAGES}?{query}").status_code == 400


def test_requests_with_too_many_parts(ann: Any) -> None:
    many = {f"p{n}": "1" for n in range(1100)}
    assert ann.post(PACKAGES, data=many).status_code == 400
    query = "&".join(f"{n}=1" for n in many)
    assert stored() == 0
    assert ann.get(f"/v1/catalog/categories?{query}").status_code == 400


def test_lists_with_values_again_and_again(ann: Any) -> None:
    upload(ann, archive(Tags=["t"]))
    answer = ann.get(f"{PACKAGES}?" + "&".join(["tag=t", "order_by=name", "order_by=fqn"] * 300))
    assert len(answer.json()["packages"]) == 1


@pytest.mark.parametrize(
    "data",
    [
        manifest(Tags=[f"t{n}" for n in range(limits.MOST_TAGS + 1)]),
        manifest(Require={f"a.b{n}": "1" for n in range(limits.MOST_REQUIRED + 1)}),
        manifest(Classes={f"a.b{n}": f"c{n}.yaml" for n in range(limits.MOST_CLASSES + 1)}),
        manifest(Description=" ".join(str(n) for n in range(15_000))),
        manifest(Author=" ".join(str(n) for n in range(15_000))),
        manifest(Supplier={"Name": " ".join(str(n) for n in range(15_000))}),
        manifest(Classes={"<script>": "x.yaml"}),
        manifest(Classes={"a.B": "../../../etc/passwd"}),
        manifest(Classes={"a.B": "/etc/passwd"}),
        manifest(UI="/etc/passwd"),
        manifest(Logo="../../etc/passwd"),
        raw("Supplier: " + "[" * 100_000),
        raw("Tags: [" + "9" * 100_000 + "]"),
        raw("Name: !!python/object/apply:os.system [id]"),
        raw("l0: &l0 [x, x]\n" + "\n".join(f"l{n}: &l{n} [*l{n - 1}, *l{n - 1}, *l{n - 1}]" for n in range(1, 40))),
    ],
    ids=[
        "tags", "requirements", "classes", "description", "author", "supplier", "markup", "path out", "absolute path",
        "ui", "logo", "nesting", "digits", "python", "aliases",
    ],
)  # fmt: skip
def test_manifests_that_are_too_much(ann: Any, data: bytes) -> None:
    answer = upload(ann, data)
    assert answer.status_code == 400, answer.content
    assert len(answer.content) < 10_000 and stored() == 0


def test_numbers_that_json_does_not_know(ann: Any) -> None:
    answer = upload(ann, raw("Supplier: {a: .nan, b: [.inf, -.inf], 5: 6}"))
    assert answer.status_code == 200, answer.content
    assert json.loads(answer.content)["supplier"] == {"a": "nan", "b": ["inf", "-inf"], "5": 6}


def entry(name: str, *, mode: int = stat.S_IFREG | 0o644, data: bytes = b"x", **more: Any) -> bytes:
    """A sound package with one more entry, as no packer writes it."""
    target = BytesIO(archive())
    with zipfile.ZipFile(target, "a") as made:
        info = zipfile.ZipInfo("placeholder")
        info.external_attr = mode << 16
        for key, value in more.items():
            setattr(info, key, value)
        info.filename = info.orig_filename = name
        with warnings.catch_warnings(action="ignore"):  # names that are there already
            made.writestr(info, data)
    return target.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        entry("link", mode=stat.S_IFLNK | 0o777, data=b"/etc/passwd"),
        entry("pipe", mode=stat.S_IFIFO | 0o644),
        entry("device", mode=stat.S_IFBLK | 0o644),
        entry("manifest.yaml"),
        entry("manifest.yaml/x"),
        entry("bomb", data=b"\0" * (8 << 20), compress_type=zipfile.ZIP_DEFLATED),
        entry("packed", compress_type=zipfile.ZIP_LZMA),
        archive()[:-30],
        archive()[:200] + b"\xff" * 200 + archive()[400:],
        b"PK\x05\x06" + b"\xff" * 18,
    ],
    ids=["link", "pipe", "device", "twice", "file and folder", "bomb", "method", "cut", "damaged", "empty"],
)
def test_archives_that_are_none(ann: Any, data: bytes) -> None:
    assert upload(ann, data).status_code == 400
    with pytest.raises(Invalid):
        import_packages(ann.caller, [data])
    assert stored() == 0


@pytest.mark.parametrize("name", ["../out", "/etc/x", "a/../../b", "C:/x", "a\\..\\..\\b", "x\0y"])
def test_entries_that_lead_elsewhere_are_never_kept(ann: Any, name: str) -> None:
    with pytest.raises(Invalid):
        import_packages(ann.caller, [entry(name)])
    answer = upload(ann, entry(name))
    if answer.status_code == 200:  # v1 leaves them out, as recorded
        kept = ann.get(f"{PACKAGES}/{answer.json()['id']}/download").content
        assert zipfile.ZipFile(BytesIO(kept)).namelist() == ["Classes/com.example.App.yaml", "manifest.yaml"]
    else:
        assert answer.status_code == 400


def test_thousands_of_findings_are_not_all_kept(ann: Any) -> None:
    names = [f"com.example.C{n}" for n in range(limits.MOST_FINDINGS + 100)]
    files: dict[str, str | bytes] = {f"Classes/{name}.yaml": "Name: [\n" for name in names}
    files["manifest.yaml"] = yaml.safe_dump(
        {
            "Format": "1.3",
            "Type": "Application",
            "FullName": "com.example.Bad",
            "Classes": {n: f"{n}.yaml" for n in names},
        }
    )
    answer = upload(ann, zipped(files))
    assert answer.status_code == 200
    findings = Package.objects.get(id=answer.json()["id"]).findings
    assert len(findings) == limits.MOST_FINDINGS + 1 and "more findings" in findings[-1]["message"]


@pytest.mark.parametrize(
    "data", [b"[" * 500_000, b'{"Packages": ' + b"[" * 500_000, b"- " * 400_000, b"Packages: 2020-99-99", b"\xff\xfe"]
)
def test_bundles_that_are_none(data: bytes) -> None:
    with pytest.raises(Invalid):
        read_bundle(data)


def test_a_version_that_is_being_deployed_cannot_be_exchanged(ann: Any) -> None:
    """Deleted while its deployment runs and imported with other content, it would be two things under one version."""
    from vetro.server.tasks.models import Task

    package = import_packages(ann.caller, [archive(version="1.0.0")]).packages[0]
    used = {"fqn": package.fqn, "version": package.version, "digest": package.digest}
    Task.objects.create(
        project_id=ann.caller.project_id, user_id="u", kind="deploy", state=Task.RUNNING, spec={"packages": [used]}
    )
    service.delete(ann.caller, package)
    other = archive(version="1.0.0", Description="Something else.")
    with pytest.raises(Conflict, match="was deployed with other content"):
        import_packages(ann.caller, [other])
    assert upload(ann, other).status_code == 403
    back = Package.objects.get(fqn=package.fqn)  # who deletes to exchange keeps one of the two
    assert (back.digest, back.id == package.id) == (package.digest, False)
    with pytest.raises(service.NotFound):
        service.delete(ann.caller, package)


TEXT = {"com.example.Shared": "Name: com.example.Shared\n"}
PAIRS = {
    "the same": [archive("com.example.Same")] * 2,
    "one class": [archive("com.example.One", classes=TEXT), archive("com.example.Two", classes=TEXT)],
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_who_comes_second_is_refused(ann: Any, monkeypatch: pytest.MonkeyPatch, pair: list[bytes]) -> None:
    from vetro.server.catalog import imports

    put = imports._put

    def overtaken(draft: Any) -> None:
        put(draft)
        monkeypatch.setattr(imports, "_put", put)
        import_packages(ann.caller, pair[1:])  # after everything was checked

    monkeypatch.setattr(imports, "_put", overtaken)
    with pytest.raises(Conflict):
        import_packages(ann.caller, pair[:1])
    assert stored() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_of_imports_at_the_same_moment_one_wins(
    people: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, pair: list[bytes]
) -> None:
    from django.db import connection

    from vetro.server.catalog import imports, standard_packages

    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time, and in tests one connection")
    standard_packages.ensure()
    ann = people("ann")
    together = threading.Barrier(2, timeout=20)
    put = imports._put
    ends: list[Any] = []

    def wait(draft: Any) -> None:
        put(draft)
        together.wait()  # both have seen that nothing is in their way

    def run(data: bytes) -> None:
        try:
            ends.append(import_packages(ann.caller, [data]))
        except Conflict as error:
            ends.append(error)
        finally:
            connection.close()

    monkeypatch.setattr(imports, "_put", wait)
    threads = [threading.Thread(target=run, args=(data,)) for data in pair]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(isinstance(end, Conflict) for end in ends) == [False, True], ends
    assert stored() == 1
