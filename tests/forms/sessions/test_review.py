"""What is read once more before a form counts: which answers are somebody's own."""

from __future__ import annotations

from vetro.forms.model import Choice, Field, Form, Page, Picker, Section
from vetro.forms.sessions.review import review


def test_another_object_is_told_also_where_the_form_suggested_it() -> None:
    picker = Picker("t.Db", existing=[Choice("d", "Orders")])
    fields = [
        Field("db", "reference", "Database", initial="d", value="d", answered=True, picker=picker),
        Field("size", "text", "Size", initial="small", value="small", answered=True),
        Field("name", "text", "Name", initial="shop", value="Corner", answered=True),
    ]
    (page,) = review(Form("Shop", "class", [Page("shop", "Shop", [Section(fields=fields)])]))
    assert page.rows == [("Database", "Orders", "/db"), ("Size", "small", "/size"), ("Name", "Corner", "/name")]
    assert page.own == {"/db", "/name"}
