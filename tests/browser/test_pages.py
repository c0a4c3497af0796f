"""One walk over all pages: axe finds nothing, nothing is wider than a phone, the browser has nothing to complain about.

A new page is one line in PAGES: without it, or one in ELSEWHERE, a test fails. Pictures of each, wide and narrow, light
and dark, go to build/screenshots with VETRO_TEST_ALL=1. That also walks over all; else one of each kind is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import new_context
from tests.browser.kit import Complaints, examined, wider_than_the_window
from tests.server.roles.expectations import expectations
from tests.support.fuzzing import EVERYTHING, every

#: Name of the picture -> (who looks, address). Names in braces are ids that kit_filled.py makes.
PAGES: dict[str, tuple[str | None, str]] = {
    "login": (None, "/app/login"),
    "missing": ("ann", "/app/nowhere"),
    "home": ("ann", "/app/"),
    "home-empty": ("eve", "/app/"),
    "search": ("ann", "/app/search?q=shop"),
    "help": ("ann", "/app/help/"),
    "help-page": ("ann", "/app/help/catalog/"),
    "help-found": ("ann", "/app/help/?q=quota"),
    "help-tutorial": ("ann", "/app/help/tutorial/"),
    "help-consumer": ("ann", "/app/help/consumer/"),
    "help-first-form": ("ann", "/app/help/first-form/"),
    "help-first-server": ("ann", "/app/help/first-server-application/"),
    "help-real-servers": ("ann", "/app/help/real-servers/"),
    "help-troubleshooting": ("ann", "/app/help/troubleshooting/"),
    "catalog": ("ann", "/app/catalog/"),
    "catalog-nothing-found": ("ann", "/app/catalog/?q=zzzz"),
    "catalog-empty": ("eve", "/app/catalog/"),
    "catalog-forgiven": ("ann", "/app/catalog/?q=databse"),
    "catalog-into": ("ann", "/app/catalog/?into={live}"),
    "application": ("ann", "/app/catalog/test.shop/"),
    "application-form": ("ann", "/app/catalog/test.shop/form"),
    "application-gets": ("ann", "/app/catalog/test.shop/gets"),
    "application-add": ("ann", "/app/catalog/com.example.Motd/add"),
    "packages": ("ann", "/app/packages/"),
    "package": ("ann", "/app/packages/{package}/"),
    "package-classes": ("ann", "/app/packages/{package}/classes/test.Shop"),
    "package-files": ("ann", "/app/packages/{package}/files/manifest.yaml"),
    "package-edit": ("ann", "/app/packages/{package}/edit"),
    "package-import": ("ann", "/app/packages/import"),
    "package-import-bundle": ("root", "/app/packages/import?way=bundle"),
    "package-import-repository": ("root", "/app/packages/import?way=repository"),
    "package-delete": ("ann", "/app/packages/delete?id={package}"),
    "package-compatibility": ("ann", "/app/packages/{package}/compatibility/"),
    "package-impact": ("ann", "/app/packages/{package}/impact/"),
    "categories": ("root", "/app/packages/categories"),
    "images": ("root", "/app/packages/images"),
    "images-of-member": ("ann", "/app/packages/images"),
    "images-build": ("root", "/app/packages/images/build"),
    "environments": ("ann", "/app/environments/"),
    "environments-empty": ("eve", "/app/environments/"),
    "environments-delete": ("ann", "/app/environments/delete?id={live}&id={draft}"),
    "environment-new": ("ann", "/app/environments/new"),
    "environment-import": ("ann", "/app/environments/import"),
    "deployments": ("ann", "/app/environments/deployments"),
    "environment": ("ann", "/app/environments/{live}/"),
    "environment-of-reader": ("rita", "/app/environments/{live}/"),
    "environment-broken": ("ann", "/app/environments/{broken}/"),
    "component": ("ann", "/app/environments/{live}/components/{component}/"),
    "changes": ("ann", "/app/environments/{live}/changes"),
    "plan": ("ann", "/app/environments/{draft}/plans/{plan}"),
    "task": ("ann", "/app/environments/{live}/tasks/{task}/"),
    "task-failed": ("ann", "/app/environments/{broken}/tasks/{failed}/"),
    "environment-tasks": ("ann", "/app/environments/{live}/tasks/"),
    "history": ("ann", "/app/environments/{live}/history"),
    "lock": ("ann", "/app/environments/{live}/lock"),
    "upgrade-nothing": ("ann", "/app/environments/{live}/upgrade"),
    "compare": ("ann", "/app/environments/{live}/compare"),
    "topology": ("ann", "/app/environments/{live}/topology"),
    "servers": ("ann", "/app/environments/{live}/servers"),
    "health": ("ann", "/app/environments/{live}/health"),
    "metadata": ("ann", "/app/environments/{live}/metadata"),
    "rename": ("ann", "/app/environments/{live}/rename"),
    "clone": ("ann", "/app/environments/{live}/clone"),
    "to-template": ("ann", "/app/environments/{live}/template"),
    "delete": ("ann", "/app/environments/{live}/delete"),
    "result": ("ann", "/app/results/{result}/"),
    "try": ("ann", "/app/try/{application}"),
    "form-quick": ("ann", "/app/quick/{application}"),
    "form-add": ("ann", "/app/environments/{live}/add/{application}"),
    "form-edit": ("ann", "/app/environments/{live}/edit/{component}"),
    "form-action": ("ann", "/app/environments/{live}/actions/{action}"),
    "form-in-template": ("ann", "/app/templates/{template}/add/{application}"),
    "forms-none": ("eve", "/app/forms/"),
    "templates": ("ann", "/app/templates/"),
    "template": ("ann", "/app/templates/{template}/"),
    "template-new": ("ann", "/app/templates/new"),
    "template-edit": ("ann", "/app/templates/{template}/edit"),
    "template-clone": ("ann", "/app/templates/{template}/clone"),
    "template-create": ("ann", "/app/templates/{template}/create"),
    "notices": ("ann", "/app/notices/"),
    "notices-empty": ("eve", "/app/notices/"),
    "profile": ("ann", "/app/people/me"),
    "quotas": ("ann", "/app/people/quotas"),
    "people": ("root", "/app/people/"),
    "person-new": ("root", "/app/people/new"),
    "person": ("root", "/app/people/users/{ann}/"),
    "person-delete": ("root", "/app/people/users/{ann}/delete"),
    "projects": ("root", "/app/people/projects/"),
    "project": ("root", "/app/people/projects/{demo}/"),
    "project-quotas": ("root", "/app/people/projects/{demo}/quotas"),
    "operation": ("root", "/app/operation/"),
    "operation-doctor": ("root", "/app/operation/doctor"),
    "operation-workers": ("root", "/app/operation/workers"),
    "operation-queue": ("root", "/app/operation/queue"),
    "operation-cloud": ("root", "/app/operation/cloud"),
    "operation-disk": ("root", "/app/operation/disk"),
    "operation-backups": ("root", "/app/operation/backups"),
    "operation-quotas": ("root", "/app/operation/quotas"),
    "operation-settings": ("root", "/app/operation/settings"),
    "audit": ("ann", "/app/people/audit"),
    "audit-everywhere": ("root", "/app/people/audit?all=1"),
}
#: Addresses that are no page of their own, or that another test looks at on its way: which one.
ELSEWHERE = {
    **dict.fromkeys(
        (
            "/app", "/app/link/{token}", "/app/forms/{form}/", "/app/environments/{environment}/add",
            "/app/catalog/{fqn}/actions/{class_name}/{method}", "/app/templates/{template}/add",
            "/app/templates/{template}/edit/{component}",
            "/app/packages/{package}/classes/", "/app/packages/{package}/files/", "/app/packages/class/{fqn}/{name}",
        ),
        "leads on to another page",
    ),
    **dict.fromkeys(
        (
            "/app/environments/{environment}/tasks/{task}/lines", "/app/forms/{form}/plan", "/app/help/about/{topic}",
            "/app/environments/{environment}/tasks/{task}/lines/{seq}", "/app/forms/{form}/{number}/choices",
        ),
        "part of another page",
    ),
    **dict.fromkeys(
        (
            "/app/environments/{environment}/tasks/{task}/log", "/app/environments/{environment}/report",
            "/app/environments/{environment}/topology.json", "/app/media/{name}", "/app/people/audit/export",
            "/app/packages/{package}/archive", "/app/packages/{package}/logo", "/app/results/{task}/download",
            "/app/packages/{package}/pictures/{path}", "/app/packages/{package}/supplier-logo",
        ),
        "a file",
    ),
    "/app/forms/{form}/{number}": "test_wizard.py",
    "/app/forms/{form}/review": "test_wizard.py",
    "/app/forms/{form}/start/{builder}": "test_wizard_class.py",
    "/app/environments/{environment}/servers/{server}/terminal": "test_terminal.py",
    "/app/environments/{environment}/updates/{procedure}": "test_upgrade_real.py",
    "/app/packages/{package}/impact/{impact}/{environment}": "test_impact.py",
}  # fmt: skip
#: Address -> bytes that came over the network for it, headers included; 0 where the browser had it.
_TRANSFERRED = """() => Object.fromEntries(["navigation", "resource"]
  .flatMap((kind) => performance.getEntriesByType(kind)).map((entry) => [entry.name, entry.transferSize]))"""
#: One of each kind: without an account, of what is not there, boxes, a text, cards, code, an environment in trouble, a
#: plan, lines as they come, a drawing, a form, a long table.
OF_EACH_KIND = (
    "login", "missing", "home", "help-page", "catalog", "package-classes", "environment-broken", "plan", "task",
    "topology", "form-add", "audit-everywhere",
)  # fmt: skip
#: Where the words are longest: in boxes beside each other, beside a drawing.
OF_GERMAN = ("home", "topology")
#: They lead to the form, whose address says how it begins.
_FORMS = {name for name in PAGES if name.startswith("form-")}
#: 404 is what these are about.
_MISSING = {"missing"}


@pytest.fixture(scope="module")
def tab_of(chromium: Any, service: Any) -> Iterator[Callable[[str | None], Any]]:
    """``tab_of("ann")``: the one tab of a person for all pages; a browser for each would cost as much as the pages."""
    with ExitStack() as contexts:

        @cache
        def tab(person: str | None) -> Any:
            context, complaints = new_context(chromium, service, person), Complaints()
            contexts.callback(context.close)
            complaints.watch(context)
            return context.new_page(), complaints

        yield tab


@pytest.mark.parametrize("name", PAGES if EVERYTHING else OF_EACH_KIND)
def test_page(name: str, tab_of: Callable[[str | None], Any], filled: dict[str, str]) -> None:
    person, address = PAGES[name]
    page, complaints = tab_of(person)
    complaints.said.clear()
    answer = page.goto(address.format(**filled), wait_until="load")
    assert answer.status == (404 if name in _MISSING else 200)
    assert page.url.endswith(address.format(**filled)) or (name in _FORMS and "/app/forms/" in page.url)
    assert not examined(page, name)
    assert page.locator("h1").count() == 1
    assert page.title().endswith(" · Vetro")
    missing = "status of 404" if name in _MISSING else None
    assert [line for line in complaints.said if missing is None or missing not in line] == []


@pytest.mark.parametrize(
    "name", [name for name, (person, _) in PAGES.items() if person is not None] if EVERYTHING else OF_GERMAN
)
def test_page_in_german(name: str, context_for: Callable[..., Any], filled: dict[str, str]) -> None:
    """German words are longer, and whoever only tried English pages does not see what they push aside."""
    person, address = PAGES[name]
    page = context_for(person, missing=name in _MISSING, locale="de-DE").new_page()
    page.goto(address.format(**filled), wait_until="load")
    assert page.locator("html").get_attribute("lang") == "de"
    assert examined(page, f"{name}-de") == []


@pytest.mark.parametrize("locale", ["de-DE", pytest.param("en-GB", marks=pytest.mark.campaign)])
def test_the_bar_at_the_top_fits_beside_the_mark_of_simulated_clouds(
    locale: str, context_for: Callable[..., Any]
) -> None:
    page = context_for("root", locale=locale).new_page()
    page.goto("/app/operation/settings", wait_until="load")
    mark = {"de-DE": "Simuliert", "en-GB": "Simulated"}[locale]
    expect(page.locator("header").get_by_text(mark, exact=True)).to_be_visible()
    # Paths among the values are as long as the machine makes them.
    page.evaluate(
        "() => document.querySelectorAll('td code').forEach((code) => code.textContent = '/folder'.repeat(20))"
    )
    for width in (390, 1200, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        assert wider_than_the_window(page) == [], width
        bar = page.locator("header.topbar").bounding_box()
        assert bar["height"] < 75, (width, bar)  # one line


def test_every_page_is_looked_at() -> None:
    looked_at = [address.partition("?")[0] for _, address in PAGES.values()]
    wanted = {route.path for route in expectations() if route.method == "GET" and route.path.startswith("/app")}
    missed = []
    for path in sorted(wanted - set(ELSEWHERE)):
        pattern = re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) + "$")
        if not any(pattern.match(address) for address in looked_at):
            missed.append(path)
    assert missed == []
    assert set(ELSEWHERE) <= wanted


@pytest.mark.parametrize("address", every(3, ["/app/environments/{live}/", "/app/catalog/", "/app/login"]))
def test_a_first_page_is_small_and_the_next_one_brings_no_files_again(
    address: str, page_for: Callable[..., Any], filled: dict[str, str]
) -> None:
    page = page_for(None if address == "/app/login" else "ann")
    page.goto(address.format(**filled), wait_until="load")
    sizes = page.evaluate(_TRANSFERRED)
    assert sum(sizes.values()) <= 250 * 1024, sizes
    assert sum("/static/" in url for url in sizes) > 4
    page.goto(address.format(**filled), wait_until="load")
    assert [url for url, size in page.evaluate(_TRANSFERRED).items() if "/static/" in url and size] == []
