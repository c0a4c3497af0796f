"""`Watch`: what is sent, to whom, from where on, and until when; its clock is the test's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from vetro.server.api.v2.stream import HEARTBEAT, LATE, Watch
from vetro.server.config.address import RUN
from vetro.server.errors import NotSignedIn
from vetro.server.tasks.models import Event

pytestmark = pytest.mark.database


class Clock:
    """Time that passes by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0

    def read(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def event(environment: str = "e1", project: str = "p1", kind: str = "environment", **data: Any) -> int:
    row = Event.objects.create(project_id=project, environment_id=environment, kind=kind, data=data)
    return int(row.seq)


def watch(
    after: int | None = None, environment: str | None = None, still: Callable[[], Any] = lambda: None
) -> tuple[Iterator[str], Clock]:
    clock = Clock()
    return Watch("p1", environment, None, after, still, clock.read, clock.sleep).parts(), clock


@pytest.mark.django_db
def test_without_a_place_it_begins_now_and_says_where_that_is() -> None:
    past = event()
    parts, _ = watch()
    assert next(parts) == "retry: 5000\n\n"
    assert next(parts) == f"id: {past}\nevent: begin\ndata: {{}}\n\n"
    new = event(change="created")
    text = next(parts)
    assert text.startswith(f"id: {new}\nevent: environment\ndata: {{") and '"change": "created"' in text


@pytest.mark.django_db
def test_with_a_place_it_goes_on_after_it_and_leaves_others_out() -> None:
    first, second, foreign, third = event(), event(), event(project="p2"), event(kind="session")
    Event.objects.filter(seq=first).update(at=datetime.now(UTC) - timedelta(seconds=2 * LATE))
    parts, _ = watch(after=first)
    next(parts)
    sent = [line for line in next(parts).splitlines() if line.startswith("id")]
    assert sent == [f"id: {second}", f"id: {third}"] and foreign


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["restored", "dropped", "emptied"])
def test_a_place_that_is_not_there_any_more_is_told_and_new_events_still_come(how: str) -> None:
    """A backup was restored, or events were dropped since: whoever comes back has to look at everything again."""
    first, second, third = event(), event(), event()
    place = first
    if how == "restored":
        place = third + 1000
    elif how == "dropped":
        Event.objects.filter(seq__lte=second).delete()
    else:
        Event.objects.all().delete()
    parts, _ = watch(after=place)
    next(parts)
    text = next(parts)
    goes_on = {"restored": third, "dropped": first, "emptied": 0}[how]
    assert text == f'id: {goes_on}\nevent: begin\ndata: {{"missed": true}}\n\n'
    new = event(change="created")
    sent = [line for line in next(parts).splitlines() if line.startswith("id")]
    assert sent == ([f"id: {third}"] if how == "dropped" else []) + [f"id: {new}"]


@pytest.mark.django_db
@pytest.mark.parametrize("back", [1, 0])
def test_nothing_is_missed_between_the_last_event_and_those_that_are_kept(back: int) -> None:
    first, second = event(), event()
    Event.objects.filter(seq=first).delete()
    parts, _ = watch(after=second - back)
    next(parts)
    assert "begin" not in next(parts)


@pytest.mark.django_db
def test_of_one_environment() -> None:
    other, mine = event("e2"), event("e1")
    parts, _ = watch(after=0, environment="e1")
    next(parts)
    sent = next(parts)
    assert f"id: {mine}\n" in sent and f"id: {other}\n" not in sent


@pytest.mark.django_db
def test_a_comment_comes_when_nothing_happens() -> None:
    parts, clock = watch(after=0)
    next(parts)
    assert next(parts) == ": nothing new\n\n"
    assert HEARTBEAT <= clock.now < HEARTBEAT + 1


@pytest.mark.django_db
def test_it_ends_with_the_token_and_says_why() -> None:
    allowed = [True]

    def still() -> None:
        if not allowed[0]:
            raise NotSignedIn("The token is unknown, expired or revoked.")

    parts, clock = watch(after=0, still=still)
    next(parts)
    next(parts)
    allowed[0] = False
    event()
    begun = clock.now
    *_, last = parts
    assert last == 'event: end\ndata: {"reason": "The token is unknown, expired or revoked."}\n\n'
    assert clock.now - begun < 3


@pytest.mark.django_db
def test_it_ends_with_the_service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(RUN, str(tmp_path))
    parts, _ = watch(after=0)
    next(parts)
    (tmp_path / "stopping").touch()
    assert list(parts) == []


@pytest.mark.django_db
def test_what_is_committed_late_is_sent_once() -> None:
    """Numbers are given before transactions commit: on PostgreSQL a lower one may appear after a higher one."""
    from django.db import connection

    first, late = event(), event()
    row = Event.objects.get(seq=late)
    row.delete()
    last = event()
    parts, _ = watch(after=0)
    next(parts)
    assert next(parts).count("id: ") == 2
    Event(seq=late, project_id="p1", environment_id="e1", kind="environment", data={}).save(force_insert=True)
    assert first < late < last
    following = event()
    ids = [line for line in next(parts).splitlines() if line.startswith("id: ")]
    assert ids == [f"id: {following}"] if connection.vendor == "sqlite" else [f"id: {late}", f"id: {following}"]
