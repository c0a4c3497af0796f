"""The first session of a task process has the core library linked already, and is as one that links it itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.installation import compiled
from vetro.engine.installation import Installation, prepare
from vetro.engine.task.sessions import packages_of, session_for
from vetro.engine.task.task import Task
from vetro.engine.task.warm_up import warm_up
from vetro.library import core_package
from vetro.muranopl.runtime.effects import InProcessEffects

SHOP = """\
Name: Shop
Namespaces: {=: test, std: io.murano}
Extends: std:Application
Properties:
  names: {Contract: [$.string().notNull()], Default: []}
  made: {Contract: $.int().notNull(), Default: 0, Usage: Out}
Methods:
  deploy:
    Body:
      - $.made: $.made + len($.names)
      - $.setAttr(last, randomName())
      - $.find(std:Environment).reporter.report($this, 'open')
"""
MANIFEST = "Format: MuranoPL/1.3\nType: Application\nFullName: {name}\nName: A\nClasses: {{{name}.Shop: Shop.yaml}}\n"
MODEL: Mapping[str, Any] = {
    "Objects": {
        "?": {"type": "io.murano.Environment", "id": "e"},
        "name": "e",
        "applications": [{"?": {"type": "test.Shop", "id": "shop"}, "names": ["a", "b"]}],
    }
}


@pytest.fixture(scope="module")
def installation() -> Installation:
    made = prepare(cache_folder=os.fspath(compiled()))
    warm_up(made)
    return made


def package(folder: Path, name: str = "test") -> str:
    (folder / "Classes").mkdir(parents=True)
    (folder / "manifest.yaml").write_text(MANIFEST.format(name=name))
    (folder / "Classes" / "Shop.yaml").write_text(SHOP)
    return str(folder)


def deployed(session: Any, model: Mapping[str, Any] = MODEL) -> Any:
    session.load(model)
    session.call("deploy")
    return session.finalize()


def opened(installation: Installation, *paths: str, **more: Any) -> Any:
    task = Task(id="t", kind="deploy", model={}, packages=list(paths), seed="one", **more)
    return session_for(task, packages_of(task), InProcessEffects(), installation)


def test_of_the_run_before_tasks_nothing_is_left(installation: Installation, tmp_path: Path) -> None:
    """The core library has run once; no other package stays, whose memory each task would copy to give it back."""
    (kept,) = installation.linked
    assert {linked.package.name for linked in kept.types} == {core_package().name}
    assert kept.root is None and list(kept.store) == []
    warm_up(installation)  # as a process does that waits for its task
    assert installation.linked == [kept]
    session = opened(installation, package(tmp_path / "p"))
    assert session is kept and session.root is None and list(session.store) == []
    assert session.store.get("warm-up") is None and not session.types.core("io.murano.Object").session.redaction
    installation.linked.append(kept)


def test_what_a_run_leaves_is_the_same(installation: Installation, tmp_path: Path) -> None:
    path = package(tmp_path / "p")
    kept = list(installation.linked)
    assert len(kept) == 1
    first = opened(installation, path)
    assert first is kept[0] and installation.linked == []  # of one that is used nobody else gets anything
    fresh = opened(installation, path)
    assert fresh is not first
    assert first.resolver.used() == {"io.murano": [str(core_package().version)]}
    assert deployed(first) == deployed(fresh)
    installation.linked.extend(kept)


def test_a_core_library_of_another_version_is_linked_anew(installation: Installation, tmp_path: Path) -> None:
    own = tmp_path / "core"
    (own / "Classes").mkdir(parents=True)
    manifest = "Format: 1.4\nType: Library\nFullName: io.murano\nName: Mine\nVersion: 9.0.0\n"
    (own / "manifest.yaml").write_text(manifest + "Classes: {io.murano.Object: O.yaml}\n")
    (own / "Classes" / "O.yaml").write_text("Name: Object\nNamespaces: {=: io.murano}\n")
    kept = list(installation.linked)
    assert opened(installation, str(own)) is not kept[0]
    assert installation.linked == kept


def test_with_configurations_of_classes_the_core_library_is_linked_anew(
    installation: Installation, tmp_path: Path
) -> None:
    """They are in what is bound: which properties have a default."""
    rows = [{"class": "io.murano.Environment", "values": {"region": "North"}}]
    kept, session = list(installation.linked), opened(installation, package(tmp_path / "p"), configs=rows)
    assert session is not kept[0] and installation.linked == kept


def test_settings_are_those_of_the_task(installation: Installation, tmp_path: Path) -> None:
    kept = list(installation.linked)
    session = opened(installation, package(tmp_path / "p"), settings={"home_region": "North"})
    assert session is kept[0] and session.code_cache is installation.cache
    model = deployed(session)
    assert model["Objects"]["region"] == "North"
    installation.linked.extend(kept)
