"""Answers of scripts: read, taken by a form without asking, written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from tests.cli.formkit import class_form_session, definition_form_session
from vetro.cli.forms.answers import UnknownAnswer, filled, free_name, kept_answers, read_answers, write_answers
from vetro.cli.plaindata import DataError, load_data


def test_pairs_change_what_the_file_says(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("main: {name: shop, size: 5}\n", encoding="utf-8")
    given = read_answers(str(file), ["main.size=6", "more.text=yes", "more.net=[a, null]"], texts=True)
    assert given == {"main": {"name": "shop", "size": "6"}, "more": {"text": "yes", "net": ["a", None]}}
    assert read_answers(None, ["a.b=5", "c=yes"], texts=False) == {"a": {"b": 5}, "c": True}


@pytest.mark.parametrize("pair", ["name", "=x", "a..b=1"])
def test_malformed_pairs(pair: str) -> None:
    with pytest.raises(click.BadParameter, match="NAME=VALUE"):
        read_answers(None, [pair], texts=True)


def test_a_file_without_answers(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("- 1\n", encoding="utf-8")
    with pytest.raises(DataError, match="holds no answers"):
        read_answers(str(tmp_path / "a.yaml"), [], texts=True)


def test_what_is_not_given_is_as_the_form_suggests() -> None:
    form_session = definition_form_session()
    turn, _ = filled(form_session, form_session.begin(), {"main": {"name": "shop"}})
    made = form_session.result(turn.work)
    assert (made["name"], made["size"], made["text"]) == ("shop", 3, "first")


@pytest.mark.parametrize(
    ("given", "path", "message"),
    [
        ({}, "/name", "This field is required."),
        ({"main": {"name": "a", "size": 99}}, "/size", "Ensure this value is less than or equal to 9."),
        ({"main": {"name": "a", "size": {"no": 1}}}, "/size", "Enter a whole number."),
        ({"main": {"name": "a"}, "more": {"colour": "x"}}, "/colour", "Select a valid choice."),
    ],
)
def test_what_does_not_fit_stands_at_its_field(given: dict[str, Any], path: str, message: str) -> None:
    form_session = definition_form_session()
    turn, form = filled(form_session, form_session.begin(), given)
    assert turn.outcome == "invalid"
    (problem,) = turn.problems
    assert problem.place == path
    assert problem.message.startswith(message)
    assert form.pages[form_session.page(turn.work)].name == ("more" if path == "/colour" else "main")


def test_objects_in_the_answers_of_a_class() -> None:
    form_session = class_form_session("t.Shop")
    host = {"?": {"type": "t.BigHost"}, "name": "inner", "disks": [{"size": 1}]}
    turn, _ = filled(
        form_session, form_session.begin(), {"?": {"type": "t.Other"}, "name": "Books", "host": host, "pair": ["a", 1]}
    )
    assert turn.outcome == "ready", turn.problems
    made = form_session.result(turn.work)
    assert made["?"]["type"] == "t.Shop/1.2.0@t"
    assert made["host"]["disks"] == [{"size": 1}] and made["host"]["?"]["id"]


def test_unknown_properties_of_a_class() -> None:
    form_session = class_form_session("t.Shop")
    with pytest.raises(UnknownAnswer) as caught:
        filled(form_session, form_session.begin(), {"nmae": "x"})
    assert caught.value.hint == "did you mean 'name'?"


@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_what_is_written_can_be_read(tmp_path: Path, name: str) -> None:
    form_session = definition_form_session()
    turn, _ = filled(form_session, form_session.begin(), {"main": {"name": "shop", "size": 99}})
    kept = kept_answers(form_session, turn.work, {})
    file = tmp_path / name
    write_answers(str(file), kept)
    assert load_data(str(file)) == kept
    assert kept["main"]["size"] == 99
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_new_file_replaces_none(here: Path) -> None:
    assert free_name("My shop!") == "my-shop.answers.yaml"
    (here / "my-shop.answers.yaml").touch()
    assert free_name("My shop!") == "my-shop.answers-2.yaml"
