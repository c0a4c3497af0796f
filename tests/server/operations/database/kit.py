"""An installation as it looks after some use, and all its rows as plain data. Run as a program in a process of its own:
``python -m tests.server.operations.database.kit make|dump``; settings come from the environment.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import forked

ROOT = Path(__file__).parents[4]
#: Mark of tests that bring their databases along: the run on PostgreSQL would do the same once more.
once = pytest.mark.skipif(
    os.environ.get("VETRO_DATABASE__URL", "").startswith("postgres"), reason="the run on SQLite does it on both"
)


class Installation:
    """A data directory and the commands that are run on it."""

    def __init__(self, data: Path, **settings: str) -> None:
        self.data = data
        environment = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
        self.environment = {**environment, "VETRO_DATA": str(data), "VETRO_CLOUD__DRIVER": "record", **settings}

    def run(self, *words: str, status: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        """`vetro WORDS`, which must end with this exit status."""
        done = self._python("vetro.cli.main", *words, **more)
        assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr and "a defect in Vetro" not in done.stderr
        return done

    def make(self) -> None:
        """Fills it."""
        done = self._python("tests.server.operations.database.kit", "make")
        assert done.returncode == 0, done.stderr

    def dump(self, database: str = "") -> dict[str, list[Any]]:
        """Table -> rows, decrypted, as Django sees them."""
        done = self._python("tests.server.operations.database.kit", "dump", VETRO_DATABASE__URL=database)
        assert done.returncode == 0, done.stderr
        found: dict[str, list[Any]] = json.loads(done.stdout)
        return found

    def _python(self, module: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return forked.run(module, *words, env={**self.environment, **more})


def make() -> None:
    """Accounts, packages, a deployment, one that failed, a draft, a form in work, a queued task, texts of all kinds."""
    from vetro.server.setup import setup

    setup()
    from vetro.server.http.startup import migrate

    migrate()
    from django.db import connection

    from tests.server.tasks import shop
    from vetro.server.accounts import people, tokens
    from vetro.server.caller import SYSTEM, Caller
    from vetro.server.catalog.imports import import_packages
    from vetro.server.environments import sessions, templates
    from vetro.server.forms import form_session, process_cache
    from vetro.server.tasks.models import Event
    from vetro.server.tasks.worker import run_queued

    project = people.create_project(SYSTEM, "demo", description='Ünïcode, "quotes", \\backslashes,\ttabs\nlines, 😀')
    ann = people.create_user(SYSTEM, "ann", password="correct horse")
    people.grant(SYSTEM, ann, project, "member")
    tokens.create_token(SYSTEM, ann, project, name="ci")
    caller = Caller(ann.id, "ann", project.id, "demo", ("member",), False, "")
    package = shop.add_package(caller)
    first, second = shop.add_environment(caller, "first"), shop.add_environment(caller, "second")
    shop.deploy(caller, first, package, password="hunter2 ✓")
    shop.deploy(caller, second, package, fail=True)
    run_queued()
    sessions.open_session(caller, first.id)
    templates.create(caller, {"name": "a template", "services": []})
    (forms,) = import_packages(caller, [_form_package()]).packages
    form = form_session.begin(caller, package=forms.id)
    form_session.evaluate(caller, form.id, {"name": "Corner"}, partial=True)
    process_cache.close()
    Event.objects.create(project_id=project.id, kind="environment", data={"x": [1, 1.5, -0.25, None, "\u2028"]})
    shop.deploy(caller, first, package, wait=1)
    # Numbers that were given must not be given again, also when no row has them any more.
    Event.objects.create(project_id=project.id, kind="environment").delete()
    connection.close()


def _form_package() -> bytes:
    """The package of the tests of forms, whose classes have other names here."""
    from tests.server.forms import conftest
    from tests.server.tasks.shop import archive

    files = {"Classes/Shop.yaml": conftest.SHOP, "Classes/Host.yaml": conftest.HOST, "UI/ui.yaml": conftest.UI}
    files = {name: text.replace("test.", "desk.").replace("=: test", "=: desk") for name, text in files.items()}
    return archive(files, conftest.MANIFEST.replace("test.", "desk."))


def dump() -> None:
    """Prints what `Installation.dump` gives."""
    from vetro.server.setup import setup

    setup()
    from django.apps import apps

    def plain(value: Any) -> Any:
        return base64.b64encode(bytes(value)).decode() if isinstance(value, bytes | memoryview) else str(value)

    found = {}
    for model in apps.get_models(include_auto_created=True):
        rows = [json.dumps(row, default=plain, sort_keys=True) for row in model._default_manager.values()]
        found[model._meta.db_table] = sorted(rows)
    print(json.dumps(found))


if __name__ == "__main__":
    {"make": make, "dump": dump}[sys.argv[1]]()
