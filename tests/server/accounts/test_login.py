"""Signing in with a password, and being stopped from guessing one."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, identify_hasher, make_password
from django.db import connection
from django.test import Client

from vetro.server import setup
from vetro.server.accounts import login, service, throttle
from vetro.server.accounts.models import LoginFailure
from vetro.server.audit.models import AuditRecord
from vetro.server.caller import SYSTEM
from vetro.server.errors import NotSignedIn, TooMany
from vetro.server.requests.host_names import network_of

pytestmark = [pytest.mark.database, pytest.mark.django_db]
Later = Change = Callable[..., None]


@pytest.fixture
def carl() -> Any:
    return service.create_user(SYSTEM, "carl", password="correct horse")


@pytest.fixture
def settings_of(monkeypatch: pytest.MonkeyPatch) -> Later:
    """Changes settings."""
    return lambda **changed: monkeypatch.setattr(setup, "_current", setup.config().changed(changed))


@pytest.fixture(autouse=True)
def three_attempts(settings_of: Change) -> None:
    settings_of(**{"accounts.login_attempts": 3})


def test_the_right_password_signs_in(carl: Any) -> None:
    assert service.sign_in("carl", "correct horse", "10.0.0.1") == carl
    assert LoginFailure.objects.count() == 0


@pytest.mark.parametrize(("name", "password"), [("carl", "wrong horse"), ("nobody", "correct horse"), ("carl", "")])
def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(carl: Any, name: str, password: str) -> None:
    with pytest.raises(NotSignedIn, match="The name or the password is wrong"):
        service.sign_in(name, password)


def test_locked_accounts_and_those_without_password_do_not_sign_in(carl: Any) -> None:
    service.set_active(SYSTEM, carl, False)
    with pytest.raises(NotSignedIn):
        service.sign_in("carl", "correct horse")
    service.create_user(SYSTEM, "dora")
    for password in ("", "!", "None"):
        with pytest.raises(NotSignedIn):
            service.sign_in("dora", password, f"10.0.0.{len(password)}")


def wrong(number: int, name: str = "carl", address: str = "10.0.0.1") -> None:
    for _ in range(number):
        with pytest.raises(NotSignedIn):
            service.sign_in(name, "wrong horse", address)


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    """``later(seconds=3)``: so much time passes, and else none."""
    moment = [datetime.now(UTC)]
    monkeypatch.setattr(throttle, "now", lambda: moment[0])

    def passes(**time: float) -> None:
        moment[0] += timedelta(**time)

    return passes


@pytest.mark.attack("accounts", "M5")
def test_wrong_passwords_of_others_do_not_stop_the_right_one(carl: Any) -> None:
    for number in range(40):
        wrong(3, address=f"10.0.1.{number}")
    assert service.sign_in("carl", "correct horse", "10.0.0.2") == carl


@pytest.mark.attack("accounts", "M5")
def test_each_wrong_password_makes_the_next_wait_longer(carl: Any, later: Later) -> None:
    wrong(3)
    waits = []
    for _ in range(12):
        with pytest.raises(TooMany) as caught:
            service.sign_in("carl", "correct horse", "10.0.0.1")
        wait = caught.value.details["retry_after"]
        waits.append(wait)
        later(seconds=wait)
        wrong(1)
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    later(seconds=300)
    assert service.sign_in("carl", "correct horse", "10.0.0.1") == carl
    assert LoginFailure.objects.count() == 0


@pytest.mark.attack("accounts", "M5")
def test_who_comes_too_early_hears_when_to_come_from_api_and_page(carl: Any) -> None:
    wrong(3, address="127.0.0.1")
    body = {"name": "carl", "password": "correct horse"}
    for answer in (
        Client().post("/v2/auth/login", body, content_type="application/json"),
        Client().post("/app/login", body),
    ):
        assert (answer.status_code, answer["Retry-After"]) == (429, "1")


@pytest.mark.attack("accounts", "M5")
def test_who_is_stopped_does_not_make_it_longer_by_trying_on(carl: Any, later: Later) -> None:
    wrong(3)
    for _ in range(20):
        with pytest.raises(TooMany):
            service.sign_in("carl", "wrong horse", "10.0.0.1")
    assert LoginFailure.objects.count() == 3
    later(seconds=1)
    assert service.sign_in("carl", "correct horse", "10.0.0.1") == carl


@pytest.mark.attack("accounts", "M5")
def test_one_address_has_so_many_wrong_passwords_for_all_names(carl: Any, later: Later, settings_of: Change) -> None:
    settings_of(**{"accounts.address_attempts": 5})
    for number in range(5):
        wrong(1, f"guess{number}")
    with pytest.raises(TooMany) as caught:
        service.sign_in("carl", "correct horse", "10.0.0.1")
    assert 290 < caught.value.details["retry_after"] <= 301
    assert service.sign_in("carl", "correct horse", "10.0.0.2") == carl
    later(seconds=301)
    assert service.sign_in("carl", "correct horse", "10.0.0.1") == carl


@pytest.mark.attack("accounts", "A7")
@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("unix:" + "x" * 100, "unix:" + "x" * 59),
    ],
)
def test_what_counts_as_one_address(address: str, network: str) -> None:
    assert network_of(address) == network


@pytest.mark.attack("accounts", "A7")
def test_a_line_of_ipv6_has_no_more_attempts_than_one_of_ipv4(carl: Any) -> None:
    for number in range(3):
        wrong(1, address=f"2001:db8::{number:x}:1")
    with pytest.raises(TooMany):
        service.sign_in("carl", "wrong horse", "2001:db8::ffff")
    wrong(1, address="2001:db8:0:1::1")
    wrong(2, address="10.0.0.9")
    wrong(1, address="::ffff:10.0.0.9")
    with pytest.raises(TooMany):
        service.sign_in("carl", "wrong horse", "10.0.0.9")


@pytest.mark.attack("accounts", "M5")
def test_the_audit_says_once_who_guesses(carl: Any, later: Later, settings_of: Change) -> None:
    settings_of(**{"accounts.address_attempts": 7})
    wrong(2, address="10.0.0.1")
    for round in range(4):
        wrong(1, address="10.0.0.1")
        later(seconds=60)
        wrong(1, address=f"10.0.1.{round}")
    LoginFailure.objects.all().delete()
    for number in range(30):
        wrong(1, address=f"10.0.2.{number}")
    for number in range(7):
        wrong(1, f"guess{number}", "10.0.3.1")
    found = list(
        AuditRecord.objects.filter(action__startswith="login.").values_list("action", "target_name", "address")
    )
    assert sorted(found) == [
        ("login.attacked", "carl", ""),
        ("login.refused", "", "10.0.3.1"),
        ("login.slowed", "carl", "10.0.0.1"),
    ]
    details = AuditRecord.objects.get(action="login.attacked").details
    assert details == {"attempts": 30, "addresses": 30}


def test_old_failures_are_forgotten(carl: Any, later: Later) -> None:
    wrong(3)
    later(hours=1, seconds=1)
    assert service.sign_in("carl", "correct horse", "10.0.0.1") == carl
    assert LoginFailure.objects.count() == 0


@pytest.mark.attack("accounts", "clocks")
def test_a_clock_that_was_set_back_stops_nobody(carl: Any, later: Later) -> None:
    wrong(3)
    later(days=-30)
    assert service.sign_in("carl", "correct horse", "10.0.0.1") == carl
    wrong(3)
    later(seconds=-20)
    with pytest.raises(TooMany) as caught:
        service.sign_in("carl", "correct horse", "10.0.0.1")
    assert caught.value.details["retry_after"] <= 2


@pytest.mark.attack("accounts", "M5")
def test_few_passwords_are_compared_at_once(carl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes 100 MiB: whoever sends many at once does not fill the memory, and holds no threads."""
    inside: list[Any] = []

    def sign_in_within(address: str) -> str:
        try:
            with login._place(network_of(address)):
                inside.append(address)
                return sign_in_within(f"10.0.0.{len(inside) // 4}")
        except TooMany as error:
            return str(error.details["retry_after"])

    assert sign_in_within("10.0.0.0") == "1"
    assert inside == ["10.0.0.0"] * 4 + ["10.0.0.1"] * 2
    assert service.sign_in("carl", "correct horse", "10.0.0.0") == carl
    with login._place("10.0.0.0"), login._place("10.0.0.0"), login._place("10.0.0.0"), login._place("10.0.0.0"):
        with pytest.raises(TooMany):
            service.sign_in("carl", "correct horse", "10.0.0.0")
        assert service.sign_in("carl", "correct horse", "10.0.0.2") == carl


@pytest.mark.skipif("postgresql" not in os.environ.get("VETRO_DATABASE__URL", ""), reason="SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_many_at_once_are_no_way_around_the_limit() -> None:
    def attempt(number: int) -> bool:
        try:
            throttle.count("carl", "10.0.0.1")
            return True
        except TooMany:
            return False
        finally:
            connection.close()

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(attempt, range(12))) == 3


def test_an_unknown_name_costs_a_hash_too(carl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = []
    real = login.check_password
    monkeypatch.setattr(login, "check_password", lambda *a: checked.append(a[1]) or real(*a))
    for name in ("carl", "nobody"):
        with pytest.raises(NotSignedIn):
            service.sign_in(name, "wrong horse")
    assert len(checked) == 2
    assert identify_hasher(checked[0]).algorithm == identify_hasher(checked[1]).algorithm


def test_passwords_are_hashed_with_argon2_where_it_counts() -> None:
    from vetro.server import settings

    assert settings.PASSWORD_HASHERS == ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    hasher = Argon2PasswordHasher()
    assert hasher.encode("correct horse", hasher.salt()).startswith("argon2$argon2id$")
    assert make_password("correct horse") != make_password("correct horse")
