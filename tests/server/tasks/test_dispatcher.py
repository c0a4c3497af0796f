"""The core's own dispatcher passes the tests of the interface; how plug-ins are found, and what is said about them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vetro.server.config.config import Config, ConfigError
from vetro.server.tasks import backends, conformance
from vetro.server.tasks.backends import Backend, backend, django_settings, labels_of_plugins
from vetro.server.tasks.dispatch import dispatcher
from vetro.server.tasks.dispatcher import DatabaseDispatcher

pytestmark = pytest.mark.database


class TestEmbedded(conformance.DispatcherConformance):
    backend = "embedded"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Entry points of the distributions that are installed."""
    found: list[Any] = []
    monkeypatch.setattr(backends, "entry_points", lambda group: found if group == "vetro.dispatchers" else [])
    backends._load.cache_clear()
    yield found
    backends._load.cache_clear()


def point(name: str, load: Any, distribution: str = "a-plugin") -> Any:
    return SimpleNamespace(name=name, load=load, dist=SimpleNamespace(name=distribution), value="m:x")


def test_what_is_missing_is_named(tmp_path: Path, installed: list[Any]) -> None:
    def refused(name: str) -> str:
        with pytest.raises(ConfigError) as caught:
            backend(Config.load(tmp_path, overrides={"dispatch.backend": name}, environ={}))
        return caught.value.message

    assert "needs the distribution vetro-procrastinate: pip install 'vetro[procrastinate]'" in refused("procrastinate")
    assert "'dispatch.backend' = 'other' is offered by no distribution" in refused("other")
    installed += [point("twice", lambda: None, "one"), point("twice", lambda: None, "two")]
    assert "is offered by several distributions: one, two" in refused("twice")
    installed += [point("wrong", lambda: object()), point("broken", EntryPoint("x", "no_such_module:x", "g").load)]
    assert "is no Backend of vetro.server.tasks.backends: m:x" in refused("wrong")
    assert "cannot be loaded: ModuleNotFoundError" in refused("broken")


def test_a_plugin_says_what_it_needs(tmp_path: Path, installed: list[Any]) -> None:
    def check(config: Config) -> None:
        if not config["database.url"]:
            raise ConfigError("it needs PostgreSQL")

    class Mine(DatabaseDispatcher):
        pass

    plugin = Backend(make=Mine, check=check, apps=("mine.app",), labels=("mine",), settings={"MINE": 1})
    installed.append(point("mine", lambda: plugin))
    on_sqlite = Config.load(tmp_path, overrides={"dispatch.backend": "mine"}, environ={})
    with pytest.raises(ConfigError, match="it needs PostgreSQL"):
        django_settings(on_sqlite)
    fitting = on_sqlite.changed({"database.url": "postgresql://host/name"})
    assert django_settings(fitting) == {"MINE": 1, "INSTALLED_APPS": ["mine.app"], "DATABASE_ROUTERS": []}
    made = dispatcher(fitting, "w")
    assert isinstance(made, Mine) and made.name == "w"
    # Those that were part of Vetro, too: their tables stay when nobody uses them any more.
    assert labels_of_plugins() == {"mine", "procrastinate"}


def test_without_a_setting_it_is_the_cores_own(tmp_path: Path, installed: list[Any]) -> None:
    for url in ("", "postgresql://host/name"):
        config = Config.load(tmp_path, overrides={"database.url": url}, environ={})
        assert backend(config) is None
        assert django_settings(config) == {"INSTALLED_APPS": [], "DATABASE_ROUTERS": []}
        assert type(dispatcher(config)) is DatabaseDispatcher
