"""Problems at their fields, fields by their paths."""

from __future__ import annotations

from vetro.forms.model import Field, Form, Page, Section, flaw
from vetro.forms.placement import field_at, problems_in, with_problems

INNER = Field("a/b", "string", "A")
ITEM = Field("0", "string", "1")
HOST = Field("host", "reference", "Host", sections=(Section(fields=(INNER,)),))
LIST = Field("list", "list", "List", items=Field("", "string", ""), sections=(Section(fields=(ITEM,)),))
PAIR = Field("pair", "tuple", "Pair", leading=(Field("", "integer", "One"),), items=Field("", "string", "More"))
PAGE = Page("main", "Main", (Section(fields=(HOST, LIST, PAIR)),))


def test_problems_stand_at_the_innermost_field_or_on_the_page() -> None:
    problems = [
        flaw("/host/a~1b", "inner"), flaw("/host", "outer"), flaw("/list/0/x", "item"),
        flaw("/nowhere", "lost"), flaw("", "whole"), flaw("/hosts", "other"),
    ]  # fmt: skip
    form = with_problems(Form("f", "class", (PAGE,)), problems)
    assert [p.message for p in form.pages[0].problems] == ["lost", "whole", "other"]
    host, listed, _ = form.pages[0].fields()
    assert [p.message for p in host.problems] == ["outer"]
    assert [p.message for p in host.sections[0].fields[0].problems] == ["inner"]
    assert [p.message for p in listed.sections[0].fields[0].problems] == ["item"]
    assert [p.message for p in problems_in(form.pages[0])] == ["lost", "whole", "other", "outer", "inner", "item"]
    unchanged = Form("f", "class", (PAGE,))
    assert with_problems(unchanged, []) is unchanged


def test_fields_are_found_by_path() -> None:
    assert field_at(PAGE, "/host") is HOST and field_at(PAGE, "/host/a~1b") is INNER
    assert field_at(PAGE, "/list/0") is ITEM and field_at(PAGE, "/list/7") is LIST.items
    assert field_at(PAGE, "/pair/0") is PAIR.leading[0] and field_at(PAGE, "/pair/1") is PAIR.items
    assert field_at(PAGE, "/host/no") is None and field_at(PAGE, "/no") is None and field_at(PAGE, "") is None
