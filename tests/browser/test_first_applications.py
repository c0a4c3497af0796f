"""The empty catalog's page fills it with one click: the applications that come with Vetro, in a service of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Running, running
from tests.browser.kit import examined
from tests.browser.kit_applications import LONG
from vetro.packages import open_package
from vetro.packages.bundle import applications


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service without a package."""
    with running(tmp_path_factory.mktemp("empty"), VETRO_CLOUD__DRIVER="record") as made:
        yield made


@pytest.mark.campaign
@pytest.mark.timeout(1200)  # eighteen packages are examined, on a machine that does other things
def test_one_click_on_the_empty_catalog_adds_all_applications(service: Running, page_for: Any) -> None:
    names = sorted(applications())
    assert len(names) == 9
    page = page_for("ann")
    page.goto("/app/catalog/")
    expect(page.get_by_text("The catalog is empty")).to_be_visible()
    expect(page.locator(".tile")).to_have_count(0)
    page.get_by_role("button", name="Add the applications of Vetro").click()

    # The page shows how far it is, and goes to the catalog by itself when all are there.
    expect(page.locator("[data-application]")).to_have_count(9)
    expect(page.locator(".tile")).to_have_count(9, timeout=LONG)
    assert page.url == f"{service.url}/app/catalog/"
    expect(page.locator("#notices")).to_contain_text("9 applications of Vetro are in the catalog.")
    titles = {name: open_package(applications()[name][-1]).manifest.raw["Name"] for name in names}
    assert sorted(page.locator(".tile h2").all_inner_texts()) == sorted(titles.values())
    assert examined(page, "catalog-of-vetro") == []

    # Each with both versions; the newest one is what the catalog opens and deploys.
    rows = service.api("ann", "GET", "/v2/packages?limit=100")["items"]
    ids = {row["fqn"].removeprefix("io.vetro.catalog."): row["id"] for row in rows if "vetro.catalog." in row["fqn"]}
    assert sorted(ids) == names
    for name, id in ids.items():
        versions = [row["version"] for row in service.api("ann", "GET", f"/v2/packages/{id}")["versions"]]
        assert sorted(versions) == [folder.name for folder in applications()[name]]
    for name in (titles["WordPress"], titles["StaticSite"]):
        page.goto("/app/catalog/")
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.locator("h1")).to_have_text(name)
        page.get_by_role("button", name="Deploy", exact=True).click()
        expect(page.get_by_label("A new environment")).to_be_checked()
