"""The pages about packages: table, import, details, source, changing, deleting, categories."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.server.catalog.archives import archive, zipped
from vetro.server.catalog import service, standard_packages
from vetro.server.catalog.models import Category, Package
from vetro.server.environments import service as environments
from vetro.server.environments.models import Environment, EnvironmentPackage

Browser = Callable[[Any], Client]
_EVIL = "<script>alert(1)</script>\"'&"
_BROKEN = "Name: Bad\nMethods:\n  deploy:\n    Body:\n    - If: $.a\n      Thenn: []\n"


def _text(answer: Any, status: int = 200) -> str:
    assert answer.status_code == status, (answer.status_code, answer.content[:400])
    return str(answer.content.decode())


def _file(data: bytes, name: str = "app.zip") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data, "application/zip")


@pytest.fixture
def app(ann: Any) -> Package:
    """A package of ann's project, and one that requires it."""
    done = service.import_packages(
        ann.caller,
        [
            archive("com.example.App", "1.0.0", Name="App", Description=_EVIL, files={"Resources/run.sh": "echo hi\n"}),
            archive("com.example.User", "1.0.0", Name="User", Require={"com.example.App": "1"}),
        ],
    )
    return done.packages[0]


def test_the_table_has_every_version_of_whatever_kind(ann: Any, app: Package, browser: Browser) -> None:
    standard_packages.ensure()
    service.import_packages(ann.caller, [archive("com.example.App", "2.0.0", Name="App")])
    client = browser(ann)
    page = _text(client.get("/app/packages/"))
    assert page.count(">com.example.App<") == 2 and "io.murano" in page
    assert page.count(">com.example.App<") - 1 == _text(client.get("/app/packages/?newest=1")).count(
        ">com.example.App<"
    )
    part = _text(client.get("/app/packages/?q=user&owned=1", headers={"hx-request": "true", "hx-target": "results"}))
    assert "<html" not in part and "com.example.User" in part and "com.example.App<" not in part
    assert "io.murano.applications" not in _text(client.get("/app/packages/?type=Application"))


def test_several_are_switched_at_once_and_refusals_are_told(ann: Any, app: Package, browser: Browser) -> None:
    client = browser(ann)
    user = Package.objects.get(fqn="com.example.User")
    client.post("/app/packages/together", {"id": [user.id, app.id], "what": "disable"})
    assert not Package.objects.get(id=user.id).enabled
    assert not Package.objects.get(id=app.id).enabled
    assert "2 packages are inactive" in _text(client.get("/app/packages/"))
    refused = client.post(f"/app/packages/{user.id}/switch", {"what": "enabled", "value": "1"})
    assert "com.example.User 1.0.0 requires com.example.App 1; there is none" in unescape(_text(refused, 400))
    # One of them is in the way of the other until it is done.
    client.post("/app/packages/together", {"id": [user.id, app.id], "what": "enable"})
    assert Package.objects.filter(id__in=[user.id, app.id], enabled=True).count() == 2
    assert "2 packages are active" in _text(client.get("/app/packages/"))
    client.post("/app/packages/together", {"id": [app.id], "what": "disable"})
    assert "is required by com.example.User 1.0.0" in _text(client.get("/app/packages/"))
    assert client.post("/app/packages/together", {"id": [app.id], "what": "publish"}).status_code == 302
    assert not Package.objects.get(id=app.id).is_public
    assert client.post("/app/packages/together", {"id": [app.id], "what": "burn"}).status_code == 400


def test_files_are_imported_with_options(ann: Any, browser: Browser) -> None:
    client = browser(ann)
    category = Category.objects.order_by("name").first()
    assert category is not None
    page = _text(
        client.post(
            "/app/packages/import",
            {"archive": [_file(archive("com.a.App")), _file(archive("com.b.App"))], "way": "files", "what": "import",
             "category": category.name, "tags": "one, two", "enabled": "1"},
            headers={"hx-request": "true"},
        )
    )  # fmt: skip
    assert "<html" not in page and "2 packages imported" in page
    row = Package.objects.get(fqn="com.a.App")
    assert (row.enabled, row.category_names, row.tag_names) == (True, [category.name], ["one", "two"])
    assert "Recently used" in _text(client.get("/app/catalog/"))


def test_an_import_that_the_settings_forbid_has_no_button(root: Any, browser: Browser) -> None:
    page = _text(browser(root).get("/app/packages/import?way=bundle"))
    assert 'href="/app/help/settings/"' in page and re.search(r'value="import" disabled', page)
    assert 'value="import" disabled' not in _text(browser(root).get("/app/packages/import"))


def test_a_refused_import_shows_the_whole_report_and_stores_nothing(ann: Any, browser: Browser) -> None:
    bad = archive("com.example.Bad", classes={"com.example.Bad": _BROKEN})
    sent = {"archive": [_file(archive("com.a.App")), _file(bad)], "way": "files", "what": "import"}
    page = _text(browser(ann).post("/app/packages/import", sent), 400)
    assert "Nothing was imported" in page and "Thenn" in page and "Classes/com.example.Bad.yaml:6" in page
    assert not Package.objects.filter(fqn="com.a.App").exists()


def test_checking_reports_every_archive_and_stores_nothing(ann: Any, browser: Browser) -> None:
    sent = {
        "archive": [_file(archive("com.a.App"), "good.zip"), _file(zipped({"x": "y"}), "bad<b>.zip")],
        "way": "files",
        "what": "check",
    }
    page = _text(browser(ann).post("/app/packages/import", sent))
    assert "would be refused" in page and "good.zip" in page and "bad&lt;b&gt;.zip" in page
    assert not Package.objects.filter(fqn="com.a.App").exists()


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ({"way": "files", "what": "import"}, "Choose at least one package"),
        ({"way": "url", "what": "check", "address": "https://x.example/a.zip"}, "Only files can be checked"),
        ({"way": "url", "what": "import", "address": ""}, "Give the address"),
        ({"way": "url", "what": "import", "address": "https://x.example/a.zip"}, "may not be imported from x.example"),
        ({"way": "repository", "what": "import", "address": "https://x.example/", "names": " "}, "Name at least one"),
        ({"way": "bundle", "what": "import", "address": "file:///etc/passwd"}, "is no address"),
        ({"way": "letter", "what": "import", "address": "https://x.example/"}, "no such way"),
    ],
)
def test_what_cannot_be_imported_is_told(ann: Any, browser: Browser, sent: dict[str, str], text: str) -> None:
    answer = browser(ann).post("/app/packages/import", sent)
    assert answer.status_code in (400, 403)
    assert text in answer.content.decode()


def test_archives_that_are_too_large_are_refused(ann: Any, browser: Browser) -> None:
    sent = {"archive": [_file(b"x" * ((5 << 20) + 1))], "way": "files", "what": "import"}
    assert "larger than 5 MiB" in _text(browser(ann).post("/app/packages/import", sent), 413)


def _used_here(ann: Any, app: Package) -> None:
    """A simulated environment, whatever this machine could make, that uses the package."""
    made = environments.create(ann.caller, {"name": "here"})
    Environment.objects.filter(id=made["id"]).update(cloud={"kind": "record"})
    EnvironmentPackage.objects.create(environment_id=made["id"], fqn=app.fqn, version=app.version, digest=app.digest)


def test_a_package_is_told_with_its_dependants_and_text_escaped(ann: Any, app: Package, browser: Browser) -> None:
    _used_here(ann, app)
    page = _text(browser(ann).get(f"/app/packages/{app.id}/"))
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page
    assert "User 1.0.0" in page and ">here (simulated)</a>" in page


def test_a_long_file_is_cut(ann: Any, browser: Browser) -> None:
    files: dict[str, str | bytes] = {"Resources/long.txt": "\n".join(map(str, range(1, 6001)))}
    row = service.import_packages(ann.caller, [archive("com.a.App", files=files)]).packages[0]
    page = _text(browser(ann).get(f"/app/packages/{row.id}/files/Resources/long.txt"))
    assert 'id="L5000"' in page and 'id="L5001"' not in page and "The file goes on" in page


def test_findings_lead_to_their_line(ann: Any, browser: Browser) -> None:
    done = service.import_packages(
        ann.caller, [archive("com.example.Bad", classes={"com.example.Bad": _BROKEN})], strict=False
    )
    page = _text(browser(ann).get(f"/app/packages/{done.packages[0].id}/"))
    assert f"/app/packages/{done.packages[0].id}/files/Classes/com.example.Bad.yaml#L6" in page
    assert "No deployment can use this package" in page


def test_the_class_browser_shows_contracts_and_inheritance(ann: Any, app: Package, browser: Browser) -> None:
    standard_packages.ensure()
    client = browser(ann)
    page = _text(client.get(f"/app/packages/{app.id}/classes/com.example.App"))
    assert "<code>$.int()</code>" in page and "deploy()" in page
    assert "/app/packages/class/io.murano/io.murano.Application" in page
    answer = client.get("/app/packages/class/io.murano/io.murano.Application")
    assert "setAttr" in _text(client.get(answer["Location"]))
    assert client.get(f"/app/packages/{app.id}/classes/com.example.Nowhere").status_code == 404


def test_the_class_browser_says_what_is_deprecated(ann: Any, browser: Browser) -> None:
    old = (
        "Namespaces: {=: com.example, l: io.vetro.lifecycle}\nName: Old\n"
        "Meta: {l:Deprecated: {text: 'it <forgets> things', replacement: com.example.New}}\n"
        "Properties: {size: {Contract: $, Meta: {l:Deprecated: {text: sizes are found out}}}}\n"
        "Methods: {go: {Meta: {l:Deprecated: {text: it walks}}, Body: []}}\n"
    )
    data = archive("com.example.Old", classes={"com.example.Old": old}, Require={"io.vetro": "1"})
    row = service.import_packages(ann.caller, [data]).packages[0]
    page = _text(browser(ann).get(f"/app/packages/{row.id}/classes/com.example.Old"))
    assert "it &lt;forgets&gt; things Use com.example.New instead." in page
    assert "sizes are found out" in page and "it walks" in page and page.count("<strong>Deprecated</strong>") == 3


def test_source_is_coloured_and_escaped(ann: Any, app: Package, browser: Browser) -> None:
    client = browser(ann)
    page = _text(client.get(f"/app/packages/{app.id}/files/"))
    assert "manifest.yaml" in page and '<span class="hl-k">FullName</span>' in page
    assert "<script>alert" not in page
    assert "echo" in _text(client.get(f"/app/packages/{app.id}/files/Resources/run.sh"))
    assert client.get(f"/app/packages/{app.id}/files/../../etc/passwd").status_code == 404
    assert client.get(f"/app/packages/{app.id}/files/nowhere").status_code == 404


def test_a_file_that_is_no_text_or_too_long_is_not_shown(ann: Any, browser: Browser) -> None:
    files: dict[str, str | bytes] = {
        "Resources/a.bin": b"\0\1",
        "Resources/long.txt": " ".join(map(str, range(180_000))),
    }
    row = service.import_packages(ann.caller, [archive("com.a.App", files=files)]).packages[0]
    client = browser(ann)
    assert "This file is no text" in _text(client.get(f"/app/packages/{row.id}/files/Resources/a.bin"))
    assert "too large to be shown" in _text(client.get(f"/app/packages/{row.id}/files/Resources/long.txt"))


def test_pictures_and_archives_are_sent_so_that_no_browser_runs_them(ann: Any, browser: Browser) -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"0" * 20
    row = service.import_packages(ann.caller, [archive("com.a.App", files={"logo.png": png})]).packages[0]
    client = browser(ann)
    answer = client.get(f"/app/packages/{row.id}/logo")
    assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("image/png", "nosniff")
    assert answer["Content-Security-Policy"].startswith("sandbox")
    assert client.get(f"/app/packages/{row.id}/logo", headers={"if-none-match": answer["ETag"]}).status_code == 304
    archived = client.get(f"/app/packages/{row.id}/archive")
    assert archived["Content-Disposition"] == 'attachment; filename="com.a.App-0.0.0.zip"'
    assert archived.content == service.content(row, "digest")
    # An SVG would be a document: whatever stands in the blob, it is sent as bytes.
    from vetro.server.catalog import blobs

    Package.objects.filter(id=row.id).update(logo=blobs.put(b"<svg onload='alert(1)'/>"))
    assert client.get(f"/app/packages/{row.id}/logo")["Content-Type"] == "application/octet-stream"
    assert client.get(f"/app/packages/{row.id}/supplier-logo").status_code == 404


def test_how_it_is_presented_can_be_changed(ann: Any, app: Package, browser: Browser) -> None:
    client = browser(ann)
    address = f"/app/packages/{app.id}/edit"
    assert 'value="App"' in _text(client.get(address))
    category = Category.objects.order_by("name").first()
    assert category is not None
    sent = {"name": "Better", "description": "Now <b>bold</b>", "tags": "x, y ,x", "category": category.name}
    assert client.post(address, sent)["Location"] == f"/app/packages/{app.id}/"
    row = Package.objects.get(id=app.id)
    assert (row.name, row.tag_names, row.category_names) == ("Better", ["x", "y"], [category.name])
    page = _text(client.post(address, {**sent, "name": "N" * 81}), 400)
    assert "80 characters maximum" in page and "Now &lt;b&gt;bold" in page


def test_a_package_is_switched_and_published_by_those_who_may(
    ann: Any, people: Any, app: Package, browser: Browser
) -> None:
    client = browser(ann)
    assert "Publish to all projects" not in _text(client.get(f"/app/packages/{app.id}/"))
    assert client.post(f"/app/packages/{app.id}/switch", {"what": "is_public", "value": "1"}).status_code == 403
    boss = browser(people("boss", "demo", "admin"))
    boss.post(f"/app/packages/{app.id}/switch", {"what": "is_public", "value": "1"})
    assert Package.objects.get(id=app.id).is_public
    assert client.post(f"/app/packages/{app.id}/switch", {"what": "digest", "value": "1"}).status_code == 400


def test_deleting_names_what_depends_on_it(ann: Any, app: Package, browser: Browser) -> None:
    client = browser(ann)
    _used_here(ann, app)
    page = _text(client.get(f"/app/packages/delete?id={app.id}"))
    assert "com.example.User 1.0.0" in page and ">here (simulated)</a>" in page and 'name="force"' in page
    client.post("/app/packages/delete", {"id": app.id})
    assert Package.objects.filter(id=app.id).exists()
    client.post("/app/packages/delete", {"id": app.id, "force": "1"})
    assert not Package.objects.filter(id=app.id).exists()


def test_packages_that_require_each_other_are_deleted_together(ann: Any, app: Package, browser: Browser) -> None:
    ids = list(Package.objects.filter(embedded=False).values_list("id", flat=True))
    answer = browser(ann).post("/app/packages/together", {"id": ids, "what": "delete"})
    assert answer["Location"].startswith("/app/packages/delete?id=")
    client = browser(ann)
    assert "User" in _text(client.get("/app/catalog/"))
    client.post("/app/packages/delete", {"id": ids})
    assert not Package.objects.filter(embedded=False).exists()
    assert "The catalog is empty" in _text(client.get("/app/catalog/"))


def test_packages_of_others_stay_unknown_and_untouched(app: Package, eve: Any, browser: Browser) -> None:
    client = browser(eve)
    for path in ("", "classes/", "files/", "edit", "logo", "archive"):
        assert client.get(f"/app/packages/{app.id}/{path}").status_code == 404
    for path, sent in (
        (f"{app.id}/edit", {"name": "mine"}),
        (f"{app.id}/switch", {"what": "enabled", "value": "0"}),
        ("delete", {"id": app.id}),
    ):
        assert client.post(f"/app/packages/{path}", sent).status_code == 404
    client.post("/app/packages/together", {"id": app.id, "what": "disable"})
    assert Package.objects.get(id=app.id).enabled


def test_a_public_package_of_others_can_be_read_only(app: Package, eve: Any, browser: Browser) -> None:
    Package.objects.filter(id=app.id).update(is_public=True)
    client = browser(eve)
    page = _text(client.get(f"/app/packages/{app.id}/"))
    assert "/edit" not in page
    assert client.get(f"/app/packages/{app.id}/edit").status_code == 403
    assert client.post(f"/app/packages/{app.id}/switch", {"what": "enabled", "value": "0"}).status_code == 403


def test_readers_change_nothing(people: Any, app: Package, browser: Browser) -> None:
    client = browser(people("rita", "demo", "reader"))
    assert client.get("/app/packages/import").status_code == 403
    assert client.get(f"/app/packages/{app.id}/edit").status_code == 403
    assert client.post("/app/packages/delete", {"id": app.id}).status_code == 403
    assert client.post("/app/packages/together", {"id": app.id, "what": "disable"}).status_code == 403
    assert "With the ticked" not in _text(client.get("/app/packages/"))


def test_administrators_keep_the_categories(ann: Any, root: Any, app: Package, browser: Browser) -> None:
    boss = browser(root)
    boss.post("/app/packages/categories/add", {"name": "Fun & games"})
    assert "Fun &amp; games" in _text(boss.get("/app/packages/categories"))
    row = Category.objects.get(name="Fun & games")
    boss.post(f"/app/packages/categories/{row.id}/rename", {"name": "Games"})
    service.change(ann.caller, app, categories=["Games"])
    boss.post(f"/app/packages/categories/{row.id}/delete")
    assert "impossible to delete" in _text(boss.get("/app/packages/categories"))
    service.change(ann.caller, app, categories=[])
    boss.post(f"/app/packages/categories/{row.id}/delete")
    assert not Category.objects.filter(name="Games").exists()
    member = browser(ann)
    assert "Administrators add" in _text(member.get("/app/packages/categories"))
    assert member.post("/app/packages/categories/add", {"name": "Mine"}).status_code == 403
