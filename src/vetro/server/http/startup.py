"""What has to be done before the service starts: ``python -m vetro.server.http.startup`` (`vetro serve` runs it).

Migrates the database, stores the embedded packages, compresses the files of the pages, and on a new database makes a
first administrator. Prints lines of JSON: ``{"says": …}`` for what takes long, and at the end ``{"link": …}``, the
secret of a link for signing in while nobody has ever signed in, or null. A process of its own, so that the one that
stays does not hold Django.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from django.db import Error, transaction

from vetro.server.accounts import policy
from vetro.server.accounts.keystone import checked_settings
from vetro.server.caller import SYSTEM
from vetro.server.config.cloud_settings import check_cloud
from vetro.server.config.config import Config, make_data
from vetro.server.environments import networks
from vetro.server.http.processes import die_with_parent
from vetro.server.operations.database import schema
from vetro.server.operations.database.errors import Elsewhere
from vetro.server.operations.database.keys_and_archives import require_archives, require_keys
from vetro.server.secrets.encryption import keyring
from vetro.server.setup import config, setup
from vetro.yaql.errors import VetroError

ADMIN, PROJECT = "admin", "default"


def prepare(settings: Config, say: Callable[[str], None] = lambda text: None) -> str | None:
    """Prepares the installation; the secret of a link for the administrator while nobody has ever signed in.

    ``say`` gets what is done, where that takes seconds. Raises errors of settings, keys, rules, and what the database
    says.
    """
    make_data(settings)
    setup(settings)
    from vetro.server.http.static_files import prepare as prepare_static

    keyring()
    networks.check(settings)
    policy.describe()
    checked_settings(settings)
    check_cloud(settings)
    prepare_static(settings)
    if schema.migrate(say=say):
        say("storing the standard packages …")
    require_keys(settings)
    _warn_of_archives(settings)
    # Servers on several machines may start for the first time at once.
    with schema.migration_lock():
        _embedded()
        return first_account()


def migrate() -> None:
    """Brings the tables up to date; two at once wait for each other. Raises errors of `operations.database.schema`."""
    schema.migrate()


def _warn_of_archives(settings: Config) -> None:
    """A server without the archives still shows and takes packages; its workers refuse to start."""
    try:
        require_archives(settings)
    except Elsewhere as error:
        print(f"warning: {error.message}\nhint: {error.hint}", file=sys.stderr, flush=True)


def first_account() -> str | None:
    """Makes an administrator without password, in a project, where there is nobody yet; the secret of a link.

    Whoever missed the link of the first start gets another one at the next, until somebody can sign in otherwise.
    """
    from vetro.server.accounts import people, tokens

    with transaction.atomic():
        if people.counts() != (0, 0, 0):
            return tokens.first_link_again(SYSTEM, ADMIN, PROJECT)
        project = people.create_project(SYSTEM, PROJECT, description="Made at the first start.")
        user = people.create_user(SYSTEM, ADMIN)
        people.grant(SYSTEM, user, project, str(config()["accounts.admin_role"]))
        return tokens.create_link(SYSTEM, user, project)[1]


def _embedded() -> None:
    from vetro.server.catalog import standard_packages

    standard_packages.ensure()


def main() -> int:
    """Prints the lines; the last one may be an error, which `vetro serve` shows."""
    die_with_parent()
    answer: dict[str, Any]
    try:
        answer = {"link": prepare(Config.load(), lambda text: print(json.dumps({"says": text}), flush=True))}
        status = 0
    except VetroError as error:
        answer = {"error": error.message, "hint": error.hint}
        status = 1
    except Exception as error:
        if not isinstance(error, (Error, OSError)):
            raise
        answer = {"error": f"the installation cannot be prepared: {error}", "hint": None}
        status = 1
    print(json.dumps(answer))
    return status


if __name__ == "__main__":
    sys.exit(main())
