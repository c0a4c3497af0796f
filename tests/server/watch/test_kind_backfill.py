"""Environments that an earlier version only wrote down are simulated, whatever the settings name now."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.environments.test_power import Street, opened, street  # noqa: F401 - fixtures
from vetro.server import setup
from vetro.server.config.cloud_settings import simulated
from vetro.server.environments.models import Environment
from vetro.server.watch.kind_backfill import keep_kind

pytestmark = pytest.mark.django_db


def test_what_was_only_written_down_keeps_its_kind(street: Street, monkeypatch: Any) -> None:  # noqa: F811
    monkeypatch.setattr(setup, "_current", setup.config().changed({"cloud.driver": "", "cloud.kind": "proot"}))
    config, servers = setup.config(), set(street.ids.values())
    row = Environment.objects.get(id=street.row.id)
    Environment.objects.filter(id=row.id).update(cloud={})
    row.cloud = {}
    assert not simulated(config, row.cloud)
    # One real server, another environment's servers, none at all: nobody claims that nothing of it exists.
    assert not keep_kind(config, row, {*servers, "real"}) and not keep_kind(config, row, ())
    stranger = Environment.objects.create(project_id=row.project_id, name="other", version=1)
    assert not keep_kind(config, stranger, servers)
    assert keep_kind(config, row, servers)
    row.refresh_from_db()
    assert simulated(config, row.cloud) and not keep_kind(config, row, servers)
