"""Signing in with name and password, as often as wrong ones are tolerated, and in the same time whoever is named."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from django.contrib.auth.hashers import check_password, get_hasher, make_password
from django.db import transaction

from vetro.diagnostics import Text
from vetro.server.accounts import throttle
from vetro.server.accounts.models import User
from vetro.server.accounts.people import LONGEST_PASSWORD
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.errors import NotSignedIn, TooMany
from vetro.server.requests.host_names import network_of

#: Passwords that a process compares at once: each takes 100 MiB and a tenth of a second of several processors.
_COMPARED = 2
#: Requests that wait for that, besides; of one address, both together. Others come again: they hold no threads.
_WAITING, _OF_ONE = 4, 4
_dummies: dict[str, str] = {}
_turns = threading.BoundedSemaphore(_COMPARED)
_lock = threading.Lock()
_here: Counter[str] = Counter()


def sign_in(name: str, password: str, address: str = "", counted_as: str | None = None) -> User:
    """The account. Raises `NotSignedIn` for a wrong name or password, `TooMany` after too many of them.

    An attempt is counted (as one for ``counted_as``) before the password is compared, so that many at once are no way
    around the limit. Nothing tells a name that exists from one that does not: neither answer nor time.
    """
    name = name[:255]
    counted_as = name if counted_as is None else counted_as
    with _place(network_of(address)):
        throttle.count(counted_as, address)
        user = User.objects.filter(username=name).first()
        known = user is not None and user.has_usable_password()
        # An unknown name costs what a known one does.
        expected = user.password if user is not None and known else _dummy()
        with _turns:
            fits = check_password(password[:LONGEST_PASSWORD], expected)
    if user is None or not known or not fits or not user.is_active:
        throttle.report(counted_as, address)
        raise NotSignedIn(Text("The name or the password is wrong."))
    with transaction.atomic():
        throttle.forget(counted_as, address)
        User.objects.filter(pk=user.pk).update(last_login=datetime.now(UTC))
        record(Caller(user.id, user.username, "", "", address=address), "login.password", user.id, user.username)
    return user


@contextmanager
def _place(network: str) -> Iterator[None]:
    """Around comparing a password. Raises `TooMany` while too many others do."""
    with _lock:
        if _here.total() >= _COMPARED + _WAITING or _here[network] >= _OF_ONE:
            raise TooMany(
                Text("Too many people sign in at this moment."),
                hint=Text("try again in a moment"),
                details={"retry_after": 1},
            )
        _here[network] += 1
    try:
        yield
    finally:
        with _lock:
            _here[network] -= 1
            if not _here[network]:
                del _here[network]


def _dummy() -> str:
    """A hash that no password fits, made by the hasher in use."""
    algorithm = str(get_hasher().algorithm)
    if algorithm not in _dummies:
        _dummies[algorithm] = make_password("nobody's password")
    return _dummies[algorithm]
