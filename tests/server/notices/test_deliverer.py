"""What waits is sent: at least once over kills at any point, later and later where it fails, and not for ever."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections

from tests.server.notices.conftest import Notices, later, minutes_until
from tests.server.notices.receivers import MailRelay, WebReceiver
from tests.support.waiting import until
from vetro.server import setup
from vetro.server.notices import deliverer, service
from vetro.server.notices.deliverer import Deliverer
from vetro.server.notices.message import Failed, Message
from vetro.server.notices.models import Delivery, Target
from vetro.server.retention import sweep
from vetro.server.tasks import clock

pytestmark = pytest.mark.django_db

Deliver = Callable[..., int]


class Killed(BaseException):
    """The worker is gone."""


def failing(*_: Any) -> None:
    raise Failed("no")


def test_what_arrived_is_sent_once(notices: Notices, receiver: WebReceiver, deliver: Deliver) -> None:
    notices.webhook(receiver.url)
    notices.task()
    assert deliver() == 1
    assert deliver() == 0
    row = Delivery.objects.get()
    assert (row.state, row.attempts, receiver.ids) == ("delivered", 1, [row.id])


@pytest.mark.parametrize("point", ["claimed", "sent", "settled"])
def test_who_is_killed_at_any_point_leaves_it_to_another_one(
    notices: Notices, receiver: WebReceiver, deliver: Deliver, point: str
) -> None:
    """Once or twice, never not at all; and nobody takes it from one who lives."""

    def step(name: str, id: str) -> None:
        if name == point:
            raise Killed

    notices.webhook(receiver.url)
    notices.task()
    with pytest.raises(Killed):
        deliver(step=step)
    assert deliver() == 0
    later(seconds=deliverer.LEASE + 1)
    assert deliver() == (0 if point == "settled" else 1)
    assert Delivery.objects.get().state == "delivered"
    assert len(receiver.posts) == (2 if point == "sent" else 1) and len(set(receiver.ids)) == 1


def killed_campaign(notices: Notices, receiver: WebReceiver, deliver: Deliver, kills: int, seed: int) -> Counter[str]:
    """Notices go on being made while whoever sends them is killed so often, and the receiver fails as it likes."""
    chance = random.Random(seed)
    receiver.answer = lambda: chance.choice([204, 204, 500, None])
    notices.webhook(receiver.url)
    made = 0
    while kills:
        notices.task(chance.choice(["deploy", "action"]), chance.choice(["done", "failed"]))
        made += 1
        left = chance.randrange(1, 6)

        def step(name: str, id: str) -> None:
            nonlocal left
            left -= 1
            if not left:
                raise Killed

        try:
            deliver(step=step)
        except Killed:
            kills -= 1
        later(minutes=20)
    receiver.answer = lambda: 204
    for _ in range(5):
        later(hours=7)
        deliver()
    assert Delivery.objects.filter(state="delivered").count() == made == Delivery.objects.count()
    # Whatever was answered, this is what came through: a failed attempt arrived as well.
    arrived = Counter(receiver.ids)
    assert set(arrived) == set(Delivery.objects.values_list("id", flat=True))
    return arrived


def test_nothing_is_lost_over_kills_and_failures(notices: Notices, receiver: WebReceiver, deliver: Deliver) -> None:
    killed_campaign(notices, receiver, deliver, 12, seed=7)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_over_many_kills_and_failures(
    notices: Notices, receiver: WebReceiver, deliver: Deliver, seed: int
) -> None:
    killed_campaign(notices, receiver, deliver, 100, seed)


@pytest.mark.campaign
def test_each_arrives_once_or_twice_over_a_hundred_kills(
    notices: Notices, receiver: WebReceiver, deliver: Deliver
) -> None:
    """A receiver that does not fail gets nothing a third time: nobody is killed twice over the same notice."""
    notices.webhook(receiver.url)
    chance = random.Random(3)
    for _ in range(100):
        notices.task()
        point = chance.choice(["claimed", "sent", "settled"])

        def step(name: str, id: str, point: str = point) -> None:
            if name == point:
                raise Killed

        with pytest.raises(Killed):
            deliver(step=step)
        later(seconds=deliverer.LEASE + 1)
        deliver()
    arrived = Counter(receiver.ids)
    assert len(arrived) == 100 and set(arrived.values()) <= {1, 2}


def test_attempts_come_later_and_later_and_end_after_three_days(
    notices: Notices, receiver: WebReceiver, deliver: Deliver
) -> None:
    notices.webhook(receiver.url)
    receiver.answer = lambda: 500
    notices.task()
    waits, hours = [], 0.0
    while (row := Delivery.objects.get()).state == "waiting":
        deliver()
        row = Delivery.objects.get()
        waits.append(minutes_until(row))
        # The target is left alone for as long, but for chance.
        later(minutes=waits[-1] * 1.12 + 0.01)
        hours += waits[-1] * 1.12 / 60
        assert len(waits) < 50
    assert waits[0] < 0.2 and waits[:10] == sorted(waits[:10])
    assert max(waits) <= 360 and 72 <= hours < 80
    assert (row.state, row.problem) == ("dead", {"text": "the receiver answered 500", "texts": row.problem["texts"]})


def test_a_target_that_fails_is_left_alone_and_all_its_notices_go_when_it_is_back(
    notices: Notices, receiver: WebReceiver, deliver: Deliver
) -> None:
    notices.webhook(receiver.url)
    for _ in range(20):
        notices.task()
    receiver.answer = lambda: 503
    assert deliver() == 1
    later(seconds=11)
    assert deliver() == 1
    receiver.answer = lambda: 204
    later(minutes=1)
    assert deliver() == 20
    assert set(Delivery.objects.values_list("state", flat=True)) == {"delivered"}


def test_one_notice_that_is_refused_keeps_no_other_back(
    notices: Notices, deliver: Deliver, receiver: WebReceiver
) -> None:
    notices.webhook(receiver.url)
    notices.task()
    poison = Delivery.objects.get().id

    def sending(message: Message, config: Any) -> None:
        if message.id == poison:
            raise Failed("no")

    for _ in range(10):
        deliver(sending=sending)
        notices.task()
        later(seconds=20)
    assert Delivery.objects.filter(state="delivered").count() == 9


def test_a_receiver_that_is_gone_switches_its_target_off(
    notices: Notices, receiver: WebReceiver, deliver: Deliver
) -> None:
    id = notices.webhook(receiver.url)
    receiver.answer = lambda: 410
    notices.task()
    deliver()
    assert not Target.objects.get(id=id).enabled and Delivery.objects.get().state == "dead"


def test_what_waits_for_a_target_that_is_switched_off_is_dead_after_three_days(
    notices: Notices, receiver: WebReceiver, deliver: Deliver
) -> None:
    id = notices.webhook(receiver.url)
    notices.task()
    Target.objects.filter(id=id).update(enabled=False)
    assert deliver() == 0
    later(days=2, hours=23)
    assert deliverer.expire() == 0
    later(hours=2)
    assert deliverer.expire() == 1
    assert Delivery.objects.get().state == "dead" and receiver.posts == []


def test_a_body_that_no_key_opens_ends_nobody_elses(notices: Notices, receiver: WebReceiver, deliver: Deliver) -> None:
    notices.webhook(receiver.url)
    notices.task()
    notices.task()
    row = Delivery.objects.order_by("created").first()
    assert row is not None
    with connection.cursor() as cursor:
        cursor.execute("UPDATE notices_delivery SET body = %s WHERE id = %s", [b"rubbish", row.id])
    for _ in range(2):
        deliver()
        later(minutes=1)
    states = dict(Delivery.objects.defer("body").values_list("id", "state"))
    assert sorted(states.values()) == ["delivered", "waiting"] and states[row.id] == "waiting"


def test_mails_arrive_over_failures_too(notices: Notices, relay: MailRelay, deliver: Deliver, ann: Any) -> None:
    answers = iter([451, None, 250])
    relay.answer = lambda: next(answers)
    made, _ = service.add_target(ann.caller, "mail", "mail", {"to": ["ops@example.com"]})
    service.add_rule(ann.caller, made["id"])
    notices.task()
    for _ in range(3):
        deliver()
        later(minutes=5)
    assert Delivery.objects.get().state == "delivered" and len(relay.mails) == 2
    assert {receivers[0] for receivers, _ in relay.mails} == {"ops@example.com"}


def test_retention_drops_deliveries_of_long_ago_and_rules_of_environments_that_are_gone(
    notices: Notices, receiver: WebReceiver, deliver: Deliver, ann: Any
) -> None:
    id = notices.webhook(receiver.url)
    service.add_rule(ann.caller, id, notices.environment.id)
    notices.task()
    deliver()
    sweep.sweep(setup.config())
    assert Delivery.objects.count() == 1 and len(service.rules(ann.caller)) == 2
    later(days=service.DAYS, hours=1)
    notices.environment.delete()
    sweep.sweep(setup.config())
    assert Delivery.objects.count() == 0
    assert [rule["environment_id"] for rule in service.rules(ann.caller)] == [None]


@pytest.mark.attack("quotas", "notices")
def test_who_has_much_waits_for_who_has_little(notices: Notices, deliver: Deliver, eve: Any) -> None:
    """A day's notices of one project, to receivers that take their time, were all sent before those of others."""
    others = Notices(eve.caller)
    for number in range(3):
        notices.webhook("https://slow.example.com/", f"slow {number}")
    for _ in range(3):
        notices.task()
    others.webhook("https://ops.example.com/")
    others.task()
    others.task()
    sent: list[str] = []
    assert deliver(sending=lambda message, config: sent.append(message.data["project"]["id"])) == 11
    mine, theirs = notices.caller.project_id, others.caller.project_id
    assert set(sent[:2]) == set(sent[2:4]) == {mine, theirs} and sent[4:] == [mine] * 7


def test_a_clock_that_is_set_back_stops_nothing(notices: Notices, receiver: WebReceiver, deliver: Deliver) -> None:
    """What fails and what was taken had times of another day: nothing was sent until that came."""
    notices.webhook(receiver.url)
    notices.task()
    deliver(sending=failing)
    later(days=-1)
    soon = clock.after(86400.0)
    Delivery.objects.update(owner="who was killed", lease_until=soon)
    assert deliver() == 1 and len(receiver.posts) == 1


def test_a_clock_that_is_set_forward_lets_nothing_die(
    notices: Notices, receiver: WebReceiver, deliver: Deliver
) -> None:
    """For a moment it is next week: what was not tried for as long as that is not given up."""
    notices.webhook(receiver.url)
    receiver.answer = lambda: 500
    notices.task()
    deliver()
    notices.task("action")
    later(days=8)
    assert deliverer.expire() == 0
    deliver()
    assert deliverer.expire() == 0
    assert set(Delivery.objects.values_list("state", flat=True)) == {"waiting"}
    later(days=-8)
    receiver.answer = lambda: 204
    later(hours=7)
    deliver()
    assert set(Delivery.objects.values_list("state", flat=True)) == {"delivered"}


@pytest.mark.campaign
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("point", ["claimed", "sent", "settled"])
def test_a_process_that_is_killed_leaves_its_notices_to_another_one(
    notices: Notices, receiver: WebReceiver, deliver: Deliver, point: str
) -> None:
    """SIGKILL in the middle, in a process of its own."""
    notices.webhook(receiver.url)
    notices.task()

    def step(name: str, id: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    connections.close_all()
    pid = os.fork()
    if not pid:
        try:
            deliver(step=step)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert deliver() == 0
    later(seconds=deliverer.LEASE + 1)
    assert deliver() == (0 if point == "settled" else 1)
    assert Delivery.objects.get().state == "delivered"
    assert len(receiver.posts) == (2 if point == "sent" else 1) and len(set(receiver.ids)) == 1


@pytest.mark.django_db(transaction=True)
def test_the_thread_sends_at_once_and_nobody_waits_for_the_slow_receivers_of_others(
    notices: Notices, receiver: WebReceiver, eve: Any
) -> None:
    """A receiver that holds its answers back has one attempt under way; another one's notices arrive meanwhile."""
    slow = WebReceiver()
    slow.release.clear()
    changed = setup.config().changed({"notices.hosts": [receiver.host, slow.host]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "_current", changed)
        patch.setattr(deliverer, "IDLE", 0.02)
        notices.webhook(slow.url)
        others = Notices(eve.caller)
        others.webhook(receiver.url)
        found = Deliverer(changed, "here")
        found.start()
        try:
            for _ in range(3):
                notices.task()
            for _ in range(3):
                others.task()
            wait_for(lambda: len(receiver.posts) == 3 and len(slow.posts) == 1)
            slow.release.set()
            wait_for(lambda: not Delivery.objects.filter(state="waiting").exists())
        finally:
            slow.release.set()
            found.stop()
            slow.close()
    assert len(slow.posts) == 3
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("vetro notice")] == []


def wait_for(condition: Callable[[], bool]) -> None:
    """Waits until it holds, a minute at most."""
    until(condition, 60)
