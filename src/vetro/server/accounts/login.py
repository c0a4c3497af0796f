"""Signing in with name and password, as often as wrong ones are tolerated, and in the same time whoever is named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.contrib.auth.hashers import check_password, make_password
from django.db import transaction

from vetro.server.accounts.models import LoginFailure, User
from vetro.server.accounts.people import LONGEST_PASSWORD
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.errors import NotSignedIn, TooMany
from vetro.server.queries import fetch, on_sqlite
from vetro.server.setup import config

#: Wrong passwords are counted over this time (setting ``accounts.login_attempts``).
WINDOW = timedelta(minutes=5)
#: Any number that nobody else locks.
_LOCK = 5120938467
_dummies: dict[str, str] = {}


def sign_in(name: str, password: str, address: str = "") -> User:
    """The account. Raises `NotSignedIn` for a wrong name or password, `TooMany` after too many of them.

    An attempt is counted before the password is compared, so that many at once are no way around the limit. Nothing
    tells a name that exists from one that does not: neither answer nor time.
    """
    name = name[:255]
    attempt = count(name, address[:64])
    user = User.objects.filter(username=name).first()
    known = user is not None and user.has_usable_password()
    # An unknown name costs what a known one does.
    expected = user.password if user is not None and known else _dummy()
    fits = check_password(password[:LONGEST_PASSWORD], expected)
    if user is None or not known or not fits or not user.is_active:
        raise NotSignedIn("The name or the password is wrong.")
    with transaction.atomic():
        LoginFailure.objects.filter(pk=attempt).delete()
        LoginFailure.objects.filter(username=name).delete()
        User.objects.filter(pk=user.pk).update(last_login=datetime.now(UTC))
        record(Caller(user.id, user.username, "", "", address=address), "login.password", user.id, user.username)
    return user


def count(name: str, address: str = "") -> int:
    """Notes an attempt; the row's number. Raises `TooMany` after too many for the name or from the address."""
    limit = int(config()["accounts.login_attempts"])
    since = datetime.now(UTC) - WINDOW
    with transaction.atomic():
        if not on_sqlite():  # there one transaction writes at a time; here many would count before any has written
            fetch("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        LoginFailure.objects.filter(at__lt=since).delete()
        for key in ({"username": name}, {"address": address}) if address else ({"username": name},):
            times = list(LoginFailure.objects.filter(**key).order_by("-at").values_list("at", flat=True)[:limit])
            if len(times) >= limit:
                wait = max(1, int((times[-1] + WINDOW - datetime.now(UTC)).total_seconds()) + 1)
                raise TooMany(f"Too many wrong passwords; come again in {wait} seconds.", details={"retry_after": wait})
        return int(LoginFailure.objects.create(username=name, address=address).pk)


def _dummy() -> str:
    """A hash that no password fits, made by the hasher in use."""
    from django.contrib.auth.hashers import get_hasher

    algorithm = str(get_hasher().algorithm)
    if algorithm not in _dummies:
        _dummies[algorithm] = make_password("nobody's password")
    return _dummies[algorithm]
