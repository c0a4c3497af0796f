"""Impact over /v2: by an archive that nobody has, or by a package of the catalog."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.server.impact.fleet import archive, environment, shop
from tests.server.web.conftest import signed_in
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


@pytest.mark.campaign  # tests/server/web/test_impact.py asks, too
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


@pytest.mark.attack("secrets", "impact")
def test_of_others_environments_nobody_hears_a_name(
    cloud: None, ann: Any, eve: Any, root: Any, people: Callable[..., Any], drain: Callable[..., Any]
) -> None:
    """Also not whoever may read what an administrator of the project asked, in JSON and on the page."""
    import_packages(ann.caller, [archive("1.0.0")])
    id = environment(ann.caller, drain, "a-name-of-ours", shop(1, text="words of ours"))
    import_packages(root.caller, [archive("1.1.0")])
    row = Package.objects.get(version="1.1.0", project_id=root.caller.project_id)
    begun = root._client.post("/v2/packages/impact", {"package": row.id, "all_projects": "true"})
    assert begun.status_code == 202, begun.content
    drain()
    at = f"/v2/packages/impact/{begun.json()['id']}"
    member = people("carl", "operators")
    told = member.get(at).json()
    assert [(one["group"], one["count"], one["others"]) for one in told["groups"]] == [("changes", 1, 1)]
    assert [(one["environments"], one["reasons"], one["places"]) for one in told["groups"]] == [([], [], [])]
    for person in (ann, eve):  # it is not theirs, though one of the environments is
        assert person.get(at).status_code == person.get(f"{at}/environments/{id}").status_code == 404
    assert member.get(f"{at}/environments/{id}").status_code == 404
    page = signed_in(member).get(f"/app/packages/{row.id}/impact/")
    assert page.status_code == 200
    assert signed_in(member).get(f"/app/packages/{row.id}/impact/{begun.json()['id']}/{id}").status_code == 404
    for said in (json.dumps(told), page.content.decode()):
        for word in ("a-name-of-ours", "words of ours", id, f"{1:032x}", ann.caller.project_id):
            assert word not in said, word
