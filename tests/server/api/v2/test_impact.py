"""Impact over /v2: by an archive that nobody has, or by a package of the catalog."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.server.impact.fleet import archive, environment, shop
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.models import Package
from vetro.server.tasks.models import Task

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.server import setup
    from vetro.server.config.config import Config

    given = {"cloud.driver": "record", "cloud.directory": str(tmp_path / "cloud")}
    monkeypatch.setattr(setup, "_current", Config.load(setup.config().data, overrides=given))


def test_an_archive_is_asked_about_and_not_imported(cloud: None, ann: Any, eve: Any, drain: Callable[..., Any]) -> None:
    import_packages(ann.caller, [archive("1.0.0")])
    id = environment(ann.caller, drain, "market", shop(1))
    sent = {"archive": SimpleUploadedFile("a.zip", archive("1.1.0"), "application/zip")}
    begun = ann._client.post("/v2/packages/impact", sent)
    assert begun.status_code == 202, begun.content
    told = begun.json()
    assert (told["state"], told["done"], told["total"], told["version"]) == ("running", 0, 1, "1.1.0")
    (task,) = Task.objects.filter(id__in=told["tasks"])
    assert (task.kind, task.priority, task.environment_id) == ("plans", -10, "")
    assert eve.get(f"/v2/packages/impact/{told['id']}").status_code == 404
    drain()
    told = ann.get(f"/v2/packages/impact/{told['id']}").json()
    assert (told["state"], told["done"], told["tasks"]) == ("done", 1, [])
    (group,) = told["groups"]
    assert (group["group"], group["count"], group["others"]) == ("changes", 1, 0)
    assert [(one["id"], one["name"], one["state"]) for one in group["environments"]] == [(id, "market", 1)]
    plan = ann.get(f"/v2/packages/impact/{told['id']}/environments/{id}").json()
    assert (plan["group"], plan["old"]["stacks"]) == ("changes", [])
    assert not Package.objects.filter(version="1.1.0").exists()


def test_what_cannot_be_asked(ann: Any) -> None:
    import_packages(ann.caller, [archive("1.0.0")])
    for given, code in (({"package": "test.shop"}, 400), ({}, 400), ({"package": "none"}, 404)):
        answer = ann._client.post("/v2/packages/impact", given)
        assert answer.status_code == code, answer.content
    everybody = {"package": "test.shop", "all_projects": "true"}
    assert ann._client.post("/v2/packages/impact", everybody).status_code == 403
