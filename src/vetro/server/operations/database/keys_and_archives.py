"""`require_keys`, `require_archives`: whether this machine has the keys and archives that its database belongs to.

Several machines share a database; then they must share the file of keys and the blob store, too. One that does not
would end every task that it takes with an error, so workers do not start then.
"""

from __future__ import annotations

from vetro.server.catalog import blobs
from vetro.server.config.config import Config
from vetro.server.operations.database.errors import Elsewhere
from vetro.server.secrets.key_file import KeysUnusable
from vetro.yaql.errors import VetroError

#: How many of the newest packages are tried; one that is there will do.
_TRIED = 5


def require_keys(config: Config) -> None:
    """Tries to read the newest encrypted values. Raises `Elsewhere`, and what settings raise."""
    from vetro.server.environments.models import State
    from vetro.server.tasks.models import Task

    for model, column in ((Task, "spec"), (State, "model")):
        try:
            model.objects.order_by("-created").values_list(column, flat=True).first()
        except KeysUnusable:
            error = Elsewhere(f"the keys in {config.path('secrets.key_file')} do not open what the database holds")
            error.hint = "copy the file of keys of the installation here, or name it in 'secrets.key_file'"
            raise error from None


def require_archives(config: Config) -> None:
    """Tries to read the newest packages. Raises `Elsewhere` when none is there, and what settings raise."""
    from vetro.server.catalog.models import Package

    digests = Package.objects.exclude(digest="").order_by("-created").values_list("digest", flat=True)[:_TRIED]
    reason = ""
    for digest in digests:
        try:
            blobs.get(digest)
            return
        except VetroError as missing:
            reason = missing.message
    if reason:
        store = str(config["storage.blobs"])
        place = store if "://" in store else str(config.path("storage.blobs"))
        error = Elsewhere(f"the package archives of this installation are not in {place}: {reason}")
        error.hint = (
            "all machines need one store: set 'storage.blobs' to s3://BUCKET/PREFIX, or to a folder that they share"
        )
        raise error
