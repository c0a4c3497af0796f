"""base64, random names, secrets, sleep, settings."""

from __future__ import annotations

import re

import pytest

from tests.support.host import Host
from vetro.muranopl.errors import InvalidOperation
from vetro.muranopl.functions import murano_table
from vetro.yaql.errors import NoFunctionRegistered


def test_base64_round_trip() -> None:
    assert Host().evaluate("base64encode('grün')") == "Z3LDvG4="
    assert Host().evaluate("[base64decode('Z3LDvG4='), 'YQ=='.base64decode(), a.base64encode()]") == [
        "grün",
        "a",
        "YQ==",
    ]


@pytest.mark.parametrize("text", ["a", "/w=="])
def test_what_is_no_base64_of_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no Base64 of UTF-8 text"):
        Host().evaluate(f"base64decode('{text}')")


def test_random_names_depend_on_the_seed_only() -> None:
    one, two = Host(seed=1).evaluate("[randomName(), randomName()]")
    assert one != two
    assert all(re.fullmatch(r"[a-z][a-z0-9]{13}", name) for name in (one, two))
    assert Host(seed=1).evaluate("[randomName(), randomName()]") == [one, two]
    assert Host(seed=2).evaluate("randomName()") != one


def test_secrets() -> None:
    assert Host(secrets=lambda reference: f"secret of {reference}").evaluate("decryptData(abc)") == "secret of abc"
    with pytest.raises(InvalidOperation, match="no secret store is configured"):
        Host().evaluate("decryptData(abc)")


def test_sleeping_moves_the_task_clock() -> None:
    host = Host()
    before = host.clock.now()
    host.run("- sleep(1.5)\n- sleep(2)")
    assert host.clock.now() - before == pytest.approx(3.5)


def test_settings_are_for_the_core_library() -> None:
    with pytest.raises(NoFunctionRegistered):
        Host().evaluate("config(home_region)")
    assert murano_table("1.4", core=True).has("config", "F")
    assert not murano_table("1.4").has("config", "F")


@pytest.mark.parametrize(("format", "same"), [("1.0", "1.1"), ("1.2", "1.3")])
def test_formats_share_tables_in_pairs(format: str, same: str) -> None:
    assert set(murano_table(format).functions) == set(murano_table(same).functions)


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'2\.0'"):
        murano_table("2.0")
