"""Tests in a real browser, of a real service: `service` runs, ``page_for("ann")`` is a page where Ann is signed in.

Whatever the browser complains about fails the test, at its end.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from tests.browser.kit import WIDE, Complaints
from tests.browser.kit_filled import fill
from tests.server.servekit import Service
from tests.support.fuzzing import EVERYTHING
from tests.support.needs import need

#: Cut off from the network, and slow machines: waiting costs nothing where all is well.
_PATIENCE = 60_000
#: What recorded servers answer, so that actions have something to show.
ANSWERS = Path(__file__).with_name("answers.yaml")


def chromium_path() -> str | None:
    """The browser's program; None where there is none.

    The shell is the same browser without windows, and takes half of the processor time; `script/test --all` takes what
    people have.
    """
    shell = () if EVERYTHING else ("chromium-headless-shell",)
    return next(filter(None, map(shutil.which, (*shell, "chromium", "chromium-browser", "google-chrome"))), None)


class Running:
    """A service and how people sign in to it."""

    def __init__(self, service: Service, url: str, people: dict[str, dict[str, str]]) -> None:
        self.service = service
        #: Where it answers, without a slash at the end.
        self.url = url
        self._people = people

    def id(self, person: str) -> str:
        """Id of an account."""
        return self._people[person]["id"]

    def project(self, person: str) -> str:
        """Id of a person's project."""
        return self._people[person]["project"]

    def session(self, person: str) -> str:
        """Key of a web session."""
        return self._people[person]["session"]

    def token(self, person: str) -> str:
        """A token."""
        return self._people[person]["token"]

    def api(self, person: str, method: str, path: str, given: Any = None, raw: bytes | None = None) -> Any:
        """An answer of the API as data; ``given`` is sent as JSON, ``raw`` as the archive of a package's form."""
        headers = {"X-Auth-Token": self.token(person), "Content-Type": "application/json"}
        body = None if given is None else json.dumps(given).encode()
        if raw is not None:
            body, headers["Content-Type"] = encode_multipart(BOUNDARY, {"archive": BytesIO(raw)}), MULTIPART_CONTENT
        status, answer = self.service.send(method, path, body, headers)
        assert status < 300, (method, path, status, answer)
        return json.loads(answer) if answer else None


@contextmanager
def running(folder: Path, **settings: str) -> Iterator[Running]:
    """`vetro serve` of its own with people (kit_people.py)."""
    started = Service(folder, VETRO_WORKER__TASKS="2", **settings)
    try:
        url = started.await_ready(180)["url"]  # waiting costs nothing where all is well
        made = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("kit_people.py"))],
            env=started.environment,
            stdout=subprocess.PIPE,
            check=True,
            timeout=60,
        )
        yield Running(started, url, json.loads(made.stdout))
    finally:
        started.end()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with the recorder as its cloud, for all tests of a process: each finds what those before it left.

    So a test that imports a package gives it a name of its own, and one that counts environments a project.
    """
    folder = tmp_path_factory.mktemp("pages")
    with running(folder, VETRO_CLOUD__DRIVER="record", VETRO_CLOUD__SCRIPT=str(ANSWERS)) as made:
        yield made


@pytest.fixture(scope="session")
def filled(service: Running) -> dict[str, str]:
    """The service with something of everything on it (kit_filled.py): ids by name."""
    return fill(service)


# Not for the whole session: while playwright runs, this thread has an event loop, which Django takes amiss elsewhere.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """The browser."""
    if chromium_path() is None:
        need("Chromium (Debian's package chromium)")
    from playwright import sync_api as api

    api.expect.set_options(timeout=_PATIENCE)
    with api.sync_playwright() as playwright:
        # Without a graphics processor a second process would draw everything once more, by software.
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


def new_context(chromium: Any, service: Running, person: str | None, **options: Any) -> Any:
    """A browser of its own for a person, who is signed in, or for nobody; ``options``: Playwright's."""
    given = {"viewport": {"width": WIDE[0], "height": WIDE[1]}, "locale": "en-GB", "timezone_id": "UTC", **options}
    context = chromium.new_context(base_url=service.url, **given)
    context.set_default_timeout(_PATIENCE)
    if person is not None:
        context.add_cookies(
            [{"name": "vetro_session", "value": service.session(person), "url": service.url, "httpOnly": True}]
        )
    return context


@pytest.fixture
def context_for(chromium: Any, service: Running) -> Iterator[Callable[..., Any]]:
    """``context_for("ann")``: a browser of her own, signed in; of nobody without a name; ``options``: Playwright's.

    ``missing``: pages that are not there are no complaint; ``cut``: nor is a network that the test cuts."""
    complaints, contexts = Complaints(), []

    def make(person: str | None = None, missing: bool = False, cut: bool = False, **options: Any) -> Any:
        context = new_context(chromium, service, person, **options)
        complaints.watch(context, missing, cut)
        contexts.append(context)
        return context

    yield make
    for context in contexts:
        context.close()
    assert not complaints.said


@pytest.fixture
def page_for(context_for: Callable[..., Any]) -> Callable[..., Any]:
    """``page_for("ann")``: a page in a browser of her own."""
    return lambda person=None, **options: context_for(person, **options).new_page()
