"""Workers with a data directory of their own compile the packages of their tasks once."""

from __future__ import annotations

import queue
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.server.tasks import shop
from vetro import muranopl
from vetro.muranopl.compiler.unit import bundle_of
from vetro.packages import open_package
from vetro.packages.cache import DiskCache
from vetro.server import sandboxed_workers, setup
from vetro.server.catalog import blobs, compilation
from vetro.server.catalog.imports import import_packages
from vetro.server.config.config import Config
from vetro.server.sandboxed_workers import compiled_folder
from vetro.server.tasks.claim import claim
from vetro.server.tasks.compilation import Compilation
from vetro.server.tasks.pool import WorkerPool
from vetro.server.tasks.task_runner import TaskRunner

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """The settings of another machine: the same database, keys and archives, a data directory of its own."""
    here = setup.config()
    shared = {name: str(here.path(name)) for name in ("storage.blobs", "secrets.key_file")}
    return Config.load(tmp_path / "other", overrides={**shared, "worker.lease_seconds": 1.0}, environ={})


def found(config: Config, digest: str) -> int:
    """How many compiled parts of the class a task of this machine finds."""
    session = muranopl.Engine(
        [open_package(blobs.local_path(digest))], code_cache=DiskCache(compiled_folder(config))
    ).session()
    try:
        return len(bundle_of(session.types.for_header("test.Shop")))
    finally:
        session.close()


def compiled(worker: Compilation, digest: str) -> bool:
    worker.used([digest])
    thread = worker.begin()
    if thread is not None:
        thread.join()
    return thread is not None


def test_a_worker_compiles_what_was_imported_elsewhere_once(
    ann: Any, elsewhere: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VETRO_CACHE")
    package = import_packages(ann.caller, [shop.archive({})]).packages[0]
    here, asked = setup.config(), queue.SimpleQueue[Any]()
    check = compilation.check_archives
    monkeypatch.setattr(compilation, "check_archives", lambda *args, **more: (check(*args, **more), asked.put(args)))
    there = found(here, package.digest)
    assert there and compiled(Compilation(), package.digest) and asked.empty()  # the import has left it
    task = shop.deploy(ann.caller, shop.add_environment(ann.caller), package)
    monkeypatch.setattr(setup, "_current", elsewhere)
    assert found(elsewhere, package.digest) == 0
    runner, over = TaskRunner(elsewhere, sandboxed_workers.launcher()), threading.Event()
    lease = claim("me", 60.0)
    assert lease is not None and (outcome := runner.run(lease)) is not None and outcome.state == "done", task
    pool = WorkerPool(elsewhere, runner)
    beating = threading.Thread(target=pool.beat, args=(over,), daemon=True)
    beating.start()
    try:
        asked.get(timeout=120)
        assert found(elsewhere, package.digest) == there
    finally:
        over.set()
        beating.join()
    runner.compilation.used([package.digest])
    assert runner.compilation.begin() is None  # it looks once
    assert compiled(Compilation(), package.digest) and asked.empty()  # so do others here


def test_what_no_project_answers_for_alone_is_compiled_for_nobody(
    ann: Any, eve: Any, elsewhere: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code that one project's process made runs in no task of another, unless an administrator made it public."""
    monkeypatch.delenv("VETRO_CACHE")
    digest = import_packages(ann.caller, [shop.archive({})]).packages[0].digest
    import_packages(eve.caller, [shop.archive({})])
    monkeypatch.setattr(setup, "_current", elsewhere)
    assert compiled(Compilation(), digest)
    assert found(elsewhere, digest) == 0
