"""Files as arguments of actions, in the browser: the field, what it posts, and what is said of made-up ones."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.server.forms.conftest import MANIFEST
from tests.server.web.pagekit import Page, opened
from tests.server.web.test_wizard_generated import plain
from vetro.model.files import stored_object
from vetro.server.config.file_folders import most_of
from vetro.server.environments import deploy as deploying
from vetro.server.environments import service
from vetro.server.forms import form_session
from vetro.server.servers import files
from vetro.server.setup import config
from vetro.server.tasks.models import Task

Browser = Callable[[Any], Client]
NEEDS = MANIFEST.replace("UI: ui.yaml\n", "").replace("  io.murano: '>=0'\n", "  io.murano: '>=0'\n  io.vetro.std: 1\n")
SAFE = """\
Name: Shop
Namespaces: {=: test, std: io.murano, v: io.vetro.std}
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull()}
  spare: {Contract: $.class(v:StoredFile)}
Methods:
  deploy: {Body: []}
  keep:
    Scope: Public
    Arguments:
      - file: {Contract: $.class(v:StoredFile).notNull()}
      - more: {Contract: [$.class(v:StoredFile).notNull()]}
    Body:
      Return: {filename: $file.filename, size: $file.size, sha256: $file.sha256, more: $more.select($.filename)}
  look:
    Usage: Static
    Scope: Public
    Arguments:
      - file: {Contract: $.class(v:StoredFile).notNull()}
    Body:
      Return: $file.filename
"""
CONTENT = b"content of a file"


@pytest.fixture
def package(ann: Any, publish: Callable[..., Any]) -> Any:
    """The package of the application."""
    return publish(ann, manifest=NEEDS, shop=SAFE)


@pytest.fixture
def deployed(ann: Any, package: Any, drain: Callable[[], int]) -> tuple[str, str]:
    """An environment, and the address of the form of the action `keep` of what is deployed in it."""
    environment = str(service.create(ann.caller, {"name": "street"})["id"])
    begun = form_session.begin(ann.caller, environment_id=environment, package=package.id, source="class")
    form_session.submit(ann.caller, begun.id, {"name": "Corner"})
    made = form_session.finish(ann.caller, begun.id)
    assert made.session_id is not None
    deploying.deploy(ann.caller, environment, made.session_id)
    assert drain() == 1
    return environment, f"/app/environments/{environment}/actions/{made.object_id}_keep"


def given(person: Any, environment: str, content: bytes = CONTENT, name: str = "a <b>.bin") -> dict[str, Any]:
    """A file that is at the service, as the script of the page names it."""
    file = files.begin(person.caller, environment)
    files.add_part(person.caller, environment, file, 0, io.BytesIO(content), len(content))
    return stored_object(name, file, len(content), hashlib.sha256(content).hexdigest())


def test_an_action_gets_the_file_that_somebody_gave(
    browser: Browser, ann: Any, deployed: tuple[str, str], drain: Callable[[], int]
) -> None:
    environment, address = deployed
    page = opened(browser(ann), address)
    assert f'type="file" id="f-file-i" data-v-upload="/v2/environments/{environment}/files"' in page.text
    assert (
        f'data-most="{most_of(config())}"' in page.text
        and "needs JavaScript" in page.text
        and '"r!.file"' not in page.text
    )
    page = page.send(do='{"do": "add", "at": "more", "blank": null}')
    # What was given stays where something else is wrong.
    bad = page.send(file=json.dumps(given(ann, environment)))
    assert bad.url.startswith("/app/forms/") and 'href="#f-more-0"' in bad.text
    assert "Given: a &lt;b&gt;.bin, 17\xa0bytes" in bad.text
    other = given(ann, environment, b"other", "b")
    running = bad.send(more__0=json.dumps(other))
    assert running.url.startswith("/app/results/"), plain(running.text)
    assert drain() == 1
    task = Task.objects.filter(kind="action").get()
    assert (task.state, task.result) == (
        "done",
        {
            "filename": "a <b>.bin",
            "size": len(CONTENT),
            "sha256": hashlib.sha256(CONTENT).hexdigest(),
            "more": ["b"],
        },
    )


def wrong_at_the_field(page: Page) -> str:
    """What is said at the field of the file."""
    assert page.url.startswith("/app/forms/") and 'class="field wrong' in page.text and 'href="#f-file"' in page.text
    return page.text.partition('id="f-file-error">')[2].partition("</p>")[0]


@pytest.mark.attack("routes", "a form that names a file which is not there, not whole, or another project's")
def test_what_the_form_names_is_not_believed(browser: Browser, ann: Any, eve: Any, deployed: tuple[str, str]) -> None:
    environment, address = deployed
    page = opened(browser(ann), address)
    own = given(ann, environment)
    second = str(service.create(ann.caller, {"name": "second"})["id"])
    theirs = str(service.create(eve.caller, {"name": "theirs"})["id"])
    gone = "The file is not here any more, or never was. Give it again."
    none = "This is no file that was given here. Give it again."
    for hostile, said in (
        ("", "Choose a file."),
        ({**own, "file": "0" * 32}, gone),
        (given(ann, second), gone),
        (given(eve, theirs), gone),
        ({**own, "size": 5}, "Of this file 17 bytes are here, not 5. Give it again."),
        ({**own, "size": "17"}, none),
        ({**own, "file": f"../{second}/{own['file']}"}, none),
        ({**own, "file": own["file"] + "\n"}, none),
        ({"?": own["?"]}, none),
        ({name: value for name, value in own.items() if name != "?"} | {"file": "1" * 32}, gone),
        ({**own, "sha256": "x"}, "This does not have the form that is wanted."),
        ({**own, "?": {"type": "io.vetro.std.Backup"}}, "no io.vetro.std.StoredFile"),
        ({**own, "?": {"type": "io.murano.File"}}, "no io.vetro.std.StoredFile"),
    ):
        shown = page.send(file=json.dumps(hostile) if hostile else "")
        assert said in wrong_at_the_field(shown), hostile
    for hostile in ("{broken", "[]", "7", '"a"', '{"?": 7}', '{"?": {"type": [1]}}', "[" * 500):
        assert wrong_at_the_field(page.send(file=hostile)), hostile
    assert not Task.objects.filter(kind="action").exists()


def test_elsewhere_it_says_when_files_are_given(browser: Browser, ann: Any, package: Any) -> None:
    environment = str(service.create(ann.caller, {"name": "street"})["id"])
    client = browser(ann)
    page = opened(client, "/app/catalog/test.Shop/actions/test.Shop/look")
    for shown in (page, opened(client, f"/app/environments/{environment}/add/{package.id}")):
        assert "A file is given when an action of an application in an environment is run" in shown.text
        assert 'type="file"' not in shown.text
    said = wrong_at_the_field(page.send(file=json.dumps(given(ann, environment))))
    assert said == "Files are given to actions of applications in an environment, and this is none."
