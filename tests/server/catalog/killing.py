"""Imports that end by SIGKILL: ``python -m tests.server.catalog.killing`` in an empty ``VETRO_DATA``.

Prints a JSON list: for each place of the death what the catalog has afterwards, and what importing again says.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

#: Function -> after how many of its calls the process dies.
PLACES = {
    "importing._put": 1, "importing._store": 0, "writing._write_tags": 0, "importing.note": 1, "importing.import": 1,
}  # fmt: skip


def dying(function: Callable[..., Any], after: int) -> Callable[..., Any]:
    """The function, which kills the process when it was called so often and has returned; 0: before the first call."""
    calls = [0]

    def wrapped(*args: Any, **more: Any) -> Any:
        if not after:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = function(*args, **more)
        calls[0] += 1
        if calls[0] == after:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    return wrapped


def main() -> int:
    """Prepares a catalog and imports into it, killed in each place."""
    from vetro.server.setup import setup

    setup()
    from django.core.management import call_command
    from django.db import connection

    from tests.server.catalog.archives import archive
    from vetro.server.caller import Caller
    from vetro.server.catalog import blobs, garbage, imports, standard_packages, storage
    from vetro.server.catalog.models import Package, PackageClass, PackageTag, PackageText
    from vetro.server.errors import Conflict

    call_command("migrate", verbosity=0)
    standard_packages.ensure()
    caller = Caller("u", "ann", "p", "demo")
    modules = {"importing": imports, "writing": storage}
    found = []
    for number, (place, after) in enumerate(PLACES.items()):
        data = [archive(f"com.example.A{number}", Tags=["t"]), archive(f"com.example.B{number}", Tags=["t"])]
        connection.close()
        child = os.fork()
        if not child:
            module, _, name = place.partition(".")
            if name == "import":
                dying(imports.import_packages, after)(caller, data)
            else:
                setattr(modules[module], name, dying(getattr(modules[module], name), after))
                imports.import_packages(caller, data)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, place
        names = [f"com.example.{letter}{number}" for letter in "AB"]
        rows = Package.objects.filter(fqn__in=names)
        counts = [
            rows.count(),
            PackageClass.objects.filter(name__in=names).count(),
            PackageTag.objects.filter(package__in=rows).count(),
            PackageText.objects.filter(fqn__in=[n.lower() for n in names]).count(),
        ]
        sound = all(blobs.get(row.digest) for row in rows)
        stray = garbage.collect(grace=0)
        try:
            again = len(imports.import_packages(caller, data).packages)
        except Conflict:
            again = 0
        found.append({"place": place, "counts": counts, "sound": sound, "stray": stray, "again": again})
    connection.close()
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
