"""Files of any size in forms: the field, and what is wrong with one."""

from __future__ import annotations

from typing import Any

from tests.forms.world import describer, package
from vetro.diagnostics import Text
from vetro.forms.fields import field_of
from vetro.forms.model import FILE
from vetro.forms.objects import Objects
from vetro.forms.sessions import MethodFormSession
from vetro.model.files import STORED_CLASS, stored_object

SAFE = """
Namespaces: {=: f, v: io.vetro.std}
Name: Safe
Methods:
  keep:
    Scope: Public
    Arguments:
      - one: {Contract: $.class(v:StoredFile).notNull()}
      - many: {Contract: [$.class(v:StoredFile)]}
      - there: {Contract: $.class(v:StoredFile).notOwned()}
      - safe: {Contract: $.class(Safe)}
"""
#: A file that has more than files have.
LOCKED = """
Namespaces: {=: f, v: io.vetro.std, forms: io.murano.metadata.forms}
Name: Locked
Extends: v:StoredFile
Properties:
  word: {Contract: $.string(), Meta: {forms:Secret: {}}}
"""
DESCRIBER = describer(package({"f.Safe": SAFE, "f.Locked": LOCKED}, name="f", require={"io.vetro.std": "1"}))


def form_session() -> MethodFormSession:
    """The form of an action; files whose name begins with `x` are refused."""
    schema = DESCRIBER.catalog.schemas("f.Safe", ["keep"])["keep"]  # type: ignore[attr-defined]

    def lacks(given: Any) -> Text | None:
        return Text("not {name}", name=given["filename"]) if given["filename"].startswith("x") else None

    return MethodFormSession(DESCRIBER, schema, Objects({}, DESCRIBER), new_id=lambda: "n", lacks=lacks)


def test_a_file_has_a_field_of_its_own() -> None:
    session = form_session()
    fields = {field.name: field for field in session.form(session.begin()).pages[0].fields()}
    assert (fields["one"].kind, fields["one"].widget, fields["one"].required) == ("reference", FILE, True)
    many = fields["many"].items
    assert many is not None and many.widget == FILE
    # One that exists already is chosen, not given.
    assert fields["there"].widget == fields["safe"].widget == ""
    assert field_of("a", {"anyOf": [{"type": "object"}], "muranoType": f"{STORED_CLASS}s"}).widget == ""


def test_what_is_wrong_with_a_file_is_told_at_its_field() -> None:
    session = form_session()
    good, bad = (stored_object(name, "0" * 32, 3, "1" * 64) for name in ("a", "x"))
    missing = session.validate(session.begin(), {})
    assert [(problem.place, problem.message) for problem in missing] == [("/one", "Choose a file.")]
    found = session.validate(session.begin(), {"one": bad, "many": [good, bad]})
    assert [(problem.place, problem.code, problem.message) for problem in found] == [
        ("/one", "file", "not x"),
        ("/many/1", "file", "not x"),
    ]
    turn = session.submit(session.begin(), {"one": good})
    assert turn.outcome == "ready"
    made = session.result(turn.work)["one"]
    # What its class says anyway is left out.
    assert {"mimeType": good["mimeType"], **made, "?": good["?"]} == good and made["?"]["type"] == STORED_CLASS


def test_a_form_shows_no_secret_of_a_file_of_another_class() -> None:
    session = form_session()
    locked = {**stored_object("a", "0" * 32, 3, "1" * 64), "?": {"type": "f.Locked", "id": "x"}, "word": "Tulip"}
    turn = session.submit(session.begin(), {"one": locked})
    assert turn.outcome == "ready"
    fields = {field.name: field for field in session.form(turn.work).pages[0].fields()}
    shown = fields["one"].value
    assert (shown["filename"], shown["word"], fields["one"].sections) == ("a", {"secret": "kept", "at": "/word"}, ())
    assert session.result(turn.work)["one"]["word"] == "Tulip"
