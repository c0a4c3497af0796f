from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.forms.dynamic.making import Session, definition
from vetro.forms.dynamic.types.passwords import _STRENGTH, is_strong

WEAK = "The password must contain at least one letter, one number and one special character"


@given(st.text("aZ1!_~ß٣ ", max_size=8))
def test_strength_is_what_the_pattern_says(text: str) -> None:
    assert is_strong(text) == (re.search(_STRENGTH, text) is not None)


def test_optional_and_empty() -> None:
    session = Session(definition("name: pw, type: password, required: false"))
    assert session.send().cleaned == {"pw": "", "pw-clone": ""}


def test_missing_confirmation() -> None:
    outcome = Session(definition("name: pw, type: password")).send(pw="Passw0rd!")
    assert outcome.errors == {"pw-clone": ["Please confirm your password"]}


def test_own_message_for_weak_ones() -> None:
    session = Session(definition("name: pw, type: password, confirmInput: false, errorMessages: {invalid: weak}"))
    assert session.send(pw="password").errors == {"pw": ["weak"]}


def test_first_mismatch_wins() -> None:
    session = Session(definition("name: a, type: password, label: A", "name: b, type: password, label: B"))
    outcome = session.send(**{"a": "Passw0rd!", "a-clone": "Passw0rd!", "b": "Passw0rd!", "b-clone": "Passw0rd?"})
    assert outcome.form_errors == ["Bs don't match"]


def test_secrets_stay_on_the_server() -> None:
    session = Session(definition("name: pw, type: password", "name: n, type: integer"))
    sent = {"pw": "Passw0rd!", "pw-clone": "Passw0rd!"}
    assert session.send(n="x", **sent).kind == "invalid"
    assert "Passw0rd!" not in str(session.wizard.form(session.state).as_json())
    field = session.field("pw")
    assert field.secret and field.answered and field.value == {"secret": "kept"}
    kept = {"pw": field.value, "pw-clone": field.value}
    outcome = session.send(n="1", **kept)
    assert outcome.kind == "next" and outcome.cleaned["pw"] == "Passw0rd!"
    assert session.send(0, n="2", **kept).cleaned["pw-clone"] == "Passw0rd!"
    assert session.model()["?"]["name"] == "app"


def test_nothing_to_keep() -> None:
    session = Session(definition("name: pw, type: password"))
    kept = {"secret": "kept"}
    assert session.send(**{"pw": kept, "pw-clone": kept}).errors["pw"] == ["This field is required."]


def test_secret_of_the_definition() -> None:
    session = Session(
        definition("name: pw, type: password, hidden: true, initial: Passw0rd!", application="v: $.main.pw")
    )
    field = session.field("pw")
    assert (field.visible, field.initial, field.value) == (False, None, {"secret": "kept"})
    assert session.field("pw", reveal=True).initial == "Passw0rd!"
    assert session.field("pw").initial is None  # what was revealed once is not kept
    assert session.send(pw=field.value).kind == "next"
    assert session.model()["v"] == "Passw0rd!"
