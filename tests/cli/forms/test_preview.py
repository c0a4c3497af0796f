"""Forms as text and as one HTML file."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from tests.cli.formkit import UI, class_form_session, definition_form_session
from vetro.cli.forms.html import html_page
from vetro.cli.forms.preview import text_lines, whole

NASTY = "<script>alert('x')</script>"


class _Read(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag or tag == "option"


def test_all_pages_of_a_definition_as_text() -> None:
    form_session = definition_form_session()
    lines = list(text_lines(whole(form_session, form_session.begin())))
    assert "== Step 1: main ==" in lines and "== Step 2: more ==" in lines
    assert "Name * (name: string)" in lines
    assert "Size * (size: integer) = 3" in lines
    assert "Secret (secret: secret, disabled)" in lines
    assert "Text for example * (text: string) = first" in lines
    assert "    - Red" in lines and "Colour * (colour: choice) = Green" in lines


def test_what_was_answered_shows_in_later_pages() -> None:
    form_session = definition_form_session()
    form = whole(form_session, form_session.begin(), {"main": {"name": "shop"}, "more": {"colour": "r"}})
    assert "Text for shop * (text: string) = first" in list(text_lines(form))
    assert "Colour * (colour: choice) = Red" in list(text_lines(form))


def test_a_page_that_cannot_be_shown_has_its_problem_and_the_others_are_there() -> None:
    form_session = definition_form_session(UI.replace("$.main.name)", "$.main.name.single())"))
    form = whole(form_session, form_session.begin())
    assert [bool(page.sections) for page in form.pages] == [True, False]
    assert form.pages[1].problems[0].code == "failed"
    assert any(line.startswith("! cannot be shown: ") for line in text_lines(form))


def test_one_file_without_script_in_which_authors_text_is_text() -> None:
    form_session = definition_form_session(UI.replace("What people see", NASTY).replace("Green]", f'"{NASTY}"]'))
    text = html_page(whole(form_session, form_session.begin()))
    found = _Read()
    found.feed(text)
    assert found.open == []
    names = [tag for tag, _ in found.tags]
    assert "script" not in names and "link" not in names and "img" not in names
    assert not any(name.startswith("on") or name in ("src", "href") for _, attrs in found.tags for name in attrs)
    assert text.count("&lt;script&gt;") >= 2
    inputs = {attrs["id"]: attrs for tag, attrs in found.tags if tag in ("input", "select", "textarea")}
    assert inputs["p0-size"] == {
        "type": "number",
        "id": "p0-size",
        "value": "3",
        "required": "",
        "step": "1",
        "min": "1",
        "max": "9",
    }
    assert inputs["p0-secret"]["type"] == "password"
    labels = [attrs["for"] for tag, attrs in found.tags if tag == "label" and "for" in attrs]
    assert set(labels) <= set(inputs)


def test_objects_in_objects_of_a_class(tmp_path: Path) -> None:
    form_session = class_form_session("t.Shop")
    work = form_session.evaluate(
        form_session.begin(), {"host": {"?": {"type": "t.Host"}, "password": "wonder", "name": "inner"}}
    )
    form = whole(form_session, work)
    text = "\n".join(text_lines(form))
    assert "-- The basics --" in text
    assert "    Name * (name: string) = inner" in text
    assert "Password (password: secret) = ••••••" in text
    page = html_page(form)
    assert "wonder" not in text + page
    assert 'id="p0-host-name" value="inner"' in page
