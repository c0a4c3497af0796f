"""Tasks that no key of this process opens: they wait for a worker that has the key, then end, and hold nobody up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection

from tests.server.tasks import shop
from vetro.server.secrets import encryption
from vetro.server.secrets.key_file import KeysUnusable, read_keys, write_keys
from vetro.server.setup import config
from vetro.server.tasks import clock, task_runner
from vetro.server.tasks.claim import claim
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.models import Task

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_runner, "PAUSES", (0.0,))


def sealed(table: str, column: str, key: str, of: str) -> None:
    """Writes a column of the row of a task with a key that nobody has."""
    strange = encryption.Keyring([Fernet.generate_key().decode()])
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {column} = %s WHERE {key} = %s", [strange.encrypt(b"{}"), of])


def test_one_that_cannot_be_read_ends(ann: Any, drain: Callable[..., int]) -> None:
    """Once each lease of it was left to lapse, for ever, and its environment was busy for as long."""
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made, following = (shop.deploy(ann.caller, environment, package) for _ in range(2))
    sealed("dispatch_task", "spec", "id", made.id)
    assert drain() == task_runner.MOST_FAILURES + 1
    told = Task.objects.defer("spec").get(id=made.id)
    assert (told.state, told.failures, told.owner) == ("failed", task_runner.MOST_FAILURES, "")
    assert told.error["code"] == "SRV511"
    assert told.reports.get(level="error").text == told.error["message"]
    following.refresh_from_db()
    assert following.state == "done"


def test_so_does_one_whose_journal_cannot_be_read(ann: Any, drain: Callable[..., int]) -> None:
    made = shop.deploy(ann.caller, shop.add_environment(ann.caller), shop.add_package(ann.caller))
    lease = claim("me", 60.0)
    assert lease is not None
    journal = DbJournal(made.id, lease.hold)
    journal.begin(made.spec, made.engine, 1.0)
    journal.checkpoint({}, 2.0)
    journal.commit()
    sealed("dispatch_journaltask", "model", "task_id", made.id)
    Task.objects.update(lease_until=clock.after(-1.0))
    assert drain() == task_runner.MOST_FAILURES
    made.refresh_from_db()
    assert (made.state, made.error["code"]) == ("failed", "SRV511")


@pytest.fixture
def keys() -> Iterator[Path]:
    """The file of keys, as it was afterwards."""
    path = config().path("secrets.key_file")
    before = read_keys(path)
    yield path
    write_keys(path, before)
    encryption.forget_keys()


def test_a_key_that_was_added_is_found(keys: Path) -> None:
    """Who reads what another process has written with a new key need not be started again."""
    old, new = read_keys(keys), Fernet.generate_key().decode()
    first = encryption.dumps("first")
    theirs = encryption.Keyring([new, *old]).encrypt(b'"theirs"')
    with pytest.raises(KeysUnusable):
        encryption.loads(theirs)
    keys.rename(keys.with_suffix(".away"))
    with pytest.raises(KeysUnusable, match="does not have"):
        encryption.loads(theirs)
    keys.with_suffix(".away").rename(keys)
    write_keys(keys, [new, *old])
    assert encryption.loads(first) == "first"
    assert encryption.loads(theirs) == "theirs"
    assert encryption.Keyring([new]).decrypt(encryption.dumps("second")) == b'"second"'
