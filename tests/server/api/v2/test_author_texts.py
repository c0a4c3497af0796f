"""What packages translate, over /v2: in the language that a request asks for, and nothing of it over /v1."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.server.forms.conftest import MANIFEST
from tests.server.forms.conftest import archive as shop_archive

GERMAN = """\
Corner shop: Eckladen
For tests of forms: Zum Testen von Formularen
Name: Wie er heißt
too long for a sign: zu lang für ein Schild
Small one: Ein kleiner
small: klein
"""
DE = {"accept-language": "de"}


@pytest.fixture(autouse=True, scope="module")
def _forms_ended() -> Iterator[None]:
    yield
    from vetro.server.forms import process_cache

    process_cache.close()


@pytest.fixture
def shop(ann: Any) -> Callable[..., str]:
    from vetro.server.catalog.imports import import_packages

    def made(**changes: str) -> str:
        (row,) = import_packages(ann.caller, [shop_archive(german=GERMAN, **changes)]).packages
        return str(row.id)

    return made


def fields(form: Any) -> dict[str, Any]:
    page = form["form"]["pages"][form["page"]]
    return {field["name"]: field for section in page.get("sections", ()) for field in section["fields"]}


def test_a_package_is_told_in_the_language_of_the_request(ann: Any, shop: Callable[..., str]) -> None:
    id = shop()
    german, english = ann.get(f"/v2/packages/{id}", headers=DE).json(), ann.get(f"/v2/packages/{id}").json()
    assert (german["name"], german["description"]) == ("Eckladen", "Zum Testen von Formularen")
    assert (english["name"], english["description"]) == ("Corner shop", "For tests of forms")
    old = ann.get(f"/v1/catalog/packages/{id}", headers=DE).json()
    assert (old["name"], old["description"]) == ("Corner shop", "For tests of forms")


@pytest.mark.parametrize("source", ["definition", "class"])
def test_a_form_has_german_texts_and_the_same_names_and_values(
    ann: Any, shop: Callable[..., str], environment: str, source: str
) -> None:
    id = shop() if source == "definition" else shop(manifest=MANIFEST.replace("UI: ui.yaml\n", ""))
    begun = {"environment_id": environment, "package": id}
    english, german = (ann.post("/v2/forms", begun, headers=h).json() for h in ({}, DE))
    assert (english["title"], german["title"]) == ("Corner shop", "Eckladen")
    assert list(fields(english)) == list(fields(german))
    assert (fields(english)["name"]["label"], fields(german)["name"]["label"]) == ("Name", "Wie er heißt")
    labels = [(c["value"], c["label"]) for c in fields(german)["size"]["choices"]]
    assert labels[0] == ("small", "Ein kleiner" if source == "definition" else "klein")
    assert "texts" not in json.dumps(german) and "translations" not in json.dumps(german)
    if source == "class":
        wrong = {"answers": {"name": "A shop with a very long name"}}
        found = ann.post(f"/v2/forms/{german['id']}/validate", wrong, headers=DE).json()["problems"]
        assert [p["message"] for p in found] == ["zu lang für ein Schild"]
        assert (
            found[0]["message"]
            != ann.post(f"/v2/forms/{german['id']}/validate", wrong).json()["problems"][0]["message"]
        )
