"""Package archives that cannot be had for a while are no reason for a task to fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.tasks import shop
from vetro.server.catalog import blobs
from vetro.server.catalog.models import Package
from vetro.server.tasks import task_runner

pytestmark = pytest.mark.django_db


def test_a_task_waits_for_a_store_that_is_away(
    ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_runner, "PAUSES", (0.0,))
    task = shop.deploy(ann.caller, shop.add_environment(ann.caller), shop.add_package(ann.caller))
    store, asked = blobs.store(), []

    class Away(blobs.Folder):
        def path(self, digest: str) -> Any:
            asked.append(digest)
            return blobs.Folder.path(self, digest) if len(asked) > 2 else self.root / "unmounted" / digest

        def read(self, digest: str) -> bytes:
            raise blobs.Unavailable("the blob store cannot be read: Connection refused")

    assert isinstance(store, blobs.Folder)
    monkeypatch.setattr(blobs, "store", lambda: Away(store.root))
    assert drain() > 1
    task.refresh_from_db()
    assert (task.state, task.failures) == ("done", 2)


def test_one_whose_archive_is_gone_fails_at_once(ann: Any, drain: Callable[..., int]) -> None:
    task = shop.deploy(ann.caller, shop.add_environment(ann.caller), shop.add_package(ann.caller))
    store = blobs.store()
    blobs.put(b"another one")
    store.remove(Package.objects.get(fqn="test.shop").digest)
    drain()
    task.refresh_from_db()
    assert (task.state, task.error["code"], task.failures) == ("failed", "SRV510", 1)
