"""The journey of a person with an empty project of her own, in steps that say where it ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import expect

from tests.browser.kit import PHONE, WIDE, picture

#: A deployment on a busy machine: waiting costs nothing where all is well.
_LONG = 180_000
_TOKEN = "token-of-the-journey"


def newcomer(service: Any, name: str) -> tuple[str, str]:
    """Makes an account with a project of its own, both called so; (the link that signs its owner in, the name)."""
    user = service.api("root", "POST", "/v2/admin/users", {"name": name})["id"]
    project = service.api("root", "POST", "/v2/admin/projects", {"name": name})["id"]
    service.api("root", "POST", "/v2/admin/memberships", {"user": user, "project": project, "role": "member"})
    made = service.api("root", "POST", f"/v2/admin/users/{user}/link?project={name}")
    return urlsplit(made["url"]).path, name  # its host is that of the configuration; tests take any free port


@contextmanager
def step(page: Any, name: str) -> Iterator[None]:
    """What fails in it says which step that was, and on which page; a picture of the page is kept."""
    try:
        yield
    except Exception as error:
        error.add_note(f"step '{name}', on the page {page.url}")
        picture(page, f"failed-{re.sub(r'[^a-z]+', '-', name.lower())}")
        raise


def click(page: Any, role: str, name: str, **more: Any) -> None:
    """Clicks what is called so."""
    page.get_by_role(role, name=name, **more).click()


def reloaded(page: Any) -> None:
    """Loads the page again, as somebody does who mistrusts it."""
    page.reload(wait_until="load")


def typed(page: Any, where: Any, text: str) -> None:
    """Types into an input, of a page that is loaded: before that nobody listens, and nothing is kept."""
    where.wait_for()
    page.wait_for_load_state("load")
    where.fill(text)


def ended(page: Any) -> None:
    """Waits until the task of a live view is done."""
    expect(page.locator("#live .page-head [data-state=done]")).to_be_visible(timeout=_LONG)


def arrive(page: Any, link: str, name: str) -> None:
    """Signs in with a link and imports the examples."""
    with step(page, "sign in"):
        page.goto(link)
        click(page, "button", "Sign in")
        expect(page.get_by_role("button", name=name, exact=True).first).to_be_visible()
    with step(page, "import"):
        page.goto("/app/catalog/")
        expect(page.get_by_role("heading", name="The catalog is empty")).to_be_visible()
        page.get_by_role("button", name="Import the examples").click(timeout=_LONG)
        expect(page.locator("#notices")).to_contain_text("imported", timeout=_LONG)
        reloaded(page)
        expect(page.locator(".tile").first).to_be_visible()


def choose(page: Any) -> None:
    """Finds the shop and begins to add it to a new environment."""
    with step(page, "catalog"):
        page.get_by_label("Search applications").press_sequentially("greets its visitors")
        expect(page.locator(".tile")).to_have_count(1)
        reloaded(page)
        expect(page.locator(".tile")).to_have_count(1)
        click(page, "link", "Web Shop")
    with step(page, "application"):
        expect(page.get_by_role("heading", level=1)).to_have_text("Web Shop")
        expect(page.locator("#form")).to_contain_text("The text on the page", timeout=_LONG)
        click(page, "button", "Deploy")
        expect(page.locator("#deploy")).to_have_class("collapse show")
        click(page, "button", "Make an environment first, deploy later")
        page.wait_for_url("**/app/environments/new**", timeout=_LONG)
    with step(page, "new environment"):
        typed(page, page.get_by_label("Name"), "Market")
        click(page, "button", "Create and add the application")


def fill_in(page: Any) -> None:
    """Goes through the wizard, and through that of the database in it, mistrusting every page."""
    with step(page, "wizard, first page"):
        title = page.get_by_label("Name of the shop")
        typed(page, title, "Corner")
        typed(page, page.get_by_label("Greeting"), "Good morning")
        click(page, "button", "New Small Database")
    with step(page, "wizard of the database"):
        typed(page, page.get_by_role("textbox", name="Token", exact=True), _TOKEN)
        typed(page, page.get_by_role("textbox", name="Token a second time", exact=True), _TOKEN)
        click(page, "button", "Next")
        page.get_by_label("Image").select_option(label="Debian 12")
        expect(page.locator("#kept")).to_have_text("Saved")
        reloaded(page)
        click(page, "button", "Review")
        expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()
        assert _TOKEN not in page.content()
        click(page, "button", "Add and go back to the form")
    with step(page, "wizard, back on its first page"):
        expect(title).to_have_value("Corner")
        chosen = page.get_by_role("combobox", name="Database", exact=True).locator("option:checked")
        expect(chosen).to_have_text("Database")
        reloaded(page)
        expect(page.get_by_label("Greeting")).to_have_value("Good morning")
        click(page, "button", "Next")
    with step(page, "wizard, second page"):
        expect(page.get_by_label("Size of the server")).to_be_visible()
        typed(page, page.get_by_label("Name of the server"), "corner-#")
        page.get_by_label("Image").select_option(label="Debian 12")
        expect(page.locator("#kept")).to_have_text("Saved")
        page.go_back()
        expect(title).to_have_value("Corner")
        page.go_forward()
        expect(page.get_by_label("Name of the server")).to_have_value("corner-#")
        reloaded(page)
        expect(page.get_by_label("Name of the server")).to_have_value("corner-#")
        typed(page, page.get_by_label("Application Name"), "Corner")
        expect(page.locator("#kept")).to_have_text("Saved")
        reloaded(page)
        expect(page.get_by_label("Application Name")).to_have_value("Corner")
        click(page, "button", "Review")
    with step(page, "review"):
        expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()
        reloaded(page)
        expect(page.locator("main")).to_contain_text("Good morning")
        click(page, "button", "Add to the draft")
        expect(page.locator("#notices")).to_contain_text("is in your draft")


def plan_and_deploy(page: Any) -> None:
    """Looks at the plan, deploys, and watches."""
    with step(page, "environment"):
        expect(page.locator("article.component")).to_have_count(2)
        reloaded(page)
        expect(page.get_by_text("New in the draft")).to_have_count(2)
        click(page, "button", "Plan", exact=True)
    with step(page, "plan"):
        expect(page.get_by_role("heading", name="Resources in the cloud")).to_be_visible(timeout=_LONG)
        reloaded(page)
        expect(page.locator("ol li", has_text="Install shop")).to_be_visible()
        click(page, "button", "Deploy this")
    with step(page, "live view"):
        expect(page.locator("#log")).to_contain_text("Creating the server", timeout=_LONG)
        reloaded(page)
        ended(page)
        expect(page.locator("#log")).to_contain_text("says 'Good morning'")
        click(page, "link", "To the environment")


def visit(page: Any, text: str) -> None:
    """Opens the address of the shop as the page links it; ``text`` is on what is there."""
    with step(page, f"address: {text}"):
        shop = page.locator("article.component", has=page.get_by_role("heading", name="Corner"))
        with page.expect_popup() as opened:
            shop.locator(".addresses a").first.click()
        expect(opened.value.locator("body")).to_contain_text(text)
        opened.value.close()


def find_simulated(page: Any) -> None:
    """On recorded servers: the page says that nothing exists, and the address of the shop leads nowhere."""
    with step(page, "simulated"):
        expect(page.locator("[data-simulated]")).to_contain_text("nothing of this environment exists")
        shop = page.locator("article.component", has=page.get_by_role("heading", name="Corner"))
        expect(shop.locator(".addresses")).to_contain_text(":8080")
        expect(shop.locator(".addresses a")).to_have_count(0)
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})  # the menu is folded up
        expect(page.locator("header").get_by_text("Simulated", exact=True)).to_be_visible()
        page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})


def change(page: Any) -> None:
    """Edits, sees what changes, deploys again."""
    with step(page, "edit"):
        click(page, "link", "Edit Corner")
        greeting = page.get_by_label("Greeting")
        expect(greeting).to_have_value("Good morning")
        typed(page, greeting, "Good night")
        expect(page.locator("#kept")).to_have_text("Saved")
        reloaded(page)
        expect(greeting).to_have_value("Good night")
        click(page, "button", "Next")
        click(page, "button", "Review")
        expect(page.locator("del", has_text="Good morning")).to_be_visible()
        click(page, "button", "Save in the draft")
    with step(page, "changes"):
        click(page, "link", "Show the changes")
        expect(page.locator("del", has_text="Good morning")).to_be_visible()
        expect(page.locator("ins", has_text="Good night")).to_be_visible()
        click(page, "button", "Deploy", exact=True)
    with step(page, "second live view"):
        ended(page)
        expect(page.locator("#log")).to_contain_text("says 'Good night'")
        expect(page.locator("#log")).not_to_contain_text("Creating the server")
        click(page, "link", "To the environment")


def use(page: Any, figures: str) -> None:
    """Runs an action (``figures`` is in its result) and compares two states."""
    with step(page, "action"):
        shop = page.locator("article.component", has=page.get_by_role("heading", name="Corner"))
        shop.get_by_role("button", name="Actions").click()
        shop.get_by_role("link", name="Show figures").click()
        click(page, "button", "Run")
    with step(page, "result"):
        expect(page.locator(".result")).to_contain_text("visits", timeout=_LONG)
        reloaded(page)
        expect(page.locator(".result")).to_contain_text(figures)
        click(page, "link", "Market")
    with step(page, "history"):
        click(page, "link", "History")
        page.get_by_label("from state 1", exact=True).check()
        page.get_by_label("to state 2", exact=True).check()
        click(page, "button", "Compare")
        expect(page.locator("ins", has_text="Good night")).to_be_visible()
        reloaded(page)
        expect(page.locator("del", has_text="Good morning")).to_be_visible()


def remove(page: Any) -> None:
    """Deletes the environment."""
    with step(page, "delete"):
        click(page, "button", "More", exact=True)
        click(page, "link", "Delete")
        expect(page.locator(".sheet")).to_contain_text("This is destroyed")
        click(page, "button", "Delete", exact=True)
    with step(page, "last live view"):
        ended(page)
        expect(page.locator("#log")).to_contain_text("The shop is closed")
        click(page, "link", "To the environments")
        expect(page.get_by_role("heading", name="No environments yet")).to_be_visible()
