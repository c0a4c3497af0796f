"""The catalog over /v2."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.api.v2.conftest import UI, archive, upload


def test_a_package_is_imported_listed_and_shown(ann: Any, orchard: Any) -> None:
    assert (orchard["fqn"], orchard["version"], orchard["own"]) == ("test.orchard", "1.0.0", True)
    listed = ann.get("/v2/packages?search=tree").json()
    assert [item["fqn"] for item in listed["items"]] == ["test.orchard"]
    shown = ann.get(f"/v2/packages/{orchard['id']}").json()
    assert (sorted(shown["classes"]), shown["has_ui"]) == (["test.Nest", "test.Tree"], True)
    assert (shown["requires"], shown["usable"]) == ({"io.murano": ">=0"}, True)
    assert [v["version"] for v in shown["versions"]] == ["1.0.0"]


def test_a_package_of_another_project_is_an_unknown_one(eve: Any, orchard: Any) -> None:
    unknown = "0" * 32
    for method, path, body in (
        ("GET", "", None), ("PATCH", "", {"name": "x"}), ("DELETE", "", None), ("GET", "/archive", None),
        ("GET", "/ui", None), ("GET", "/logo", None), ("GET", "/classes", None), ("GET", "/files", None),
        ("GET", "/files/manifest.yaml", None), ("GET", "/usage", None),
    ):  # fmt: skip
        one = eve.request(method, f"/v2/packages/{orchard['id']}{path}", body)
        other = eve.request(method, f"/v2/packages/{unknown}{path}", body)
        assert (one.status_code, other.status_code) == (404, 404), (method, path)
        assert one.content.decode().replace(orchard["id"], unknown) == other.content.decode()
    assert eve.get("/v2/packages?search=orchard").json()["items"] == []


def test_several_archives_are_one_import(ann: Any, installed: None) -> None:
    needs = archive(name="test.second", require="test.first: '>=1'").replace(b"test.Tree", b"two.Tree")
    assert upload(ann, needs).status_code == 400
    both = upload(ann, needs_second(), archive(name="test.first"))
    assert both.status_code == 201, both.content
    assert {p["fqn"] for p in both.json()["imported"]} == {"test.second", "test.first"}
    again = upload(ann, needs_second(), archive(name="test.first"), skip_existing="true")
    assert (again.status_code, len(again.json()["skipped"])) == (201, 2)


def needs_second() -> bytes:
    """A package that requires another one."""
    import io
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        manifest = (
            "Format: MuranoPL/1.3\nType: Library\nFullName: test.second\nVersion: 1.0.0\nName: Second\n"
            "Require:\n  test.first: '>=1'\nClasses:\n  two.Tree: T.yaml\n"
        )
        target.writestr(zipfile.ZipInfo("manifest.yaml"), manifest)
        target.writestr(zipfile.ZipInfo("Classes/T.yaml"), "Name: Tree\nNamespaces: {=: two}\n")
    return buffer.getvalue()


def test_a_refused_import_says_everything_and_stores_nothing(ann: Any, installed: None) -> None:
    missing = upload(ann, needs_second())
    error = missing.json()["error"]
    assert (missing.status_code, error["code"]) == (400, "SRV521")
    assert error["details"]["missing"][0]["requires"] == "test.first"
    assert upload(ann, b"junk").json()["error"]["code"] == "SRV520"
    assert upload(ann, archive(), archive()).status_code == 400
    assert ann.get("/v2/packages?owned=true").json()["items"] == []
    allowed = upload(ann, needs_second(), allow_missing="true")
    assert allowed.json()["missing"][0]["spec"] and allowed.json()["imported"][0]["fqn"] == "test.second"


def test_the_same_package_twice_is_a_conflict(ann: Any, orchard: Any) -> None:
    assert upload(ann, archive()).status_code == 409
    assert upload(ann, archive("1.1.0")).status_code == 201
    newest = ann.get("/v2/packages?fqn=test.orchard&all_versions=true").json()["items"]
    assert [item["version"] for item in newest] == ["1.1.0", "1.0.0"]
    assert [i["version"] for i in ann.get("/v2/packages?search=orchard").json()["items"]] == ["1.1.0"]


def test_a_check_stores_nothing_and_says_all(ann: Any, orchard: Any) -> None:
    report = upload(ann, archive("2.0.0"), archive(), b"junk", needs_second(), path="/v2/packages/check").json()
    assert report["ok"] is False
    assert [item["ok"] for item in report["items"]] == [True, False, False, True]
    assert report["items"][1]["problems"][0]["code"] == "SRV409"
    assert report["items"][2]["problems"][0]["code"] == "SRV520"
    assert report["problems"][0]["code"] == "SRV521"
    assert [v["version"] for v in ann.get(f"/v2/packages/{orchard['id']}").json()["versions"]] == ["1.0.0"]
    assert upload(ann, archive("2.0.0"), path="/v2/packages/check").json()["ok"] is True


def test_an_import_says_how_far_it_is(ann: Any, installed: None) -> None:
    from vetro.server.tasks.models import Event

    assert upload(ann, needs_second(), archive(name="test.first"), progress="mine").status_code == 201
    told = [row.data for row in Event.objects.filter(kind="import", project_id=ann.caller.project_id).order_by("seq")]
    assert [(one["name"], one["stage"], one["done"], one["of"]) for one in told] == [
        ("mine", "reading", 0, 2), ("mine", "reading", 1, 2), ("mine", "checking", 0, 2), ("mine", "storing", 0, 2),
    ]  # fmt: skip
    assert upload(ann, archive("3.0.0", name="test.first"), progress="no name").status_code == 400
    assert upload(ann, archive("3.0.0", name="test.first")).status_code == 201
    assert Event.objects.filter(kind="import").count() == 4


def test_what_the_server_lacks(ann: Any, eve: Any, orchard: Any) -> None:
    digest = ann.get(f"/v2/packages/{orchard['id']}").json()["digest"]
    here = {"fqn": "test.orchard", "version": "1.0.0", "digest": digest}
    items = [here, {**here, "digest": "0" * 64}, {**here, "version": "9.0.0"}]
    answer = ann.post("/v2/packages/known", {"items": items}).json()
    assert answer == {"present": items[:1], "different": items[1:2], "missing": items[2:]}
    assert eve.post("/v2/packages/known", {"items": items[:1]}).json()["missing"] == items[:1]


def test_how_a_package_is_presented_can_change(ann: Any, root: Any, orchard: Any) -> None:
    address = f"/v2/packages/{orchard['id']}"
    category = ann.get("/v2/categories").json()["items"][0]["name"]
    changed = ann.patch(address, {"name": "Fruit", "tags": ["a", "b"], "categories": [category]}).json()
    assert (changed["name"], changed["tags"], changed["categories"]) == ("Fruit", ["a", "b"], [category])
    assert ann.patch(address, {"categories": ["nonsense"]}).status_code == 400
    assert ann.patch(address, {"public": True}).status_code == 403
    assert root.patch(address, {"public": True}).json()["public"] is True
    assert ann.patch(address, {"fqn": "other"}).status_code == 400
    assert ann.patch(address, {"enabled": False}).json()["enabled"] is False
    assert ann.get("/v2/packages?fqn=test.orchard").json()["items"] == []
    assert len(ann.get("/v2/packages?fqn=test.orchard&disabled=true").json()["items"]) == 1


def test_what_others_require_is_kept_unless_forced(ann: Any, installed: None) -> None:
    imported = upload(ann, needs_second(), archive(name="test.first")).json()["imported"]
    first = next(p["id"] for p in imported if p["fqn"] == "test.first")
    refused = ann.delete(f"/v2/packages/{first}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "SRV522")
    assert refused.json()["error"]["details"]["dependants"][0]["fqn"] == "test.second"
    uses = ann.get(f"/v2/packages/{first}/usage").json()
    assert [p["fqn"] for p in uses["required_by"]] == ["test.second"]
    second = next(p["id"] for p in imported if p["fqn"] == "test.second")
    for id in (second, first):
        assert ann.patch(f"/v2/packages/{id}", {"enabled": False}).status_code == 200
    refused = ann.patch(f"/v2/packages/{second}", {"enabled": True})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "SRV521")
    assert refused.json()["error"]["details"]["missing"][0]["requires"] == "test.first"
    assert ann.patch(f"/v2/packages/{second}?force=true", {"enabled": True}).json()["enabled"] is True
    assert ann.delete(f"/v2/packages/{first}?force=true").status_code == 204
    assert ann.get(f"/v2/packages/{first}").status_code == 404


def test_pages_of_a_list_follow_each_other(ann: Any, installed: None) -> None:
    for minor in range(5):
        assert upload(ann, archive(f"1.{minor}.0")).status_code == 201
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        found = ann.get(f"/v2/packages?all_versions=true&owned=true&limit=2&cursor={cursor}").json()
        seen += [item["version"] for item in found["items"]]
        cursor = found["next"]
    assert seen == ["1.4.0", "1.3.0", "1.2.0", "1.1.0", "1.0.0"]
    assert ann.get("/v2/packages?cursor=nonsense").status_code == 400
    assert ann.get("/v2/packages?limit=0").status_code == 400


def test_parts_of_a_package(ann: Any, orchard: Any) -> None:
    address = f"/v2/packages/{orchard['id']}"
    got = ann.get(f"{address}/archive")
    assert (got["Content-Type"], got.content[:2]) == ("application/zip", b"PK")
    ui = ann.get(f"{address}/ui")
    assert ui.content.decode() == UI
    assert ui["Content-Type"].startswith("text/plain") and "sandbox" in ui["Content-Security-Policy"]
    assert ann.get(f"{address}/logo").status_code == 404
    classes = {c["name"]: c for c in ann.get(f"{address}/classes").json()["items"]}
    assert "io.murano.Application" in classes["test.Tree"]["ancestors"]
    assert ann.get(classes["test.Tree"]["schema"]).status_code == 200
    paths = [f["path"] for f in ann.get(f"{address}/files").json()["items"]]
    assert "Classes/Tree.yaml" in paths
    shown = ann.get(f"{address}/files/Classes/Tree.yaml")
    assert b"Namespaces" in shown.content and shown["Content-Type"].startswith("text/plain")
    assert ann.get(f"{address}/files/manifest.yaml?download=true")["Content-Disposition"] == "attachment"


@pytest.mark.parametrize(
    "path", ["../manifest.yaml", "..%2f..%2fetc/passwd", "/etc/passwd", "Classes", "Classes/", "a//b"]
)
def test_paths_outside_of_an_archive_do_not_exist(ann: Any, orchard: Any, path: str) -> None:
    assert ann.get(f"/v2/packages/{orchard['id']}/files/{path}").status_code == 404


def test_imports_from_elsewhere_need_an_allowed_host(ann: Any, people: Any) -> None:
    refused = ann.post("/v2/packages/import", {"url": "http://127.0.0.1:1/x.zip"})
    assert (refused.status_code, "127.0.0.1" in refused.json()["error"]["message"]) == (403, True)
    for body in ({}, {"url": "x", "bundle": "y"}, {"repository": "http://x"}, {"names": ["a"]}):
        assert ann.post("/v2/packages/import", body).status_code == 400
    reader = people("reed", "demo", "reader")
    assert reader.post("/v2/packages/import", {"url": "http://127.0.0.1:1/x.zip"}).status_code == 403
    assert upload(reader, archive()).status_code == 403


def test_categories(ann: Any, root: Any, orchard: Any) -> None:
    assert ann.post("/v2/categories", {"name": "Trees"}).status_code == 403
    made = root.post("/v2/categories", {"name": "Trees"})
    assert (made.status_code, made.json()["package_count"]) == (201, 0)
    address = f"/v2/categories/{made.json()['id']}"
    assert root.post("/v2/categories", {"name": "Trees"}).status_code == 409
    ann.patch(f"/v2/packages/{orchard['id']}", {"categories": ["Trees"]})
    assert root.delete(address).status_code == 403
    renamed = root.patch(address, {"name": "Plants"})
    assert (renamed.json()["name"], renamed.json()["package_count"]) == ("Plants", 1)
    assert ann.get(f"/v2/packages/{orchard['id']}").json()["categories"] == ["Plants"]
    assert [i["fqn"] for i in ann.get("/v2/packages?category=Plants").json()["items"]] == ["test.orchard"]
    ann.patch(f"/v2/packages/{orchard['id']}", {"categories": []})
    assert root.delete(address).status_code == 204
    assert root.delete(address).status_code == 404
