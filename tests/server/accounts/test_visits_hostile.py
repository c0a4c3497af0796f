"""Guessing passwords of people whom only a Keystone knows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from tests.server.accounts.listening_keystone import listening
from tests.server.accounts.test_keystone_login import OPTIONS, Keystone, enter
from vetro.server import setup
from vetro.server.accounts.models import LoginFailure

pytestmark = [pytest.mark.django_db, pytest.mark.attack("accounts", "guessed passwords")]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keystone]:
    with listening(Keystone(), OPTIONS, monkeypatch) as server:
        yield server


def test_other_spellings_of_a_name_are_no_more_attempts(cloud: Keystone) -> None:
    most = int(setup.config()["accounts.login_attempts"])
    spellings = ["mia", "\\mia", "Default\\mia", "default\\MIA", "MIA", "mia ", "DEFAULT\\mia", " mia"]
    tried = [
        enter(Client(), spellings[number % len(spellings)], f"guess {number}").status_code for number in range(most + 2)
    ]
    assert tried == [401] * most + [429] * 2
    assert enter(Client()).status_code == 429
    assert enter(Client(REMOTE_ADDR="10.0.1.1")).status_code == 302


def test_who_signs_in_has_all_attempts_again(cloud: Keystone) -> None:
    client = Client()
    assert enter(client, password="wrong").status_code == 401
    assert LoginFailure.objects.count() == 1
    assert enter(client).status_code == 302
    assert not LoginFailure.objects.exists()
