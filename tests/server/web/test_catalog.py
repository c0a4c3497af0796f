"""The catalog's pages: finding applications, the page of one, adding it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from tests.server.catalog.archives import archive
from tests.server.layers import People, layer
from vetro.diagnostics import Text
from vetro.server.catalog import categories, service
from vetro.server.catalog.models import Package
from vetro.server.environments import service as environments
from vetro.server.errors import Unavailable
from vetro.server.web.views.catalog.application import changes_in

Browser = Callable[[Any], Client]
HTMX = {"hx-request": "true", "hx-target": "results"}
_UI = """\
Version: 2.2
Application: {'?': {type: com.example.Shop}}
Forms:
- shop:
    fields:
    - {name: title, type: string, label: Name of the shop, description: What people see, initial: Corner}
    - {name: license, type: string, hidden: true, description: Apache 2.0 it is}
"""
_CHANGES = "# Changes\n\n## 2.0.0 (2026-03-01)\nSells <b>online</b>.\n\n## 1.0.0\nThe first one.\n"

_FILES: dict[str, str | bytes] = {
    "UI/ui.yaml": _UI,
    "CHANGELOG.md": _CHANGES,
    "LICENSE": "Do what you like.",
    "README.md": "Begin here.",
}


@layer()
def shop(people: People) -> Any:
    """Two versions of an application of ann's project, in a category."""
    ann = people("ann")
    categories.create(people("root", "operators", "admin").caller, "Trade")
    done = service.import_packages(
        ann.caller,
        [
            archive("com.example.Shop", "1.0.0", Name="Shop", Tags=["web", "trade"], Author="Eve & Co"),
            archive(
                "com.example.Shop", "2.0.0", Name="Shop", Tags=["Trade", "web"], UI="ui.yaml", files=_FILES,
                Description="Sells <i>things</i>. See https://shop.example/",
            ),
        ],
        categories=["Trade"],
    )  # fmt: skip
    service.import_packages(ann.caller, [archive("com.example.Blog", "0.1.0", Name="Blog", Tags=["web", "text"])])
    return done.packages[1]


def _text(answer: Any) -> str:
    assert answer.status_code == 200, answer.content[:400]
    return str(answer.content.decode())


def test_an_empty_catalog_offers_the_examples_and_imports_them_with_one_click(
    ann: Any, browser: Browser, monkeypatch: Any
) -> None:
    from vetro.server.web.views.catalog import bundled_packages

    found = bundled_packages._archives()
    assert len(found) > 10
    monkeypatch.setattr(bundled_packages, "_archives", lambda: found[:5])  # all of them would take their time
    client = browser(ann)
    assert "The catalog is empty" in _text(client.get("/app/catalog/"))
    assert client.post("/app/catalog/examples")["Location"] == "/app/catalog/"
    page = _text(client.get("/app/catalog/"))
    assert "Message board" in page and "Load balancer" in page
    assert "5 packages are imported" in page
    assert client.post("/app/catalog/examples").status_code == 302
    # What is not there yet is offered beside other imports: the catalog itself is not empty any more.
    bring = _text(client.get("/app/packages/import"))
    assert "Add the applications of Vetro" in bring and "Import the examples" in bring
    monkeypatch.setattr(bundled_packages, "_examples", lambda: set(Package.objects.values_list("fqn", "version")))
    assert "Import the examples" not in _text(client.get("/app/packages/import"))
    assert "Add the applications of Vetro" not in _text(client.get("/app/catalog/"))


def _names(page: str, words: str) -> list[str]:
    """The applications of which the page says so."""
    rows = re.findall(r'data-application="([^"]+)">(.*?)</li>', page, re.DOTALL)
    return [name for name, row in rows if words in row]


def test_an_empty_catalog_offers_applications_and_adds_them_with_one_click(
    ann: Any, browser: Browser, monkeypatch: Any
) -> None:
    """The page asks for the next until all are there; what cannot be had is named, and holds nobody up."""
    from vetro.server.web.views.catalog import bundled_packages

    known = bundled_packages._applications()
    assert len(known) >= 9 and list(known).index("WordPress") > max(map(list(known).index, ("MariaDB", "HAProxy")))
    few = {name: known[name][-1:] for name in ("Redis", "HAProxy", "StaticSite")}
    monkeypatch.setattr(bundled_packages, "_applications", lambda: few)
    clock = itertools.count()  # each look at it is a second later: one application in each answer
    monkeypatch.setattr(bundled_packages, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(bundled_packages, "_AT_ONCE", 1.5)
    genuine, broken = service.import_packages, ["HAProxy"]

    def imported(caller: Any, archives: Any, **options: Any) -> Any:
        if broken and archives == [few[broken[0]][0].blob]:
            raise Unavailable(Text("other packages are being examined; try again later"))
        return genuine(caller, archives, **options)

    monkeypatch.setattr(bundled_packages, "import_packages", imported)
    client = browser(ann)
    assert "Add the applications of Vetro" in _text(client.get("/app/catalog/"))
    page = _text(client.post("/app/catalog/applications"))
    assert _names(page, "Is examined") == ["Redis"] and _names(page, "Waits") == ["HAProxy", "StaticSite"]
    assert 'hx-trigger="load' in page and "<html" in page
    fields: dict[str, Any] = {"on": "1"}
    page = _text(client.post("/app/catalog/applications", fields, headers=HTMX))
    assert _names(page, "In the catalog") == ["Redis"] and "<html" not in page and "1 of 3" in page
    page = _text(client.post("/app/catalog/applications", fields, headers=HTMX))
    assert _names(page, "other packages are being examined") == ["HAProxy"] and _names(page, "Is examined") == [
        "StaticSite"
    ]
    for name in ("failed", "why"):
        fields[name] = re.findall(f'name="{name}" value="([^"]*)"', page)
    page = _text(client.post("/app/catalog/applications", fields, headers=HTMX))
    assert _names(page, "In the catalog") == ["Redis", "StaticSite"] and _names(page, "try again later") == ["HAProxy"]
    assert "Try those again" in page and 'hx-trigger="load' not in page

    # Whoever comes again goes on where that ended.
    broken.clear()
    page = _text(client.post("/app/catalog/applications"))
    assert _names(page, "Is examined") == ["HAProxy"] and _names(page, "In the catalog") == ["Redis", "StaticSite"]
    answer = client.post("/app/catalog/applications", {"on": "1"}, headers=HTMX)
    assert answer["HX-Redirect"] == "/app/catalog/"
    assert Package.objects.get(fqn="io.vetro.catalog.Redis").category_names == ["Key-Value Storage"]
    page = _text(client.get("/app/catalog/"))
    assert "Redis" in page and "3 applications of Vetro are in the catalog" in page
    assert re.findall(r'name="category" value="([^"]+)"', page) == ["Key-Value Storage", "Load Balancers", "Web"]
    assert client.post("/app/catalog/applications")["Location"] == "/app/catalog/"


def test_a_reader_is_not_offered_what_she_may_not_do(people: Any, browser: Browser) -> None:
    client = browser(people("rita", "quiet", "reader"))
    page = _text(client.get("/app/catalog/"))
    assert "Import the examples" not in page
    assert client.post("/app/catalog/examples").status_code == 403
    assert client.post("/app/catalog/applications").status_code == 403


def test_tiles_show_the_newest_version_with_text_escaped(ann: Any, shop: Any, browser: Browser) -> None:
    page = _text(browser(ann).get("/app/catalog/"))
    assert page.count('href="/app/catalog/com.example.Shop/"') == 1
    assert "2.0.0" in page and "1.0.0" not in page
    assert "Sells &lt;i&gt;things&lt;/i&gt;" in page
    assert "Core library" not in page
    # A tag that is called like the category beside it is not told twice.
    tile = page[page.index('href="/app/catalog/com.example.Shop/"') :].partition("</li>")[0]
    assert re.findall(r'<span class="word[^"]*">([^<]*)</span>', tile) == ["Trade", "web"]


def test_search_category_and_tags_count_together(ann: Any, shop: Any, browser: Browser) -> None:
    client = browser(ann)
    part = _text(client.get("/app/catalog/?q=example&category=Trade&tag=web", headers=HTMX))
    assert "<html" not in part
    assert "com.example.Shop" in part and "com.example.Blog" not in part
    assert "com.example.Blog" in _text(client.get("/app/catalog/?tag=text&q=blo", headers=HTMX))
    assert "Nothing matches" in _text(client.get("/app/catalog/?category=Trade&tag=text", headers=HTMX))
    page = _text(client.get("/app/catalog/?category=Trade&tag=nowhere"))
    assert 'value="nowhere" checked' in page and 'value="Trade" checked' in page


def test_packages_of_other_projects_are_not_there(shop: Any, eve: Any, browser: Browser) -> None:
    client = browser(eve)
    assert "Shop" not in _text(client.get("/app/catalog/"))
    assert client.get("/app/catalog/com.example.Shop/").status_code == 404
    assert client.get("/app/catalog/com.example.Shop/form").status_code == 404
    assert client.get("/app/catalog/com.example.Shop/add").status_code == 404


def test_pages_follow_each_other(ann: Any, browser: Browser, monkeypatch: Any) -> None:
    from vetro.server.web.views.catalog import listing

    monkeypatch.setattr(listing, "AT_ONCE", 2)
    names = ["Aster", "Birch", "Clover"]
    service.import_packages(ann.caller, [archive(f"com.example.{name}", Name=name) for name in names])
    client = browser(ann)
    page = _text(client.get("/app/catalog/"))
    assert "Aster" in page and "Birch" in page and "Clover" not in page
    more = page.split('hx-get="')[-1].split('"')[0].replace("&amp;", "&")
    part = _text(client.get(more, headers={"hx-request": "true", "hx-target": "more"}))
    assert "Clover" in part and "Aster" not in part and 'id="more"' not in part
    assert client.get("/app/catalog/?after=gone").status_code == 400
    service.delete(ann.caller, service.visible(ann.caller).get(name="Birch"))
    assert "Clover" in _text(client.get(more, headers={"hx-request": "true", "hx-target": "more"}))


def test_the_page_of_an_application_has_its_versions_side_by_side(ann: Any, shop: Any, browser: Browser) -> None:
    page = _text(browser(ann).get("/app/catalog/com.example.Shop/"))
    assert "Sells &lt;i&gt;things&lt;/i&gt;." in page
    assert 'href="https://shop.example/"' in page
    assert "Sells &lt;b&gt;online&lt;/b&gt;." in page  # the change log, of this version
    assert "Do what you like." in page and "Begin here." in page
    assert f"/app/packages/{shop.id}/classes/com.example.Shop" in page
    assert "/app/catalog/com.example.Shop/?version=1.0.0" in page
    old = _text(browser(ann).get("/app/catalog/com.example.Shop/?version=1.0.0"))
    assert "Eve &amp; Co" in old and "Do what you like." not in old
    assert browser(ann).get("/app/catalog/com.example.Shop/?version=9").status_code == 404


def test_who_uses_which_version_is_told_within_the_project(ann: Any, shop: Any, browser: Browser) -> None:
    from vetro.server.environments.models import Environment, EnvironmentPackage

    mine = environments.create(ann.caller, {"name": "corner shop"})
    Environment.objects.filter(id=mine["id"]).update(cloud={"kind": "record"})
    used = {"fqn": "com.example.Shop", "version": "1.0.0", "digest": "0" * 64}
    EnvironmentPackage.objects.create(environment_id=mine["id"], **used)
    other = Environment.objects.create(project_id="others", name="not to be seen")
    EnvironmentPackage.objects.create(environment=other, **used)
    page = _text(browser(ann).get("/app/catalog/com.example.Shop/"))
    assert f'<a href="/app/environments/{mine["id"]}/">corner shop (simulated)</a>' in page
    assert "not to be seen" not in page
    recent = _text(browser(ann).get("/app/catalog/"))
    assert "Recently used" in recent


def test_the_form_is_previewed(ann: Any, shop: Any, browser: Browser) -> None:
    client = browser(ann)
    part = _text(client.get("/app/catalog/com.example.Shop/form", headers={"hx-request": "true", "hx-target": "form"}))
    assert "<html" not in part
    assert "Name of the shop" in part and "What people see" in part and "Corner" in part
    assert "Apache 2.0 it is" in part
    made = _text(client.get("/app/catalog/com.example.Blog/form"))
    assert "a whole number" in made and "$.int()" not in made  # in words, never as code


def test_adding_leads_to_the_wizard_and_is_remembered(ann: Any, shop: Any, browser: Browser) -> None:
    client = browser(ann)
    made = environments.create(ann.caller, {"name": "corner shop"})
    address = "/app/catalog/com.example.Shop/add"
    assert "corner shop" in _text(client.get(address))
    assert "corner shop" not in _text(client.get(f"{address}?q=nowhere", headers=HTMX))
    answer = client.post(address, {"environment": made["id"], "version": "2.0.0"})
    assert answer["Location"] == f"/app/environments/{made['id']}/add/{shop.id}"
    assert "last used" in _text(client.get(address))
    assert "Recently used" in _text(client.get("/app/catalog/"))
    assert client.post(address, {"environment": "new"})["Location"] == f"/app/environments/new?package={shop.id}"
    assert client.post(address, {"environment": "quick"})["Location"] == f"/app/quick/{shop.id}"


def test_nothing_is_added_to_environments_of_others(ann: Any, eve: Any, shop: Any, browser: Browser) -> None:
    theirs = environments.create(eve.caller, {"name": "theirs"})
    client = browser(ann)
    assert "theirs" not in _text(client.get("/app/catalog/com.example.Shop/add"))
    assert client.post("/app/catalog/com.example.Shop/add", {"environment": theirs["id"]}).status_code == 404


def test_a_library_is_not_added(ann: Any, browser: Browser) -> None:
    service.import_packages(ann.caller, [archive("com.example.Lib", Type="Library", extends="std:Object")])
    client = browser(ann)
    assert "com.example.Lib/add" not in _text(client.get("/app/catalog/com.example.Lib/"))
    assert client.post("/app/catalog/com.example.Lib/add", {"environment": "quick"}).status_code == 400


def test_an_archive_that_is_lost_does_not_break_the_page(
    ann: Any, shop: Any, browser: Browser, monkeypatch: Any
) -> None:
    from vetro.server.catalog import blobs

    def lost(digest: str) -> bytes:
        raise blobs.BlobMissing(f"blob {digest} is not there")

    monkeypatch.setattr(blobs, "get", lost)
    assert "Shop" in _text(browser(ann).get("/app/catalog/com.example.Shop/"))


@pytest.mark.parametrize(
    ("version", "text"), [("2.0.0", "Sells <b>online</b>."), ("1.0.0", "The first one."), ("0.0.0", "")]
)
def test_a_change_log_is_cut_by_version(version: str, text: str) -> None:
    assert changes_in(_CHANGES, version) == text


def test_a_version_is_not_found_inside_another_one() -> None:
    assert changes_in("11.0.0\nnew\n\n1.0.0\nold\n", "1.0.0") == "old"


def test_no_field_of_a_package_becomes_markup(ann: Any, browser: Browser) -> None:
    evil = "<script>alert(1)</script>"
    supplier = {"Name": evil, "CompanyUrl": {"Link": "javascript:alert(1)"}, "Summary": evil, "Description": evil}
    package = archive(
        "com.example.Evil", Name=evil, Description=evil, Author=evil, Tags=[evil, '"onload="x'], Supplier=supplier,
        files={"CHANGELOG": f"0.0.0\n{evil}", "LICENSE": evil, "README": evil, f"{evil[:8]}x": "y"},
    )  # fmt: skip
    row = service.import_packages(ann.caller, [package]).packages[0]
    client = browser(ann)
    for path in (
        "/app/catalog/", "/app/catalog/?q=%3Cscript%3E", "/app/catalog/com.example.Evil/", "/app/packages/",
        "/app/catalog/com.example.Evil/add", "/app/catalog/com.example.Evil/form", f"/app/packages/{row.id}/",
        f"/app/packages/{row.id}/edit", f"/app/packages/{row.id}/files/LICENSE", f"/app/packages/delete?id={row.id}",
    ):  # fmt: skip
        page = _text(client.get(path))
        assert evil not in page, path
        assert "&lt;script&gt;" in page, path
        assert 'href="javascript:' not in page
        assert '"onload=' not in page


def test_parts_and_pages_of_one_address_are_kept_apart_by_browsers(ann: Any, browser: Browser) -> None:
    assert "HX-Target" in browser(ann).get("/app/catalog/")["Vary"]
