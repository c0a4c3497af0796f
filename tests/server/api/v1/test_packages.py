"""/v1/catalog/packages: statuses, fields and parameters as they were recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.server.catalog.archives import archive, zipped
from tests.server.layers import People, layer
from vetro.server.catalog.models import Package

PACKAGES = "/v1/catalog/packages"
FIELDS = {
    "id", "name", "fully_qualified_name", "type", "version", "author", "description", "supplier", "tags", "categories",
    "class_definitions", "enabled", "is_public", "owner_id", "created", "updated",
}  # fmt: skip
PATCH = "application/murano-packages-json-patch"


def upload(person: Any, data: bytes | None, metadata: Any = None, query: str = "", **parts: Any) -> Any:
    """POST of an archive; ``metadata`` is sent as JSON, a text as it is."""
    if data is not None:
        parts["file"] = SimpleUploadedFile("p.zip", data)
    if metadata is not None:
        parts["JsonString"] = metadata if isinstance(metadata, str) else json.dumps(metadata)
    return person.post(PACKAGES + query, data=parts)


def test_upload_show_delete(ann: Any, bob: Any) -> None:
    response = upload(ann, archive("com.example.App", "1.2", Tags=["t"]), {"tags": ["x"], "categories": ["Web"]})
    assert response.status_code == 200
    package = response.json()
    assert set(package) == FIELDS
    assert package["version"] == "1.2.0" and package["tags"] == ["x", "t"] and package["categories"] == ["Web"]
    assert package["owner_id"] == ann.caller.project_id and len(package["id"]) == 32
    assert bob.get(f"{PACKAGES}/{package['id']}").json() == package
    assert bob.get(PACKAGES).json() == {"packages": [package]}
    response = bob.delete(f"{PACKAGES}/{package['id']}")
    assert (response.status_code, response.content) == (200, b"")
    assert bob.get(f"{PACKAGES}/{package['id']}").status_code == 404
    assert bob.delete(f"{PACKAGES}/{package['id']}").status_code == 404


def test_files_of_a_package(ann: Any) -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"1"
    data = archive(files={"UI/ui.yaml": "Version: 2.2\n", "logo.png": png})
    place = f"{PACKAGES}/{upload(ann, data).json()['id']}"
    ui = ann.get(f"{place}/ui")
    assert (ui.content, ui["content-type"]) == (b"Version: 2.2\n", "text/html; charset=UTF-8")
    logo = ann.get(f"{place}/logo")
    assert (logo.content, logo["content-type"]) == (png, "application/octet-stream")
    assert ann.get(f"{place}/download").content == data
    none = ann.get(f"{place}/supplier_logo")
    assert (none.status_code, none.content) == (200, b"")
    assert ann.get(f"{place}/ui", headers={"accept": "application/json"}).status_code == 406
    assert ann.get(f"{place}/download", headers={"accept": "image/png"}).status_code == 406


def test_no_form_is_an_empty_text(ann: Any) -> None:
    response = ann.get(f"{PACKAGES}/{upload(ann, archive()).json()['id']}/ui")
    assert (response.status_code, response.content, response["content-type"]) == (200, b"", "text/plain")


def test_what_others_get(ann: Any, eve: Any, root: Any) -> None:
    place = f"{PACKAGES}/{upload(ann, archive()).json()['id']}"
    for suffix in ("", "/ui", "/logo", "/supplier_logo", "/download"):
        assert eve.get(place + suffix).status_code == 403
        assert eve.get(f"{PACKAGES}/nosuch{suffix}").status_code == 404
        assert root.get(place + suffix).status_code == 200
    assert eve.delete(place).status_code == 403
    assert eve.get(PACKAGES).json() == {"packages": []}
    assert root.get(PACKAGES).json()["packages"] and not root.get(f"{PACKAGES}?catalog=true").json()["packages"]


def simple(text: str) -> bytes:
    return zipped({"manifest.yaml": text})


@pytest.mark.parametrize(
    ("data", "metadata", "status"),
    [
        (b"", None, 400),
        (b"not a zip", None, 400),
        (None, {}, 400),
        (zipped({"x.txt": "hi"}), None, 400),
        (zipped({"sub/manifest.yaml": "x"}), None, 400),
        (simple("- a\n- b"), None, 400),
        (simple(""), None, 400),
        (simple(": : bad: ["), None, 400),
        (simple("Type: Library\n"), None, 400),
        (simple("Type: Bogus\nFullName: a.B\n"), None, 400),
        (simple("Type: Library\nFullName: 9bad name\n"), None, 400),
        (simple("Type: Library\nFullName: a.B\nVersion: none\n"), None, 400),
        (simple("Format: Bogus/9\nType: Library\nFullName: a.B\n"), None, 400),
        (simple("Format: 99.0\nType: Library\nFullName: a.B\n"), None, 400),
        (simple("Type: Library\nFullName: a.B\nLogo: none.png\n"), None, 400),
        (simple("Type: Library\nFullName: a.B\nUI: ../../etc/hostname\n"), None, 400),
        (simple("Format: Heat.HOT/1.0\nType: Application\nFullName: a.B\n"), None, 400),
        (simple(f"Type: Library\nFullName: a.B\nName: {'n' * 81}\n"), None, 400),
        (archive(), {"bogus": 1}, 400),
        (archive(), {"tags": "x"}, 400),
        (archive(), {"tags": ["x", "x"]}, 400),
        (archive(), {"tags": [1]}, 400),
        (archive(), {"is_public": "yes"}, 400),
        (archive(), {"categories": ["NoSuch"]}, 400),
        (archive(), [], 400),
        (archive(), "{bad", 400),
        (archive(), {"is_public": True}, 403),
    ],
)
def test_uploads_that_are_refused(ann: Any, data: bytes | None, metadata: Any, status: int) -> None:
    assert upload(ann, data, metadata).status_code == status
    assert not Package.objects.filter(embedded=False).exists()


@pytest.mark.parametrize(
    "data",
    [
        archive(classes={"com.example.App": "Name: x\n"}, Format="1.0"),
        archive(classes={"com.example.App": "no: [class"}),
        simple("Format: 1.0\nType: Application\nFullName: com.example.Q1\nClasses: {com.example.Q1: missing.yaml}\n"),
        zipped(
            {
                "manifest.yaml": "Format: Heat.HOT/1.0\nType: Application\nFullName: com.example.Q6\n",
                "template.yaml": "foo: bar",
            }
        ),
        zipped({"../../out.txt": "x", "manifest.yaml": "Type: Library\nFullName: com.example.T1\n"}),
    ],
    ids=["junk class", "broken class", "missing class", "junk template", "leads out"],
)
def test_uploads_that_murano_accepted(ann: Any, data: bytes) -> None:
    response = upload(ann, data)
    assert response.status_code == 200 and set(response.json()) == FIELDS


def test_upload_conflicts(ann: Any, eve: Any) -> None:
    assert upload(ann, archive(version="1.0.0")).status_code == 200
    assert upload(ann, archive(version="1.0.0")).status_code == 409
    assert upload(ann, archive(version="2.0.0")).status_code == 200
    assert upload(eve, archive(version="1.0.0")).status_code == 200
    other = archive("com.example.Other", classes={"com.example.App": "x"})
    assert upload(ann, other).status_code == 409


def test_upload_types(ann: Any) -> None:
    def status(body: Any, kind: str) -> int:
        return int(ann.request("POST", PACKAGES, data=body, content_type=kind).status_code)

    assert status(b'{"a": 1}', "application/json") == 400
    assert status(b"x", "application/zip") == 415
    assert status(b"x", "multipart/form-data") == 400
    assert status(b"", "") == 400
    assert status(b"x", "") == 415
    files = {"a": SimpleUploadedFile("a.zip", archive()), "b": SimpleUploadedFile("b.zip", archive()), "c": "{}"}
    assert upload(ann, None, **files).status_code == 400
    assert upload(ann, archive(), {}, other="{}").status_code == 400
    assert upload(ann, b"x" * (6 << 20)).status_code == 400


def test_requirements_are_not_asked_for(ann: Any) -> None:
    """Murano never looked at them: archives come in any order, and go whatever needs them."""
    app = upload(ann, archive(Require={"com.example.Lib": "1"})).json()["id"]
    assert ann.get(f"/v2/packages/{app}").json()["usable"] is False
    library = upload(ann, archive("com.example.Lib", "1.0.0", Require={"com.example.App": None})).json()["id"]
    assert ann.get(f"/v2/packages/{app}").json()["usable"] is True
    assert ann.delete(f"/v2/packages/{library}").status_code == 409
    assert patch(ann, library, replace("/enabled", False)).json()["enabled"] is False
    assert patch(ann, app, replace("/enabled", False)).status_code == 200
    assert ann.delete(f"{PACKAGES}/{library}").status_code == 200
    assert patch(ann, app, replace("/enabled", True)).json()["enabled"] is True
    assert upload(ann, archive("com.example.Lib", "1.0.0", Description="Other")).status_code == 200


@layer()
def shelf(people: People) -> dict[str, str]:
    """fqn -> id of four packages."""
    found = {}
    for number, name in enumerate(("com.example.D", "com.example.A", "com.example.C", "com.example.B")):
        tags = [["red"], ["blue", "red"], ["green"], []][number]
        data = archive(name, Name=f"N{number}", Tags=tags, Type="Library" if number == 3 else "Application")
        found[name] = upload(people("ann"), data, {"categories": ["Web"] if number < 2 else ["SAP"]}).json()["id"]
    return found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "DACB"),
        ("order_by=fqn", "ABCD"),
        ("order_by=fqn&sort_dir=desc", "DCBA"),
        ("order_by=created", "DACB"),
        ("order_by=bogus&order_by=fqn", "ABCD"),
        ("type=library", "B"),
        ("category=Web", "DA"),
        ("category=Web&category=SAP", "DACB"),
        ("category=in:Web,SAP", "DACB"),
        ("category=in:%22Web%22", "DA"),
        ("category=in:%22Web", "DACB"),
        ("category=none", ""),
        ("tag=red", "DA"),
        ("tag=in:blue,green", "AC"),
        ("fqn=com.example.A", "A"),
        ("fqn=in:com.example.A,com.example.B", ""),
        ("class_name=com.example.C", "C"),
        ("name=N1", "A"),
        ("name=n1", ""),
        ("owned=true", "DACB"),
        ("search=N1", "A"),
        ("search=EXAMPLE.a", "A"),
        ("search=red", "DA"),
        ("search=green;blue", "AC"),
        ("search=%25", "DACB"),
        ("version=1", ""),
        ("version=0", "DACB"),
        ("is_public=true&author=x&bogus=1", "DACB"),
    ],
)
def test_lists(ann: Any, shelf: dict[str, str], query: str, found: str) -> None:
    packages = ann.get(f"{PACKAGES}?{query}").json()["packages"]
    assert "".join(p["fully_qualified_name"][-1] for p in packages) == found


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("limit=0", 400), ("limit=-3", 400), ("limit=x", 400), ("sort_dir=up", 400), ("marker=nosuch", 404),
        ("version=not one", 400), ("limit=100000", 200), ("search=%00N1", 400),
    ],
)  # fmt: skip
def test_bad_parameters(ann: Any, shelf: dict[str, str], query: str, status: int) -> None:
    assert ann.get(f"{PACKAGES}?{query}").status_code == status


def test_pages(ann: Any, shelf: dict[str, str]) -> None:
    first = ann.get(f"{PACKAGES}?limit=2").json()
    assert first["next_marker"] == first["packages"][-1]["id"]
    second = ann.get(f"{PACKAGES}?limit=2&marker={first['next_marker']}").json()
    assert [p["fully_qualified_name"][-1] for p in second["packages"]] == ["C", "B"]
    last = ann.get(f"{PACKAGES}?limit=2&marker={second['next_marker']}").json()
    assert last == {"packages": []}


def test_catalog_shows_the_newest(ann: Any) -> None:
    for version in ("1.0.0", "2.0.0", "3.0.0-rc1"):
        upload(ann, archive(version=version))

    def versions(query: str) -> list[str]:
        return [p["version"] for p in ann.get(f"{PACKAGES}?{query}").json()["packages"]]

    assert versions("") == ["3.0.0-rc1", "2.0.0", "1.0.0"]
    assert versions("catalog=true") == ["2.0.0"]
    assert versions("catalog=true&fqn=com.example.App") == ["3.0.0-rc1", "2.0.0", "1.0.0"]
    assert versions("catalog=true&version=1") == ["1.0.0"]
    assert versions("fqn=com.example.App&version=2.0.0&owned=True") == ["2.0.0"]


def patch(person: Any, id: str, operations: Any, kind: str = PATCH, query: str = "") -> Any:
    body = operations if isinstance(operations, str) else json.dumps(operations)
    return person.patch(f"{PACKAGES}/{id}{query}", data=body, content_type=kind)


def replace(path: str, value: Any) -> list[dict[str, Any]]:
    return [{"op": "replace", "path": path, "value": value}]


def test_patch(ann: Any) -> None:
    id = upload(ann, archive(Tags=["t"])).json()["id"]
    assert patch(ann, id, replace("/name", "New") + replace("/description", "D2")).json()["name"] == "New"
    assert patch(ann, id, replace("/tags", ["a", "b"])).json()["tags"] == ["a", "b"]
    assert patch(ann, id, [{"op": "add", "path": "/tags", "value": ["c"]}]).json()["tags"] == ["a", "b", "c"]
    both = [{"op": "remove", "path": "/tags", "value": ["a"]}, {"op": "add", "path": "/tags", "value": ["z"]}]
    assert patch(ann, id, both).json()["tags"] == ["b", "c", "z"]
    assert patch(ann, id, replace("/categories", ["Web"])).json()["categories"] == ["Web"]
    assert patch(ann, id, []).json()["name"] == "New"
    assert patch(ann, id, replace("/enabled", False)).json()["enabled"] is False
    assert ann.get(PACKAGES).json()["packages"] == []
    assert len(ann.get(f"{PACKAGES}?include_disabled=true").json()["packages"]) == 1
    assert ann.get(f"{PACKAGES}/{id}").status_code == 200


@pytest.mark.parametrize(
    ("operations", "status"),
    [
        ([{"op": "remove", "path": "/tags"}], 400),
        ([{"op": "remove", "path": "/tags", "value": "t"}], 400),
        ([{"op": "remove", "path": "/categories", "value": ["Web"]}], 404),
        (replace("/categories", ["Nope"]), 400),
        (replace("/is_public", True), 403),
        (replace("/is_public", False), 200),
        (replace("/fully_qualified_name", "x"), 403),
        ([{"op": "add", "path": "/name", "value": "x"}], 403),
        (replace("/name", 5), 400),
        (replace("/name", "x" * 81), 400),
        (replace("/name", ""), 400),
        (replace("/name", "a\x00b"), 400),
        (replace("/enabled", 1), 400),
        (replace("/tags", [1]), 400),
        (replace("/a/b", 1), 400),
        ({"op": "replace"}, 400),
        ([1], 400),
        ([{"path": "/name", "value": "x"}], 400),
        ([{"op": "replace", "value": "x"}], 400),
        ([{"op": "replace", "path": "/name"}], 400),
        (replace("name", "x"), 400),
        ("{bad", 400),
        ("", 400),
    ],
)
def test_patches_that_are_checked(ann: Any, operations: Any, status: int) -> None:
    package = upload(ann, archive(Tags=["t"])).json()
    assert patch(ann, package["id"], operations).status_code == status
    after = ann.get(f"{PACKAGES}/{package['id']}").json()
    after["updated"] = package["updated"]
    assert after == package


def test_patch_types_and_owners(ann: Any, eve: Any, root: Any) -> None:
    id = upload(ann, archive()).json()["id"]
    assert patch(ann, id, replace("/name", "x"), "application/json").status_code == 400
    assert patch(ann, id, replace("/name", "x"), "application/json-patch+json").status_code == 415
    assert patch(eve, id, replace("/name", "x")).status_code == 403
    assert patch(ann, "nosuch", replace("/name", "x")).status_code == 404
    assert patch(root, id, replace("/is_public", True)).json()["is_public"] is True
    assert patch(eve, id, replace("/name", "x")).status_code == 403
    mine = upload(eve, archive()).json()["id"]
    assert patch(root, mine, replace("/is_public", True)).status_code == 409
    assert eve.delete(f"{PACKAGES}/{id}").status_code == 403


def test_a_single_package_is_one_query_beside_the_token(ann: Any, django_assert_max_num_queries: Any) -> None:
    id = upload(ann, archive()).json()["id"]
    with django_assert_max_num_queries(3):
        assert ann.get(f"{PACKAGES}/{id}").status_code == 200
