"""The pages speak English and German: no text is forgotten, none lost its values, what is compiled is what is said."""

from __future__ import annotations

import gettext
import io
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.server.web.wording import entry, missing, texts, translated
from vetro.server.language import binary, compiled, read

_VALUE = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}|<[^>]*>")


def test_every_text_has_a_german_translation() -> None:
    found = missing()
    print("\n".join(entry(message, place) for message, place in found.items()))
    assert not list(found), "these texts lack a translation: python -m tests.server.web.wording prints entries for them"


def test_no_translation_is_left_of_a_text_that_is_gone() -> None:
    assert not sorted(set(translated()) - set(texts()))


def test_translations_have_the_values_of_their_texts() -> None:
    wrong = []
    for message, text in translated().items():
        for said, meant in zip(message.split("\0"), text.split("\0"), strict=True):
            if Counter(_VALUE.findall(said)) != Counter(_VALUE.findall(meant)):
                wrong.append((said, meant))
            if said[:1].isspace() != meant[:1].isspace() or said.endswith("…") != meant.endswith("…"):
                wrong.append((said, meant))
    assert not wrong


def test_the_search_for_texts_sees_all_ways_to_write_them() -> None:
    from tests.server.web.wording import _of_source, _of_template

    template = """{% load i18n %}<p class="it's">{% translate "One" %} {% translate 'It is "two"' %}
    {{ x|f:_("three") }} {% blocktranslate with n=x.y %}Four {{ n }} %{% endblocktranslate %}
    {% translate "May" context "month" %}
    {% blocktranslate count n=k %}{{ n }} five{% plural %}{{ n }} fives{% endblocktranslate %}{# _("no") #}</p>"""
    assert set(_of_template(template)) == {
        "One", 'It is "two"', "three", "Four %(n)s %%", "month\4May", "%(n)s five\0%(n)s fives"
    }  # fmt: skip
    source = 'a = _("x") % gettext("y"), ngettext("%d z", "%d zs", n), _(name), other("no")'
    assert set(_of_source(source)) == {"x", "y", "%d z\0%d zs"}


def test_what_is_compiled_is_what_gettext_reads() -> None:
    text = """
    # Says something.
    msgid ""
    msgstr "Content-Type: text/plain; charset=UTF-8\\n"
    "Plural-Forms: nplurals=2; plural=(n != 1);\\n"

    #: where.html
    msgid "a \\"quoted\\" line\\n"
    "and another"
    msgstr "eine „Zeile“"

    msgctxt "month"
    msgid "May"
    msgstr "Mai"

    msgid "%d day"
    msgid_plural "%d days"
    msgstr[0] "%d Tag"
    msgstr[1] "%d Tage"

    msgid "later"
    msgstr ""
    """
    found = gettext.GNUTranslations(io.BytesIO(binary(read(text))))
    assert found.gettext('a "quoted" line\nand another') == "eine „Zeile“"
    assert found.pgettext("month", "May") == "Mai"
    assert [found.ngettext("%d day", "%d days", n) for n in (1, 2)] == ["%d Tag", "%d Tage"]
    assert found.gettext("later") == "later"


def test_a_line_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match="line 2 is no line"):
        read('msgid "a"\nmsgstring "b"')


def test_compiled_texts_follow_the_source_and_a_folder_that_takes_nothing_is_no_end(tmp_path: Path) -> None:
    source, data = tmp_path / "source", tmp_path / "data"
    file = source / "xx" / "LC_MESSAGES" / "django.po"
    file.parent.mkdir(parents=True)
    file.write_text('msgid "a"\nmsgstr "b"\n')
    first = compiled(data, source)
    assert first is not None
    assert compiled(data, source) == first
    assert gettext.translation("django", first, ["xx"]).gettext("a") == "b"
    file.write_text('msgid "a"\nmsgstr "c"\n')
    second = compiled(data, source)
    assert second is not None
    assert gettext.translation("django", second, ["xx"]).gettext("a") == "c"
    assert [path.name for path in second.parent.iterdir()] == [second.name]
    (tmp_path / "file").touch()
    assert compiled(tmp_path / "file", source) is None


def test_pages_are_in_the_language_of_the_browser(ann: Any, browser: Callable[[Any], Client]) -> None:
    german = browser(ann).get("/app/environments/", headers={"accept-language": "de-CH,fr;q=0.5"}).content.decode()
    assert '<html lang="de"' in german
    assert "Noch keine Umgebungen" in german
    assert "No environments" not in german
    for other in ("en", "fr", "tlh", ""):
        english = browser(ann).get("/app/environments/", headers={"accept-language": other}).content.decode()
        assert '<html lang="en"' in english
        assert "No environments yet" in english
