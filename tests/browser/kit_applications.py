"""Applications of the catalog in a browser: their packages, their forms and what somebody answers there, their end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import expect

from tests.browser.conftest import Running
from vetro.packages import load_path
from vetro.packages.bundle import applications

#: A deployment on a busy machine: waiting costs nothing where all is well.
LONG = 1_200_000
PASSWORD = "correct-horse-battery"


def publish(service: Running, *names: str, person: str = "root") -> dict[str, str]:
    """Somebody imports the newest versions of applications, one after the other; their ids by name."""
    made = {}
    for name in names:
        (package,) = load_path(applications()[name][-1])
        (row,) = service.api(person, "POST", "/v2/packages", raw=package.blob)["imported"]
        made[name] = str(row["id"])
    return made


class Form:
    """The form of an application, which is open."""

    def __init__(self, page: Any, near: str = "") -> None:
        self.page = page
        #: Address of what was deployed in the environment before: ``http://10.0.36.2/``.
        self.near = near
        #: Fields that were filled in or chosen.
        self.answers: list[str] = []

    def type(self, field: str, text: str) -> None:
        """Writes into a field; those of objects within are called ``database-name``."""
        self.page.locator(f"#f-{field}-i").fill(text)
        self.answers.append(field)

    def choose(self, field: str, label: str | re.Pattern[str]) -> None:
        """Takes the first choice that says so. One that makes an object opens its form."""
        box = self.page.locator(f"#f-{field}-i")
        option = box.locator("option", has_text=label).first
        expect(option).to_be_attached()
        box.select_option(option.get_attribute("value"))
        self.answers.append(field)


def wordpress(form: Form) -> None:
    """A site with a database and a balancer, three servers: these come with their names and sizes."""
    form.type("name", "blog")
    form.type("title", "Notes on engines")
    form.type("adminEmail", "ada@example.org")
    form.type("adminPassword", PASSWORD)


def postgresql(form: Form) -> None:
    form.type("name", "db")
    form.type("password", PASSWORD)


def redis(form: Form) -> None:
    form.type("name", "cache")
    form.type("password", PASSWORD)


def memcached(form: Form) -> None:
    form.type("name", "memory")
    form.type("password", PASSWORD)


def rabbitmq(form: Form) -> None:
    form.type("name", "queue")


def static_site(form: Form) -> None:
    form.type("name", "site")
    form.type("page", _SITE)


def monitoring(form: Form) -> None:
    """It watches a cache that is there."""
    form.type("name", "monitoring")
    form.type("password", PASSWORD)
    form.page.get_by_role("button", name="Add Applications").click()
    form.choose("targets-0", "cache")


def mariadb(form: Form) -> None:
    form.type("name", "database")


def haproxy(form: Form) -> None:
    """It stands in front of a site that is there."""
    form.type("name", "balancer")
    form.page.get_by_text("More settings").last.click()
    form.page.get_by_role("button", name="Add Targets").click()
    form.type("targets-0", f"{urlsplit(form.near).hostname}:80")


#: What somebody answers in the form of an application.
ANSWERS: Mapping[str, Callable[[Form], None]] = {
    "WordPress": wordpress,
    "MariaDB": mariadb,
    "HAProxy": haproxy,
    "PostgreSQL": postgresql,
    "Redis": redis,
    "Memcached": memcached,
    "Monitoring": monitoring,
    "RabbitMQ": rabbitmq,
    "StaticSite": static_site,
}
_SITE = """<!doctype html>
<html lang="en"><title>Corner shop</title>
<style>body { font: 20px/1.5 sans-serif; max-width: 34em; margin: 4em auto; padding: 0 1em; color: #223 }
h1 { color: #0b5f72 } li { margin: .4em 0 }</style>
<h1>Corner shop</h1>
<p>Open from seven to seven. This page is a field of a form; an archive or a git repository does as well.</p>
<ul><li>Bread from the bakery next door</li><li>Fruit of the season</li><li>Newspapers until noon</li></ul>
</html>
"""


def begin(page: Any, application: str) -> Form:
    """Opens the form of an application that gets an environment of its own."""
    page.goto(f"/app/catalog/io.vetro.catalog.{application}/")
    page.get_by_role("button", name="Deploy").first.click()
    page.get_by_role("button", name="Go on to the form").click()
    page.wait_for_url("**/app/forms/*/1")
    return Form(page)


def review(page: Any) -> None:
    """Goes on to the last look at the answers."""
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()


def await_end(page: Any) -> None:
    """Waits until the task of the page has ended well."""
    state = page.locator("#live .page-head [data-state=done], #live .page-head [data-state=failed]")
    expect(state).to_be_visible(timeout=LONG)
    expect(page.locator("#live .page-head [data-state=done]")).to_be_visible()


def remove(page: Any, environment: str) -> None:
    """Deletes an environment by its page and waits for the end."""
    page.goto(environment)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("link", name="Delete").click()
    expect(page.locator(".sheet")).to_contain_text("This is destroyed")
    page.get_by_role("button", name="Delete", exact=True).click()
    await_end(page)
