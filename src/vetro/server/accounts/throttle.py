"""How wrong passwords are slowed down: per pair of name and address with a growing pause, and in all per address.

Nobody is locked out by somebody else: what is counted for a name counts for one address only, so the right password
signs in from another one. No thread waits: who comes too early is told when to come again. Of IPv6 a whole /64 is one
address, since every line has that many.

Rows are written before the password is compared, so that many at once are no way around the limit; who signs in removes
those of the pair.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from vetro.diagnostics import Text
from vetro.server.accounts.models import LoginFailure
from vetro.server.audit.models import AuditRecord
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.errors import TooMany
from vetro.server.queries import fetch, on_sqlite
from vetro.server.requests.host_names import network_of
from vetro.server.setup import config

#: Wrong passwords of a pair are remembered this long (setting ``accounts.login_attempts``).
REMEMBERED = timedelta(hours=1)
#: Those from one address are counted over this time (setting ``accounts.address_attempts``).
WINDOW = timedelta(minutes=5)
#: The pause doubles with each wrong password from one second up to this.
LONGEST_PAUSE = timedelta(minutes=5)
#: So many times ``accounts.login_attempts`` for one name, wherever from, and the audit says that it is attacked.
_ATTACK = 10
#: Any number that nobody else locks.
_LOCK = 5120938467


def now() -> datetime:
    """The time."""
    return datetime.now(UTC)


def count(name: str, address: str) -> None:
    """Notes an attempt. Raises `TooMany` when it comes too early after wrong passwords."""
    network = network_of(address)
    _check(name, network)  # who is refused costs no write
    with transaction.atomic():
        if not on_sqlite():  # there one transaction writes at a time; here many would count before any has written
            fetch("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        moment = now()
        # Times to come are those of a clock that was set back since.
        LoginFailure.objects.filter(Q(at__lt=moment - REMEMBERED) | Q(at__gt=moment + LONGEST_PAUSE)).delete()
        _check(name, network)
        LoginFailure.objects.create(at=moment, username=name, address=network)


def forget(name: str, address: str) -> None:
    """The right password was given: this pair has all attempts again."""
    _pair(name, network_of(address)).delete()


def report(name: str, address: str) -> None:
    """Says in the audit, once an hour each, that a pair is slowed down, an address refused or a name attacked.

    Called after a wrong password. Names that do not exist are treated the same: time and audit tell no difference.
    """
    network, limit, most = network_of(address), _limit(), int(config()["accounts.address_attempts"])
    if _nth(_pair(name, network), limit) is not None:
        _record("login.slowed", name, network, attempts=limit)
    if network and _nth(_recent(network), most) is not None:
        _record("login.refused", "", network, attempts=most)
    of_name = LoginFailure.objects.filter(username=name)
    if _nth(of_name, limit * _ATTACK) is not None:
        sources = of_name.order_by().values("address").distinct()
        _record("login.attacked", name, "", attempts=of_name.count(), addresses=sources.count())


def _check(name: str, network: str) -> None:
    moment, limit = now(), _limit()
    wait = timedelta(0)
    pause = int(LONGEST_PAUSE.total_seconds())
    times = list(_pair(name, network).order_by("-at").values_list("at", flat=True)[: limit + pause.bit_length()])
    if len(times) >= limit:
        allowed = timedelta(seconds=min(1 << (len(times) - limit), pause))
        wait = min(times[0] + allowed - moment, allowed)
    if network:
        oldest = _nth(_recent(network), int(config()["accounts.address_attempts"]))
        if oldest is not None:
            wait = max(wait, oldest + WINDOW - moment)
    if wait > timedelta(0):
        seconds = math.ceil(wait.total_seconds())
        raise TooMany(
            Text("Too many wrong passwords; come again in {seconds} seconds.", seconds=seconds),
            details={"retry_after": seconds},
        )


def _limit() -> int:
    return int(config()["accounts.login_attempts"])


def _pair(name: str, network: str) -> QuerySet[LoginFailure]:
    moment = now()
    return LoginFailure.objects.filter(
        username=name, address=network, at__gt=moment - REMEMBERED, at__lt=moment + LONGEST_PAUSE
    )


def _recent(network: str) -> QuerySet[LoginFailure]:
    moment = now()
    return LoginFailure.objects.filter(address=network, at__gt=moment - WINDOW, at__lt=moment + LONGEST_PAUSE)


def _nth(rows: QuerySet[LoginFailure], number: int) -> datetime | None:
    """When the last but ``number`` - 1 was; None where there are fewer."""
    return rows.order_by("-at").values_list("at", flat=True)[number - 1 : number].first()


def _record(action: str, name: str, network: str, **details: int) -> None:
    hour = AuditRecord.objects.filter(at__gt=now() - REMEMBERED, action=action)
    if not hour.filter(target_name=name, address=network).exists():
        record(Caller("", "", "", "", address=network), action, "", name, **details)
