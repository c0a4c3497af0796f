"""Choosing an application: the context is not lost, words are forgiven, what is installed and featured is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.server.catalog.archives import archive
from tests.server.layers import People, layer
from vetro.server.catalog import service
from vetro.server.catalog.models import Package
from vetro.server.environments import service as environments
from vetro.server.environments.models import EnvironmentPackage
from vetro.server.web.views.catalog import facets

pytestmark = pytest.mark.django_db
Browser = Callable[[Any], Client]
HTMX = {"HX-Request": "true", "HX-Target": "results"}
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
README = """# Web Shop

Sells **things**. ![A shop](screenshots/one.png) [More](docs/more.md) [Home](https://shop.example/)

<script>alert(1)</script>
![Elsewhere](https://spy.example/pixel.png)
"""


def text(client: Client, path: str, **more: Any) -> str:
    answer = client.get(path, **more)
    assert answer.status_code == 200, (path, answer)
    return str(answer.content.decode())


@pytest.fixture(autouse=True)
def _counted_anew() -> None:
    facets._kept.clear()


@layer()
def shops(people: People) -> list[Package]:
    names = {
        "WebShop": ("Web Shop", ["Web", "featured"]),
        "Farm": ("Load balancer", ["web"]),
        "Blog": ("Blog", ["text"]),
    }
    archives = [
        archive(
            f"com.example.{fqn}", Name=name, Tags=tags,
            files={"README.md": README, "screenshots/one.png": PNG, "docs/more.md": "more"} if fqn == "WebShop" else {},
        )
        for fqn, (name, tags) in names.items()
    ]  # fmt: skip
    return list(service.import_packages(people("ann").caller, archives).packages)


def test_where_it_is_added_stays_while_one_chooses(ann: Any, eve: Any, shops: Any, browser: Browser) -> None:
    client = browser(ann)
    id = environments.create(ann.caller, {"name": "shop & more"})["id"]
    begun = client.get(f"/app/environments/{id}/add")["Location"]
    page = text(client, begun)
    assert "Adding to <strong>shop &amp; more</strong>" in page and f'name="into" value="{id}"' in page
    assert f'href="/app/catalog/com.example.WebShop/?into={id}"' in page
    found = text(client, f"/app/catalog/?q=shop&into={id}", headers=HTMX)
    assert f'href="/app/catalog/com.example.WebShop/?into={id}"' in found
    page = text(client, f"/app/catalog/com.example.WebShop/?into={id}")
    (shop,) = (row for row in shops if row.fqn == "com.example.WebShop")
    assert f'href="/app/environments/{id}/add/{shop.id}"' in page and "Add to shop &amp; more" in page
    other = environments.create(eve.caller, {"name": "not to be seen"})["id"]
    for wrong in (other, "nowhere", "x" * 500):
        assert "not to be seen" not in text(client, f"/app/catalog/?into={wrong}")
        assert "Adding to" not in text(client, f"/app/catalog/?into={wrong}")


def test_one_button_deploys_into_a_new_environment_or_one_of_mine(ann: Any, shops: Any, browser: Browser) -> None:
    client = browser(ann)
    mine = environments.create(ann.caller, {"name": "corner"})["id"]
    page = text(client, "/app/catalog/com.example.WebShop/")
    assert page.count("btn-primary btn-lg") == 1 and 'id="to-name" name="name" value="Web Shop"' in page
    assert f'id="to-{mine}" value="{mine}"' in page
    address = "/app/catalog/com.example.WebShop/add"
    (shop,) = (row for row in shops if row.fqn == "com.example.WebShop")
    asked = client.post(address, {"environment": "quick", "name": " Market "})
    assert asked["Location"] == f"/app/quick/{shop.id}?name=Market"
    taken = client.post(address, {"environment": "quick", "name": "corner"})
    assert taken.status_code == 409 and 'value="corner 2"' in taken.content.decode()
    environments.create(ann.caller, {"name": "Web Shop"})
    assert 'name="name" value="Web Shop 2"' in text(client, "/app/catalog/com.example.WebShop/")


def test_searches_forgive_and_say_what_they_did(ann: Any, shops: Any, browser: Browser) -> None:
    client = browser(ann)
    assert "com.example.Farm" in text(client, "/app/catalog/?q=balancer+load", headers=HTMX)
    found = text(client, "/app/catalog/?q=balacner", headers=HTMX)
    assert "com.example.Farm" in found and "<q>balacner</q>" in found and "<strong>balancer</strong>" in found
    left = text(client, "/app/catalog/?q=zebra+shop", headers=HTMX)
    assert "com.example.WebShop" in left and "do without <q>zebra</q>" in left
    page = text(client, "/app/catalog/?q=%3Cq%3Ezebra")
    assert "Nothing matches" in page and "Recently used" not in page and "<q>zebra" not in page
    narrowed = text(client, "/app/catalog/?q=blog&tag=web")
    assert "Nothing matches" in narrowed and 'href="/app/catalog/?q=blog"' in narrowed


def test_tags_have_no_case_and_are_counted_together(ann: Any, shops: Any, browser: Browser) -> None:
    page = text(browser(ann), "/app/catalog/?tag=WEB")
    assert "com.example.Farm" in page and "com.example.WebShop" in page and "com.example.Blog/" not in page
    assert page.count('name="tag" value="Web"') + page.count('name="tag" value="web"') == 1
    assert "<small>2</small>" in page and 'value="WEB"' not in page


def test_featured_and_installed_applications_are_told(ann: Any, eve: Any, shops: Any, browser: Browser) -> None:
    client = browser(ann)
    page = text(client, "/app/catalog/")
    assert "Featured" in page and page.index("Featured") < page.index("All applications")
    id = environments.create(ann.caller, {"name": "corner"})["id"]
    EnvironmentPackage.objects.create(environment_id=id, fqn="com.example.Blog", version="0.0.0", digest="0" * 64)
    assert "in 1 environment" in text(client, "/app/catalog/")
    installed = text(client, "/app/catalog/?installed=1")
    assert "com.example.Blog/" in installed and "com.example.Farm" not in installed
    assert "com.example" not in text(browser(eve), "/app/catalog/?installed=1")


def test_a_readme_is_shown_with_its_pictures_and_nothing_of_it_runs(ann: Any, shops: Any, browser: Browser) -> None:
    client = browser(ann)
    (shop,) = (row for row in shops if row.fqn == "com.example.WebShop")
    page = text(client, "/app/catalog/com.example.WebShop/")
    picture = f"/app/packages/{shop.id}/pictures/screenshots/one.png"
    assert "<strong>things</strong>" in page and f'<img src="{picture}" alt="A shop"' in page
    assert f'href="/app/packages/{shop.id}/files/docs/more.md"' in page and 'href="https://shop.example/"' in page
    assert "spy.example" not in page and "alert(1)" not in page.partition("<main")[2]
    answer = client.get(picture)
    assert answer["Content-Type"] == "image/png" and "sandbox" in answer["Content-Security-Policy"]
    assert answer.content == PNG
    assert client.get(f"/app/packages/{shop.id}/pictures/README.md").status_code == 404
    assert client.get(f"/app/packages/{shop.id}/pictures/nowhere.png").status_code == 404


@pytest.mark.parametrize(("language", "first"), [("en", "Plain"), ("de", "Deutsch"), ("fr", "Plain")])
def test_a_readme_in_the_language_of_the_reader(ann: Any, browser: Browser, language: str, first: str) -> None:
    """The translated file comes first by name, and was taken for the README itself."""
    files = {"README.de.md": "# Deutsch", "README.md": "# Plain"}
    service.import_packages(ann.caller, [archive("com.example.Read", files=files)])
    client = browser(ann)
    page = text(client, "/app/catalog/com.example.Read/", headers={"Accept-Language": language})
    assert [name for name in ("Deutsch", "Plain") if f">{name}</h" in page] == [first]


def test_pictures_of_others_are_not_there(eve: Any, shops: Any, browser: Browser) -> None:
    (shop,) = (row for row in shops if row.fqn == "com.example.WebShop")
    assert browser(eve).get(f"/app/packages/{shop.id}/pictures/screenshots/one.png").status_code == 404
