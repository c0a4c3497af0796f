"""Signing in with a password, and being stopped from guessing one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, identify_hasher, make_password
from django.db import connection

from vetro.server import setup
from vetro.server.accounts import login, service
from vetro.server.accounts.models import LoginFailure
from vetro.server.caller import SYSTEM
from vetro.server.errors import NotSignedIn, TooMany

pytestmark = pytest.mark.django_db


@pytest.fixture
def carl() -> Any:
    return service.create_user(SYSTEM, "carl", password="correct horse")


@pytest.fixture(autouse=True)
def three_attempts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(setup, "_current", setup.config().changed({"accounts.login_attempts": 3}))
    yield


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


def test_too_many_wrong_passwords_stop_the_right_one_from_anywhere(carl: Any) -> None:
    for number in range(3):
        with pytest.raises(NotSignedIn):
            service.sign_in("carl", "wrong horse", f"10.0.0.{number}")
    with pytest.raises(TooMany) as caught:
        service.sign_in("carl", "correct horse", "10.0.0.9")
    assert 0 < caught.value.details["retry_after"] <= 301


def test_too_many_wrong_names_from_one_address_stop_it(carl: Any) -> None:
    for number in range(3):
        with pytest.raises(NotSignedIn):
            service.sign_in(f"guess{number}", "correct horse", "10.0.0.1")
    with pytest.raises(TooMany):
        service.sign_in("carl", "correct horse", "10.0.0.1")
    assert service.sign_in("carl", "correct horse", "10.0.0.2") == carl


def test_old_failures_are_forgotten(carl: Any) -> None:
    for _ in range(3):
        with pytest.raises(NotSignedIn):
            service.sign_in("carl", "wrong horse")
    LoginFailure.objects.update(at=datetime.now(UTC) - login.WINDOW - timedelta(seconds=1))
    assert service.sign_in("carl", "correct horse") == carl
    assert LoginFailure.objects.count() == 0


def test_who_was_stopped_does_not_make_it_last_longer_by_trying_on(carl: Any) -> None:
    for _ in range(3):
        with pytest.raises(NotSignedIn):
            service.sign_in("carl", "wrong horse")
    for _ in range(5):
        with pytest.raises(TooMany):
            service.sign_in("carl", "wrong horse")
    assert LoginFailure.objects.count() == 3


@pytest.mark.skipif("postgresql" not in os.environ.get("VETRO_DATABASE__URL", ""), reason="SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_many_at_once_are_no_way_around_the_limit() -> None:
    def attempt(number: int) -> bool:
        try:
            login.count("carl", f"10.0.0.{number}")
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
