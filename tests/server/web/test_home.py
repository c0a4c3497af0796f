"""The first page: what there is, what is wrong, what waits, in a number of statements that does not grow."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.server.environments.conftest import archive
from tests.server.watch.world import app, component, instance, made, watched
from vetro.server.catalog import standard_packages
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.models import Package
from vetro.server.environments import offers, sessions
from vetro.server.environments import service as environments
from vetro.server.environments.models import Environment, Session, UpgradeOffer
from vetro.server.forms.models import FormDraft
from vetro.server.tasks.models import Task
from vetro.server.watch import service as watch

pytestmark = pytest.mark.django_db
Browser = Callable[[Any], Client]


def text(client: Client, part: bool = False, **headers: str) -> str:
    answer = client.get("/app/", headers={**({"HX-Request": "true", "HX-Target": "home"} if part else {}), **headers})
    assert answer.status_code == 200, answer
    return str(answer.content.decode())


def failed(caller: Any, name: str) -> str:
    id = environments.create(caller, {"name": name})["id"]
    task = Task.objects.create(
        project_id=caller.project_id, user_id=caller.user_id, environment_id=id, kind="deploy", state="failed", spec={},
        finished=timezone.now(),
    )  # fmt: skip
    Environment.objects.filter(id=id).update(failure="deploy failure", task_id=task.id)
    return f"/app/environments/{id}/tasks/{task.id}/"


def test_nothing_yet_is_a_list_of_first_steps(ann: Any, people: Any, browser: Browser) -> None:
    page = text(browser(ann))
    assert "First steps" in page and "/app/catalog/examples" in page
    assert "Make servers real" not in page  # that is for who looks after the installation
    assert "/app/catalog/examples" not in text(browser(people("rita", "quiet", "reader")))  # nor does a reader import


def test_first_steps_are_ticked_and_go_away_once_something_was_deployed(
    ann: Any, browser: Browser, publish: Any
) -> None:
    Package.objects.filter(embedded=False).delete()
    client = browser(ann)
    assert text(client).count('class="done"') == 0
    environments.create(ann.caller, {"name": "fair"})
    assert text(client).count('class="done"') == 1
    Environment.objects.update(version=1)
    assert "First steps" not in text(client)


def test_what_is_wrong_stands_first_and_says_why(ann: Any, browser: Browser) -> None:
    down = made(ann, app("a", instance("i")), name="zoo")
    watched(down)
    watch.record([(down.id, 1, [component("a", "down", "page: no <answer>")])], "")
    Environment.objects.filter(id=down.id).update(updated=timezone.now() - timedelta(days=90))
    for number in range(12):
        environments.create(ann.caller, {"name": f"fine {number}"})
    address = failed(ann.caller, "broken fair")
    page = text(browser(ann))
    assert 'data-health="down"' in page and "no &lt;answer&gt;" in page and "no <answer>" not in page
    assert page.index("zoo") < page.index("fine 11") and f'href="{address}"' in page and "Failed last" in page
    assert "All 14 environments" in page and "fine 0<" not in page
    german = text(browser(ann), **{"accept-language": "de"})
    assert "Zuletzt fehlgeschlagen" in german and "Alle 14 Umgebungen" in german


def test_what_was_begun_waits_and_nothing_of_others(ann: Any, eve: Any, browser: Browser) -> None:
    id = environments.create(ann.caller, {"name": "fair"})["id"]
    session = sessions.open_session(ann.caller, id)
    client = browser(ann)
    assert "Waits for you" not in text(client)  # looking changes nothing, so nothing waits
    Session.objects.filter(id=session.id).update(draft={"Objects": {}})
    own = {"project_id": ann.caller.project_id, "user_id": ann.caller.user_id, "purpose": "add", "content": {}}
    FormDraft.objects.create(**own, title="Looked at")
    FormDraft.objects.create(**{**own, "purpose": "try"}, title="Tried out", revision=1)
    FormDraft.objects.create(**own, title="Shop <b>", revision=1)
    task = Task.objects.create(
        project_id=ann.caller.project_id,
        user_id="x",
        environment_id=id,
        kind="action",
        state=Task.NEEDS_PERSON,
        spec={},
    )
    page = text(client)
    assert f"/app/environments/{id}/tasks/{task.id}/" in page and "needs your decision" in page
    assert "Shop &lt;b&gt;" in page and "A form that is not finished" in page and "Looked at" not in page
    assert "Tried out" not in page
    assert "Changes that are not deployed" in page
    assert "fair" not in text(browser(eve)) and "Shop &lt;b&gt;" not in text(browser(eve))
    Environment.objects.filter(id=id).update(version=5)  # somebody else deployed: this draft is of no use
    assert "Changes that are not deployed" not in text(client)


def test_updates_are_counted(ann: Any, browser: Browser) -> None:
    standard_packages.ensure()
    row = made(ann, app("a", instance("i")), name="zoo")
    UpgradeOffer.objects.create(environment=row, package="test.garden", lowest="1.0.0", highest="1.0.0")
    import_packages(ann.caller, [archive("1.0.0"), archive("1.1.0"), archive("2.0.0-rc1")])
    client = browser(ann)
    assert f'href="/app/environments/{row.id}/upgrade"' in text(client) and "1 update<" in text(client)
    UpgradeOffer.objects.filter(environment=row).update(lowest="1.1.0", highest="1.1.0")
    offers.renew("test.garden")
    assert "/upgrade" not in text(client)  # a pre-release is no offer
    Package.objects.filter(version="1.1.0").update(project_id="elsewhere")
    UpgradeOffer.objects.filter(environment=row).update(lowest="1.0.0", highest="1.0.0")
    offers.renew("test.garden")
    assert "/upgrade" not in text(client)  # what another project has is none either


def test_the_number_of_statements_does_not_depend_on_how_much_there_is(ann: Any, browser: Browser) -> None:
    client = browser(ann)

    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            text(client)
        return len(queries)

    def more(first: int, number: int) -> None:
        for n in range(first, first + number):
            row = made(ann, app("a", instance("i")), name=f"e{n}")
            watched(row)
            watch.record([(row.id, 1, [component("a", "degraded", "slow")])], "")
            failed(ann.caller, f"f{n}")

    more(0, 10)
    count()
    few = count()
    more(10, 12)
    assert count() == few <= 21  # one less on SQLite


def test_addresses_are_found_by_the_part_and_then_known(ann: Any, browser: Browser) -> None:
    row = made(ann, app("a", instance("i")), name="zoo")
    client = browser(ann)
    page = text(client)
    assert "Looking for addresses" in page and 'hx-trigger="load"' in page
    assert "Looking for addresses" not in text(client, part=True)
    again = text(client)
    assert "Looking for addresses" not in again and 'hx-trigger="load"' not in again
    Environment.objects.filter(id=row.id).update(version=7)
    assert "Looking for addresses" in text(client)  # something was deployed: they may be others
